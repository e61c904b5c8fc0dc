"""Item lists by row: sorted, without repeats, cut and chosen without loops."""

import numpy as np
import pytest
import torch

from sahcns.errors import SettingError
from sahcns.ranking import Csr


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


def test_no_pairs(device: str) -> None:
    assert rows_of(Csr.of(np.zeros(0, int), np.zeros(0, int), 2, 5, device)) == [[], []]


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
