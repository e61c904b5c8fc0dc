"""Who is evaluated, what was held out, what is masked; and the item lists by row that hold it."""

from typing import cast

import numpy as np
import pytest
import torch

from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.ranking import Csr, HeldOut, Masked, Truth

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


@pytest.mark.parametrize(
    ("mask", "rows", "items"),
    [
        ("train", [0, 0, 1, 1], [0, 4, 0, 1]),
        ("train+valid", [0, 0, 0, 1, 1, 2], [0, 2, 4, 0, 1, 4]),
        ("none", [], []),
    ],
)
def test_masked_items(mask: Masked, rows: list[int], items: list[int], device: str) -> None:
    masked = Truth.of(SPLIT, "test", mask, device).masked
    assert masked.rows.tolist() == rows
    assert masked.items.tolist() == items
    assert len(masked) == 3


def test_popularity_counts_training_pairs(device: str) -> None:
    assert Truth.of(SPLIT, "test", "train", device).popularity.tolist() == [3, 1, 1, 0, 1]


def test_masking_what_is_looked_for_is_refused() -> None:
    with pytest.raises(SettingError, match="mask='train\\+valid' would hide the validation items"):
        Truth.of(SPLIT, "valid", "train+valid")


def test_misspelt_names_get_the_nearest() -> None:
    with pytest.raises(SettingError, match=r"part='tset' .* did you mean 'test'"):
        Truth.of(SPLIT, cast(HeldOut, "tset"))
    with pytest.raises(SettingError, match=r"mask='trian' .* did you mean 'train'"):
        Truth.of(SPLIT, "test", cast(Masked, "trian"))


def test_nothing_held_out_is_refused() -> None:
    with pytest.raises(DataError, match="the split has no valid pairs to rank against"):
        Truth.of(Split.from_pairs(train=[[0, 0]], test=[[0, 1]]), "valid")


def rows_of(csr: Csr) -> list[list[int]]:
    return [csr.items[a:b].tolist() for a, b in zip(csr.bounds[:-1], csr.bounds[1:], strict=True)]


def test_pairs_become_sorted_rows(device: str) -> None:
    csr = Csr.of(np.array([2, 0, 2, 2, 0]), np.array([4, 3, 0, 4, 1]), n_rows=4, n_items=5, device=device)
    assert rows_of(csr) == [[1, 3], [], [0, 4], []]
    assert csr.rows.tolist() == [0, 0, 2, 2]
    assert csr.lengths.tolist() == [2, 0, 2, 0]
    assert csr.starts.tolist() == csr.bounds.tolist() == [0, 2, 2, 4, 4]
    assert csr.flat(10).tolist() == [1, 3, 20, 24]
    assert len(csr) == 4


def test_lists_in_any_order(device: str) -> None:
    lists = [torch.tensor([3, 1, 3]), torch.tensor([], dtype=torch.int64), torch.tensor([0])]
    assert rows_of(Csr.of_lists(lists, 4, device)) == [[1, 3], [], [0]]


@pytest.mark.parametrize("bad", [-1, 4])
def test_an_item_that_is_not_there_is_named(bad: int) -> None:
    with pytest.raises(SettingError, match=rf"seen holds item {bad}; items are numbered 0 to 3"):
        Csr.of_lists([torch.tensor([0, bad])], 4)


def test_take_keeps_the_order_asked_for(device: str) -> None:
    csr = Csr.of_lists([torch.tensor(ids) for ids in ([1, 3], [], [0, 2, 4], [2])], 5, device)
    taken = csr.take(torch.tensor([3, 2, 1, 2], device=device))
    assert rows_of(taken) == [[2], [0, 2, 4], [], [0, 2, 4]]
    assert taken.rows.tolist() == [0, 1, 1, 1, 3, 3, 3]
