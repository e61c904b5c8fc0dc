"""Pairs that a filter took out, of users and items that stay: not to learn from or judge by, and not to recommend either.

Somebody who gave a film one star, or bought a thing before the years of the window, knows it. Without these pairs the
film would be recommended to them. Rows of kinds of events that are not wanted do not come here: who has only viewed a
thing may well be recommended it.
"""

import numpy as np

from sahcns.data.filters import Int32, Rows, pair_starts, sort_pairs
from sahcns.data.split import Pairs


def placed(aside: Rows, used_users: Int32 | None, used_items: Int32 | None) -> Rows:
    """The rows over the positions in use (ascending; None if all), without those of users or items that are gone."""
    users, known_users = _placed(aside.users, used_users)
    items, known_items = _placed(aside.items, used_items)
    return Rows(users, items).keep(known_users & known_items)


def not_in(rows: Rows, aside: Rows) -> Pairs:
    """Each pair once, sorted, and none that stands in `rows`, sorted too: who liked it later has it among the pairs."""
    aside = sort_pairs(aside)
    aside = aside.keep(pair_starts(aside))
    width = 1 + int(max(rows.items.max(initial=0), aside.items.max(initial=0)))
    taken = rows.users.astype(np.int64) * width + rows.items
    own = aside.users.astype(np.int64) * width + aside.items
    at = np.searchsorted(taken, own)
    there = taken[np.minimum(at, len(taken) - 1)] == own
    rest = aside.keep(~there)
    return Pairs(rest.users, rest.items)


def _placed(column: Int32, used: Int32 | None) -> tuple[Int32, np.typing.NDArray[np.bool_]]:
    if used is None:
        return column, np.ones(len(column), np.bool_)
    place = np.searchsorted(used, column).astype(np.int32)
    return place, used[np.minimum(place, len(used) - 1)] == column
