"""Degrees, and the iterative k-core of the bipartite graph of users and items."""

import numpy as np
import numpy.typing as npt

from sahcns.data.filters import Int32, Mask, chunks

Int64 = npt.NDArray[np.int64]


def degrees(column: Int32, size: int) -> Int64:
    """How many rows each of `size` users (or items) has, [size]."""
    total = np.zeros(size, np.int64)
    for part in chunks(len(column)):
        total += np.bincount(column[part], minlength=size)
    return total


def k_core(users: Int32, items: Int32, k: int, n_users: int, n_items: int) -> tuple[Mask, Mask]:
    """Users [n_users] and items [n_items] of the k-core: the largest set in which each has k rows or more.

    Dropping a user takes rows from items, which may then fall below k, and so on; every round drops all that are below
    and counts the lost rows only. The core is unique, so the order of dropping does not matter. Repeated pairs count
    as often as they occur.
    """
    user_degrees, item_degrees = degrees(users, n_users), degrees(items, n_items)
    while True:
        low_users, low_items = user_degrees < k, item_degrees < k
        low = low_users[users] | low_items[items]
        if not low.any():
            return ~low_users, ~low_items
        user_degrees -= degrees(users[low], n_users)
        item_degrees -= degrees(items[low], n_items)
        stay = ~low
        users, items = users[stay], items[stay]
