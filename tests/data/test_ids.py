"""Original ids are found by what they are, and by nothing that merely looks like them."""

import re

import numpy as np
import pytest

from sahcns.data.ids import Id, IdMap
from sahcns.errors import DataError


@pytest.mark.parametrize("value", [17, "17", np.int64(17), np.int32(17), 17.0, np.float32(17)])
def test_a_whole_number_by_any_of_its_names(value: object) -> None:
    assert IdMap.of([3, 17, 42]).find(value) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [17.9, float("nan"), float("inf"), "017", "+17", " 17", "1_7", "17.0", "١٧", "x", "", None, "9" * 5000, 2**63],
)
def test_what_only_looks_like_it_is_not_there(value: object) -> None:
    ids = IdMap.of([3, 17, 42])
    assert ids.find(value) is None  # type: ignore[arg-type]
    with pytest.raises(DataError, match="is not in the data"):
        ids.encode([value])  # type: ignore[list-item]


def test_texts_are_found_as_they_are() -> None:
    ids = IdMap.of(["007", "7", "Zoë ☕", "a b"])
    assert [ids[ids.encode([text])[0]] for text in ("007", "7", "Zoë ☕", "a b")] == ["007", "7", "Zoë ☕", "a b"]
    assert ids.find(7) == ids.find("7") != ids.find("007")
    assert ids.find("a\udcffb") is None  # a stray byte of a command line


@pytest.mark.parametrize("ids", [[5, 7, 405], ["5", "7", "405", "A1"]])
@pytest.mark.parametrize("asked", ["007", " 7", "7.0", "+7"])
def test_an_id_that_is_another_but_for_zeros_and_blanks_is_pointed_at(ids: list[Id], asked: str) -> None:
    """It said `ids run from 5 to 405`, among which 007 seems to be."""
    with pytest.raises(DataError, match=rf"user '{re.escape(asked)}' is not in the data; did you mean {ids[1]!r}\?"):
        IdMap.of(ids).encode([asked], what="user")
