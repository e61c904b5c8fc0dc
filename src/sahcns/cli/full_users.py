"""Users who have every item: their pairs are not trained on, which every command that trains says once."""

from sahcns.cli.console import warn


def remark_full_users(full: int, items: int, name: str = "") -> None:
    """A warning if there are any, as the graph counted them; `name` is that of the set, where there are several."""
    if not full:
        return
    who = "1 user has" if full == 1 else f"{full:,} users have"
    warn(
        f"{name and f'{name}: '}{who} every one of the {items:,} items, so there is nothing to prefer theirs to: their "
        f"{full * items:,} pairs are part of the graph and were not trained on"
    )
