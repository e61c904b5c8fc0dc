"""The most popular items: those that a ranking by popularity gives, and none of its scores."""

import pytest
import torch
from hypothesis import given, settings

from sahcns.data.split import Split
from sahcns.ranking import Truth, most_popular, rank
from sahcns.ranking import retrieval as module
from tests.ranking.oracle import DRAWN, MASKS, random_split, ranking


@settings(max_examples=40, deadline=None)
@given(**DRAWN)
def test_lists_equal_loops(seed: int, n_users: int, n_items: int, k: int, busy: float) -> None:
    split = random_split(seed, n_users, n_items, busy=busy)
    for part, mask, masks in MASKS:
        if len(split.parts()[part]):
            truth = Truth.of(split, part, mask)
            alike, counts = torch.ones(n_users, 1), truth.popularity[:, None].float()
            assert most_popular(truth, k).tolist() == ranking(split, part, masks, alike, counts, k)


def test_somebody_with_every_item_has_an_empty_list_and_the_next_is_not_touched() -> None:
    split = Split.from_pairs([[0, 0], [0, 1], [1, 1]], [], [[0, 1], [1, 0]], n_users=2, n_items=2)
    assert most_popular(Truth.of(split, "test", "train"), 3).tolist() == [[-1, -1, -1], [0, -1, -1]]


def test_nothing_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every user was scored with every item, all of them alike: a third of the time of `sahcns evaluate`."""
    truth = Truth.of(random_split(0, 20, 3000), "test", "train")
    expected = rank(torch.ones(truth.n_users, 1), truth.popularity[:, None].float(), truth, 20)
    monkeypatch.setattr(module, "_select", lambda *_, **__: pytest.fail("scored"))
    assert torch.equal(most_popular(truth, 20), expected)
