"""Small random splits: what graph, kernel and backbone tests are run on."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from sahcns.data.split import Pairs, Split
from sahcns.graph import Adjacency

Pair = tuple[int, int]
Dense = npt.NDArray[np.float64]


@st.composite
def splits(draw: st.DrawFn, most_users: int = 6, most_items: int = 7) -> Split:
    """Any training part in which no user has everything, with repeated pairs, idle users and idle items."""
    n_users, n_items = draw(st.integers(1, most_users)), draw(st.integers(2, most_items))
    never = [draw(st.integers(0, n_items - 1)) for _ in range(n_users)]
    pair = st.tuples(st.integers(0, n_users - 1), st.integers(0, n_items - 1))
    train = draw(st.lists(pair.filter(lambda p: never[p[0]] != p[1]), min_size=1, max_size=3 * n_items))
    valid, test = draw(st.lists(pair, max_size=4)), draw(st.lists(pair, max_size=4))
    return Split.from_pairs(train, valid, test, n_users=n_users, n_items=n_items)


def random_split(n_users: int, n_items: int, each: int, seed: int = 0) -> Split:
    """Every user has `each` random training items, then one for validation and one for testing."""
    order = np.random.default_rng(seed).random((n_users, n_items)).argsort(1)
    who = np.arange(n_users)

    def pairs(first: int, last: int) -> npt.NDArray[np.int64]:
        return np.stack([who.repeat(last - first), order[:, first:last].ravel()], 1)

    parts = pairs(0, each), pairs(each, each + 1), pairs(each + 1, each + 2)
    return Split.from_pairs(*parts, n_users=n_users, n_items=n_items)


def without_repeats(split: Split) -> Split:
    """The same with each training pair once."""
    users, items = np.unique(np.stack([split.train.users, split.train.items]), axis=1)
    return replace(split, train=Pairs(users, items))


def training_matrix(split: Split) -> Dense:
    """A [n, n] over users then items, 1 where a training pair joins two nodes, however often."""
    a = np.zeros((split.n_users + split.n_items,) * 2)
    for user, item in zip(split.train.users.tolist(), split.train.items.tolist(), strict=True):
        a[user, split.n_users + item] = a[split.n_users + item, user] = 1.0
    return a


def normalised(split: Split) -> Dense:
    """D^-½ A D^-½, with 0 in the place of 1/√0."""
    a = training_matrix(split)
    degrees = a.sum(1)
    root = np.array([d**-0.5 if d > 0 else 0.0 for d in degrees])
    return np.asarray(np.diag(root) @ a @ np.diag(root))


def dense(adjacency: Adjacency) -> Dense:
    """A CSR adjacency written out, entry by entry; a repeated entry would be added twice."""
    matrix = np.zeros((adjacency.n, adjacency.n))
    offsets, columns, values = adjacency.offsets.tolist(), adjacency.columns.tolist(), adjacency.values.tolist()
    for row in range(adjacency.n):
        for at in range(offsets[row], offsets[row + 1]):
            matrix[row, columns[at]] += values[at]
    return matrix
