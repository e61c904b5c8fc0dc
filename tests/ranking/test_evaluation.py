"""From vectors to means: names, blocks, precision, per-user values, and what is refused."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.data.split import Split
from sahcns.errors import SettingError
from sahcns.ranking import METRICS, Truth, evaluate, measure
from tests.ranking.oracle import by_user, lists_of, over_lists, random_split, ranking, whole_vectors

ALL = tuple(METRICS)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_users=st.integers(1, 8),
    n_items=st.integers(2, 30),
    block=st.sampled_from([None, 1, 3]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_means_equal_loops(seed: int, n_users: int, n_items: int, block: int | None, dtype: torch.dtype) -> None:
    split = random_split(seed, n_users, n_items)
    users, items = whole_vectors(seed, n_users, n_items)
    truth = Truth.of(split, "test", "train+valid")
    means = evaluate(users.to(dtype), items.to(dtype), truth, (3, 1, 7), ALL, block=block)
    assert list(means) == [f"{name}@{k}" for name in ALL for k in (3, 1, 7)]
    top = ranking(split, "test", ("train", "valid"), users, items, 7)
    held = [items for items in lists_of(split, "test").values() if items]
    for k in (3, 1, 7):
        own = [by_user(row, wanted, k) for row, wanted in zip(top, held, strict=True)]
        expected = {name: float(np.mean([value[name] for value in own])) for name in own[0]}
        if len(split.train):
            expected |= over_lists(top, truth.popularity.numpy(), k)
        for name, value in expected.items():
            assert means[f"{name}@{k}"] == pytest.approx(value, abs=1e-12), (name, k)


def test_metrics_do_not_depend_on_the_block(device: str) -> None:
    truth = Truth.of(random_split(3, 50, 2500, busy=0.1), "test", "train", device)
    draw = torch.Generator().manual_seed(3)
    users = torch.randn(50, 16, generator=draw, dtype=torch.float64).to(device)
    items = torch.randn(2500, 16, generator=draw, dtype=torch.float64).to(device)
    whole = evaluate(users, items, truth, (5, 20), ALL)
    assert whole["recall@20"] > 0
    for block in (1, 7, 49, 50, 1000):
        assert evaluate(users, items, truth, (5, 20), ALL, block=block) == pytest.approx(whole, abs=1e-12)


def test_a_perfect_model_scores_one(device: str) -> None:
    split = random_split(1, 12, 9)
    truth = Truth.of(split, "test", "none", device)
    users = torch.zeros(12, 9)
    users[split.test.users, split.test.items] = 1.0
    perfect, items = users.to(device), torch.eye(9, device=device)
    means = evaluate(perfect, items, truth, ks=(9,), metrics=("recall", "ndcg", "hit", "mrr", "map"))
    assert means == pytest.approx(dict.fromkeys(means, 1.0))
    assert evaluate(-perfect, items, truth, ks=(1,))["ndcg@1"] < 0.5


def test_users_without_held_out_items_do_not_count() -> None:
    few = Split.from_pairs(train=[[0, 0]], test=[[0, 1]], n_users=1, n_items=3)
    many = Split.from_pairs(train=[[0, 0], [1, 0], [3, 2]], test=[[0, 1]], n_users=4, n_items=3)
    users, items = torch.ones(4, 1), torch.tensor([[3.0], [2.0], [1.0]])
    small, large = Truth.of(few, "test"), Truth.of(many, "test")
    assert evaluate(users[:1], items, small, (1,)) == evaluate(users, items, large, (1,))
    assert evaluate(users, items, large, (1,)) == {"recall@1": 1.0, "ndcg@1": 1.0}


def test_masking_validation_items_moves_the_test_items_up(device: str) -> None:
    split = Split.from_pairs(train=[[0, 0]], valid=[[0, 1]], test=[[0, 2]])
    users, items = torch.ones(1, 1, device=device), torch.tensor([[3.0], [2.0], [1.0]], device=device)
    found = [
        evaluate(users, items, Truth.of(split, "test", "none", device), (3,), ("mrr",)),
        evaluate(users, items, Truth.of(split, "test", "train", device), (3,), ("mrr",)),
        evaluate(users, items, Truth.of(split, "test", "train+valid", device), (3,), ("mrr",)),
    ]
    assert [value["mrr@3"] for value in found] == [1 / 3, 1 / 2, 1.0]


def test_per_user_values_average_to_the_means(device: str) -> None:
    split = random_split(2, 30, 40)
    truth = Truth.of(split, "test", "train", device)
    users, items = (table.to(device) for table in whole_vectors(2, 30, 40))
    means, own = evaluate(users, items, truth, metrics=("ndcg", "gini", "map"), per_user=True)
    assert list(means) == ["ndcg@10", "ndcg@20", "gini@10", "gini@20", "map@10", "map@20"]
    assert list(own) == ["ndcg@10", "ndcg@20", "map@10", "map@20"]
    for name, values in own.items():
        assert values.shape == (len(truth),)
        assert values.dtype == np.float64
        assert values.std() > 0
        assert values.mean() == pytest.approx(means[name], abs=1e-12)
    assert means == evaluate(users, items, truth, metrics=("ndcg", "gini", "map"))


def test_a_misspelt_metric_gets_the_nearest() -> None:
    truth = Truth.of(Split.from_pairs(train=[], test=[[0, 1]]), "test")
    users, items = torch.ones(1, 1), torch.ones(2, 1)
    with pytest.raises(SettingError, match="metric 'recal' is not known; did you mean 'recall'"):
        evaluate(users, items, truth, metrics=("ndcg", "recal"))
    with pytest.raises(SettingError, match="metric 'recall@20' is not known; did you mean 'recall'"):
        evaluate(users, items, truth, metrics=("recall@20",))
    with pytest.raises(SettingError, match="metrics is empty; there are: recall, ndcg"):
        evaluate(users, items, truth, metrics=())


@pytest.mark.parametrize("ks", [(), (0,), (5, -1)])
def test_cut_offs_below_one_are_refused(ks: tuple[int, ...]) -> None:
    truth = Truth.of(Split.from_pairs(train=[], test=[[0, 1]]), "test")
    with pytest.raises(SettingError, match="must hold at least one cut-off, each 1 or more"):
        evaluate(torch.ones(1, 1), torch.ones(2, 1), truth, ks=ks)


def test_lists_shorter_than_the_cut_off_are_refused() -> None:
    truth = Truth.of(Split.from_pairs(train=[], test=[[0, 1]]), "test")
    with pytest.raises(SettingError, match=r"top has shape \(1, 3\); this truth needs \(1, 5 or more\)"):
        measure(torch.zeros(1, 3, dtype=torch.int64), truth, (5,))
    assert measure(torch.tensor([[0, 1, -1]]), truth, (2,))["recall"].tolist() == [[1.0]]
