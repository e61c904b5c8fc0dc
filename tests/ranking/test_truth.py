"""Who is evaluated, what was held out, what is masked."""

from typing import cast

import pytest

from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.ranking import Mask, Part, Truth

# User 0 has no test item, user 2 no validation item, user 3 no training item; item 3 is never trained on.
SPLIT = Split.from_pairs(
    train=[[0, 2], [0, 0], [1, 4], [1, 0], [2, 1], [2, 0]],
    valid=[[0, 1], [1, 2], [3, 4]],
    test=[[3, 3], [1, 3], [1, 1], [2, 4]],
    n_users=5,
    n_items=5,
)


def test_users_with_a_held_out_item(device: str) -> None:
    assert Truth.of(SPLIT, "test", "train", device).users.tolist() == [1, 2, 3]
    assert Truth.of(SPLIT, "valid", "train", device).users.tolist() == [0, 1, 3]


def test_held_out_items_are_sorted_by_user(device: str) -> None:
    held = Truth.of(SPLIT, "test", "train", device).held
    assert held.rows.tolist() == [0, 0, 1, 2]
    assert held.items.tolist() == [1, 3, 4, 3]


@pytest.mark.parametrize(
    ("mask", "rows", "items"),
    [
        ("train", [0, 0, 1, 1], [0, 4, 0, 1]),
        ("train+valid", [0, 0, 0, 1, 1, 2], [0, 2, 4, 0, 1, 4]),
        ("none", [], []),
    ],
)
def test_masked_items(mask: Mask, rows: list[int], items: list[int], device: str) -> None:
    masked = Truth.of(SPLIT, "test", mask, device).masked
    assert masked.rows.tolist() == rows
    assert masked.items.tolist() == items
    assert len(masked) == 3


def test_popularity_counts_training_pairs(device: str) -> None:
    assert Truth.of(SPLIT, "test", "train", device).popularity.tolist() == [3, 1, 1, 0, 1]


def test_all_tensors_are_on_the_device(device: str) -> None:
    truth = Truth.of(SPLIT, "test", "train", device)
    tensors = [truth.users, truth.popularity, *(t for c in (truth.held, truth.masked) for t in (c.starts, c.items))]
    assert {tensor.device.type for tensor in tensors} == {device}


def test_masking_what_is_looked_for_is_refused() -> None:
    with pytest.raises(SettingError, match="mask='train\\+valid' would hide the validation items"):
        Truth.of(SPLIT, "valid", "train+valid")


def test_misspelt_names_get_the_nearest() -> None:
    with pytest.raises(SettingError, match=r"part='tset' .* did you mean 'test'"):
        Truth.of(SPLIT, cast(Part, "tset"))
    with pytest.raises(SettingError, match=r"mask='trian' .* did you mean 'train'"):
        Truth.of(SPLIT, "test", cast(Mask, "trian"))


def test_nothing_held_out_is_refused() -> None:
    with pytest.raises(DataError, match="the split has no valid pairs to rank against"):
        Truth.of(Split.from_pairs(train=[[0, 0]], test=[[0, 1]]), "valid")


def test_what_is_no_split_is_refused() -> None:
    with pytest.raises(SettingError, match=r"split is of type str; give a Split: load_split\(folder\)"):
        Truth.of(cast(Split, "shop"), "test")


def test_it_shows_its_size_and_not_its_tensors() -> None:
    assert repr(Truth.of(SPLIT, "test", "train+valid")) == "Truth(test: 3 users with 4 items, mask='train+valid')"
