"""A split as a whole: the same pairs and ids, with nothing held out."""

from typing import Any

import numpy as np
import polars
import pytest

from sahcns.data.split import Split
from sahcns.errors import DataError
from tests.model.films import films


def test_everything_for_training() -> None:
    split = films()
    whole = split.whole()
    pairs = {(int(u), int(i)) for part in split.parts().values() for u, i in zip(part.users, part.items, strict=True)}
    found = list(zip(whole.train.users.tolist(), whole.train.items.tolist(), strict=True))
    assert found == sorted(pairs)
    assert (len(whole.valid), len(whole.test)) == (0, 0)
    assert whole.train.users.dtype == whole.valid.users.dtype == np.int32
    assert whole.user_ids is split.user_ids
    assert whole.titles is split.titles
    assert whole.fingerprint != split.fingerprint
    assert whole.fingerprint == films(seed=1).whole().fingerprint  # however it was split


@pytest.mark.parametrize(
    "wrong", [[[0, 1, 5], [1, 0, 3]], [[0, 1, 2, 3], [1, 0, 2, 2]], [[0.5, 1.0]], [["ann", "tea"]], [0, 1, 1, 0]]
)
def test_pairs_of_another_shape_or_kind_are_refused(wrong: list[Any]) -> None:
    """Two rows of three numbers would be three pairs otherwise, and half a user user 0."""
    with pytest.raises(DataError, match=r"valid is an array of .* must hold whole numbers with shape \(n, 2\)"):
        Split.from_pairs([[0, 1]], wrong)


def test_pairs_may_be_empty_or_a_frame() -> None:
    frame = polars.DataFrame({"user": [0, 1], "item": [1, 0]})
    assert repr(Split.from_pairs(frame, [], np.zeros((0, 2)))) == "Split(2 users, 2 items: train 2, valid 0, test 0)"
