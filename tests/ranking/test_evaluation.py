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


def test_mistakes_are_named() -> None:
    truth = Truth.of(Split.from_pairs(train=[], test=[[0, 1]]), "test")
    users, items = torch.ones(1, 1), torch.ones(2, 1)
    for asked, names in (
        ({"metrics": ("ndcg", "recal")}, "'recal' .*'recall'"),
        ({"metrics": ()}, "metrics is empty"),
        ({"ks": ()}, r"ks=\(\)"),
        ({"ks": (5, -1)}, r"ks=\(5, -1\)"),
    ):
        with pytest.raises(SettingError, match=names):
            evaluate(users, items, truth, **asked)
    with pytest.raises(SettingError, match=r"\(1, 3\).*5"):
        measure(torch.zeros(1, 3, dtype=torch.int64), truth, (5,))
    assert measure(torch.tensor([[0, 1, -1]]), truth, (2,))["recall"].tolist() == [[1.0]]
