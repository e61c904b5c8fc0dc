"""Users who have every item: their pairs are not trained on, which every command that trains says once."""

from typing import TYPE_CHECKING

from sahcns.cli.console import warn

if TYPE_CHECKING:
    from sahcns.data import Split


def remark_full_users(full: int, items: int, name: str = "") -> None:
    """A warning if there are any; `name` is that of the set, where there are several."""
    if not full:
        return
    who = "1 user has" if full == 1 else f"{full:,} users have"
    warn(
        f"{name and f'{name}: '}{who} every one of the {items:,} items, so there is nothing to prefer theirs to: their "
        f"{full * items:,} pairs are part of the graph and were not trained on"
    )


def full_users(split: "Split") -> int:
    """How many users have every item in training, as `Graph.full_users` counts them, without making the graph."""
    import numpy as np

    pairs = np.bincount(split.train.users, minlength=split.n_users)
    theirs = (pairs >= split.n_items)[split.train.users]  # as many pairs; whether of as many items is seen next
    if not theirs.any():
        return 0
    users, items = split.train.users[theirs], split.train.items[theirs]
    distinct = np.unique(users.astype(np.int64) * split.n_items + items)
    return int(np.count_nonzero(np.bincount(distinct // split.n_items) == split.n_items))
