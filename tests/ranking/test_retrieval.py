"""Top lists: against loops, with masks, ties, empty places, any block size, and vectors that cannot be ranked."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sahcns.data.split import Split
from sahcns.errors import SettingError, TrainingError
from sahcns.ranking import Csr, Truth, most_popular, rank, recommend
from sahcns.ranking.retrieval import _group, _select
from tests.ranking.oracle import DRAWN, MASKS, random_split, ranking, whole_vectors


@settings(max_examples=40, deadline=None)
@given(**DRAWN, block=st.sampled_from([None, 1, 2, 3, 100]))
def test_lists_equal_loops(seed: int, n_users: int, n_items: int, k: int, block: int | None, busy: float) -> None:
    split = random_split(seed, n_users, n_items, busy=busy)
    users, items = whole_vectors(seed, n_users, n_items)
    for part, mask, masks in MASKS:
        if len(split.parts()[part]):
            top = rank(users, items, Truth.of(split, part, mask), k, block)
            assert top.tolist() == ranking(split, part, masks, users, items, k)


@pytest.mark.parametrize(("n_items", "k"), [(200, 1), (517, 2), (1000, 3), (2000, 14)])
@pytest.mark.parametrize("block", [None, 1, 4])
def test_lists_through_groups_equal_loops(n_items: int, k: int, block: int | None, device: str) -> None:
    assert _group(n_items, k + 1) > 1
    split = random_split(n_items, 7, n_items)
    users, items = whole_vectors(n_items, 7, n_items)
    rough = items + torch.rand(n_items, 1, generator=torch.Generator().manual_seed(1)) / 64  # far fewer ties
    truth = Truth.of(split, "test", "train", device)
    for table in (items, rough.double()):
        top = rank(users.to(device), table.to(device), truth, k, block)
        assert top.tolist() == ranking(split, "test", ("train",), users, table, k)


def test_equal_scores_are_ordered_by_lowest_id(device: str) -> None:
    split = Split.from_pairs(train=[[0, 0], [0, 2]], test=[[0, 1], [1, 1]], n_users=2, n_items=500)
    truth = Truth.of(split, "test", "train", device)
    users, items = torch.ones(2, 1, device=device), torch.ones(500, 1, device=device)
    items[400] = 2.0
    assert rank(users, items, truth, 4).tolist() == [[400, 1, 3, 4], [400, 0, 1, 2]]


@pytest.mark.parametrize("block", [1, 2, None])
def test_twins_are_equals_wherever_they_stand(block: int | None, device: str) -> None:
    """In whole numbers: a product that rounds may do so differently at its edges, in a way that depends on the processor."""
    split = Split.from_pairs(train=[[user, 0] for user in range(9)], test=[[user, 1] for user in range(9)], n_items=51)
    make = torch.Generator().manual_seed(0)
    users, items = (torch.randint(-200, 201, (rows, 64), generator=make).float() for rows in (9, 51))
    items[-1] = items[7]
    top = rank(users.to(device), items.to(device), Truth.of(split, "test", "train", device), 50, block)
    for ids in top.tolist():
        assert ids.index(50) == ids.index(7) + 1
    alone, scores = recommend(users[:1].to(device), items.to(device), None, 51)
    at = alone[0].tolist().index(7)
    assert alone[0, at + 1] == 50
    assert scores[0, at + 1] == scores[0, at]


def test_half_precision_does_not_reach_the_scores(device: str) -> None:
    truth = Truth.of(Split.from_pairs(train=[], test=[[0, 1]], n_users=1, n_items=2), "test", device=device)
    # The scores are 256 and 256.5; in bfloat16 both are 256.
    users = torch.tensor([[1.0, 1.0]], device=device)
    items = torch.tensor([[256.0, 0.0], [256.0, 0.5]], device=device)
    with torch.autocast(device, torch.bfloat16):
        assert rank(users, items, truth, 1).tolist() == [[1]]
    assert rank(users.bfloat16(), items.bfloat16(), truth, 1).tolist() == [[1]]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_vectors_that_are_not_finite(bad: float, device: str) -> None:
    truth = Truth.of(Split.from_pairs(train=[[0, 0]], test=[[1, 1]], n_users=3, n_items=4), "test", device=device)
    users, items = torch.ones(3, 2, device=device), torch.ones(4, 2, device=device)
    broken = users.clone()
    broken[0, 1] = bad  # user 0 is not even evaluated
    with pytest.raises(TrainingError, match="user_vectors row 0 is not finite"):
        rank(broken, items, truth, 2)
    items[3, 0] = bad
    with pytest.raises(TrainingError, match="item_vectors row 3 is not finite"):
        rank(users, items, truth, 2)


def test_scores_that_overflow() -> None:
    with pytest.raises(TrainingError, match=r"scores overflow torch\.float32"):
        recommend(torch.full((1, 1), 1e30), torch.full((2, 1), 1e30), None, 1)
    assert recommend(torch.full((1, 1), 1e30), torch.full((2, 1), 1e30).double(), None, 1)[0].tolist() == [[0]]


def test_wrong_shapes_and_arguments() -> None:
    truth = Truth.of(Split.from_pairs(train=[[0, 0]], test=[[1, 1]], n_users=3, n_items=4), "test")
    users, items = torch.ones(3, 2), torch.ones(4, 2)
    with pytest.raises(SettingError, match=r"user_vectors has shape \(2, 2\); this split needs \(3, D\)"):
        rank(users[:2], items, truth, 2)
    with pytest.raises(SettingError, match=r"item_vectors has shape \(4,\); this split needs \(4, D\)"):
        rank(users, items[:, 0], truth, 2)
    with pytest.raises(SettingError, match="users have 1 dimensions and items 2"):
        rank(users[:, :1], items, truth, 2)
    with pytest.raises(SettingError, match="k=0 must be 1 or more"):
        rank(users, items, truth, 0)
    with pytest.raises(SettingError, match="block=0 must be 1 or more"):
        rank(users, items, truth, 1, block=0)
    with pytest.raises(SettingError, match="user_vectors is on meta and the truth on cpu"):
        rank(users.to("meta"), items, truth, 1)


def seen_lists() -> list[Tensor]:
    return [torch.tensor([3, 1]), torch.tensor([], dtype=torch.int64)]


def test_recommend_leaves_out_what_was_seen(device: str) -> None:
    users, items = torch.tensor([[1.0], [-1.0]], device=device), torch.arange(4.0, device=device)[:, None]
    for seen in (seen_lists(), Csr.of_lists(seen_lists(), 4, device)):
        ids, scores = recommend(users, items, seen, 3)
        assert ids.tolist() == [[2, 0, -1], [0, 1, 2]]
        assert scores.tolist() == [[2.0, 0.0, -math.inf], [0.0, -1.0, -2.0]]
    assert recommend(users, items, None, 1)[0].tolist() == [[3], [0]]
    assert recommend(users[:0], items, None, 2)[0].shape == (0, 2)


def test_recommend_hides_items_from_everybody(device: str) -> None:
    users, items = torch.ones(2, 1, device=device), torch.tensor([1.0, 2.0, 2.0, 2.0, 3.0], device=device)[:, None]
    ids, scores = recommend(users, items, seen_lists(), 4, hidden=torch.tensor([4, 1, 4]))
    assert ids.tolist() == [[2, 0, -1, -1], [2, 3, 0, -1]]
    assert scores.tolist() == [[2.0, 1.0, -math.inf, -math.inf], [2.0, 2.0, 1.0, -math.inf]]


def test_no_block_waits_for_the_host(device: str) -> None:
    truth = Truth.of(random_split(0, 20, 3000), "test", "train", device)
    users, items = torch.randn(len(truth), 8, device=device), torch.randn(3000, 8, device=device)
    if device == "cuda":
        torch.cuda.set_sync_debug_mode("error")
    try:
        values, ids = _select(users, items, truth.masked, 10, block=6)
    finally:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("default")
    scores = users @ items.T
    scores[truth.masked.rows, truth.masked.items] = -math.inf
    torch.testing.assert_close(values, scores.topk(10).values)
    torch.testing.assert_close(values, scores.gather(1, ids))


@settings(max_examples=40, deadline=None)
@given(**DRAWN)
def test_popular_lists_equal_loops(seed: int, n_users: int, n_items: int, k: int, busy: float) -> None:
    split = random_split(seed, n_users, n_items, busy=busy)
    for part, mask, masks in MASKS:
        if len(split.parts()[part]):
            truth = Truth.of(split, part, mask)
            alike, counts = torch.ones(n_users, 1), truth.popularity[:, None].float()
            assert most_popular(truth, k).tolist() == ranking(split, part, masks, alike, counts, k)
