"""Metrics: against loops, against ir-measures, and by hand."""

import ir_measures
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.data.split import Split
from sahcns.ranking import METRICS, Truth, measure
from tests.ranking.oracle import by_user, lists_of, over_lists, random_split

KS = (1, 2, 5, 12)
OTHERS = {"recall": "R", "ndcg": "nDCG", "precision": "P", "hit": "Success", "mrr": "RR", "map": "AP"}


def random_lists(seed: int, split: Split, users: list[int], width: int) -> list[list[int]]:
    """A random number of distinct items a user, then -1."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in users:
        items = rng.permutation(split.n_items)[: rng.integers(min(width, split.n_items) + 1)].tolist()
        lists.append(items + [-1] * (width - len(items)))
    return lists


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n_users=st.integers(1, 8), n_items=st.integers(2, 25))
def test_metrics_equal_loops(seed: int, n_users: int, n_items: int) -> None:
    split = random_split(seed, n_users, n_items)
    truth = Truth.of(split, "test")
    users = truth.users.tolist()
    top = random_lists(seed, split, users, max(KS))
    values = measure(torch.tensor(top), truth, KS, tuple(METRICS))
    held = lists_of(split, "test")
    for j, k in enumerate(KS):
        own = [by_user(row, held[user], k) for user, row in zip(users, top, strict=True)]
        for name in OTHERS:
            expected = [value[name] for value in own]
            assert values[name][:, j].tolist() == pytest.approx(expected, abs=1e-12), (name, k)
        if len(split.train):
            for name, value in over_lists(top, truth.popularity.numpy(), k).items():
                assert float(values[name][j]) == pytest.approx(value, abs=1e-12), (name, k)


@pytest.mark.parametrize("seed", range(4))
def test_metrics_equal_ir_measures(seed: int, device: str) -> None:
    split = random_split(seed, 40, 60, busy=0.8)
    truth = Truth.of(split, "test", device=device)
    users = truth.users.tolist()
    top = random_lists(seed, split, users, max(KS))
    values = measure(torch.tensor(top, device=device), truth, KS, tuple(OTHERS))
    measures = {ir_measures.parse_measure(f"{other}@{k}"): (name, k) for name, other in OTHERS.items() for k in KS}
    qrels = [
        ir_measures.Qrel(str(user), str(item), 1) for user, items in lists_of(split, "test").items() for item in items
    ]
    run = [
        ir_measures.ScoredDoc(str(user), str(item), -float(place))
        for user, row in zip(users, top, strict=True)
        for place, item in enumerate(row)
        if item >= 0
    ]
    compared = 0
    for result in ir_measures.iter_calc(list(measures), qrels, run):
        name, k = measures[result.measure]
        ours = values[name][users.index(int(result.query_id)), KS.index(k)]
        assert abs(float(ours) - result.value) < 1e-9, result
        compared += 1
    assert compared == len(users) * len(KS) * len(OTHERS)


def by_hand(device: str) -> tuple[torch.Tensor, Truth]:
    """Two users, four items; training popularity 3, 0, 1, 0."""
    train, test = [[0, 0], [1, 0], [2, 0], [2, 2]], [[0, 1], [0, 3], [1, 2]]
    split = Split.from_pairs(train, test=test, n_users=3, n_items=4)
    return torch.tensor([[0, 1], [0, 2]], device=device), Truth.of(split, "test", device=device)


def test_metrics_of_all_lists_by_hand(device: str) -> None:
    top, truth = by_hand(device)
    assert truth.popularity.tolist() == [3, 0, 1, 0]
    values = measure(top, truth, (1, 2), ("coverage", "popularity", "bias", "gini"))
    assert values["coverage"].tolist() == [1 / 4, 3 / 4]
    assert values["popularity"].tolist() == [3.0, (3 + 0 + 3 + 1) / 4]
    # A training pair has an item of popularity (3·3 + 1·1) / 4 = 2.5 on average.
    assert values["bias"].tolist() == pytest.approx([3 / 2.5, 1.75 / 2.5])
    # Shown 0, 0, 0, 2 times, and 0, 1, 1, 2 times.
    assert values["gini"].tolist() == pytest.approx([0.75, 0.375])


def test_an_empty_place_is_not_the_last_item_of_the_row_above(device: str) -> None:
    split = Split.from_pairs(train=[], test=[[0, 2], [1, 0]], n_users=2, n_items=3)
    truth = Truth.of(split, "test", device=device)
    values = measure(torch.tensor([[0, 1], [-1, -1]], device=device), truth, (2,), ("recall", "coverage", "gini"))
    assert values["recall"].tolist() == [[0.0], [0.0]]
    assert values["coverage"].tolist() == pytest.approx([2 / 3])


def test_empty_lists_only() -> None:
    truth = Truth.of(Split.from_pairs(train=[[0, 0]], test=[[0, 1]]), "test")
    values = measure(torch.tensor([[-1]]), truth, (1,), tuple(METRICS))
    assert {name: float(value) for name, value in values.items()} == dict.fromkeys(METRICS, 0.0)
