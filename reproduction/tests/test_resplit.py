"""Random splits of a set: the same pairs in other parts, the same on every machine."""

from pathlib import Path

import numpy as np
import pytest

from reproduction.resplit import resplit, resplit_folder
from sahcns.data import Split, load_split, save_split
from sahcns.errors import DataError
from tests.splits import random_split


def pairs(split: Split) -> list[tuple[int, int]]:
    """All of them, by their ids, in order."""
    found = []
    for part in split.parts().values():
        users, items = np.asarray(split.user_ids.decode(part.users)), np.asarray(split.item_ids.decode(part.items))
        found += list(zip(users.tolist(), items.tolist(), strict=True))
    return sorted(found)


def test_the_same_pairs_in_other_parts() -> None:
    given = random_split(30, 40, 6)
    first, again, second = resplit(given, 1), resplit(given, 1), resplit(given, 2)
    assert pairs(first) == pairs(given) == pairs(second)
    assert first.fingerprint == again.fingerprint != second.fingerprint != given.fingerprint
    assert [len(part) for part in first.parts().values()] == [192, 24, 24]
    assert len(set(pairs(first))) == 240


def test_it_is_stored_once_and_nothing_else_is_overwritten(tmp_path: Path) -> None:
    source = save_split(random_split(30, 40, 6), tmp_path / "one")
    made = resplit_folder(source, tmp_path / "one-split-1", 1)
    assert load_split(made).fingerprint == resplit(load_split(source), 1).fingerprint
    before = (made / "manifest.json").stat().st_mtime_ns
    assert resplit_folder(source, made, 1) == made
    assert (made / "manifest.json").stat().st_mtime_ns == before
    with pytest.raises(DataError, match="is another set than split 2"):
        resplit_folder(source, made, 2)
