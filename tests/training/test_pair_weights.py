"""Pairs that count unalike: in the loss, in the graph, and in the model's folder."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from sahcns import BPR, RNS, LightGCN, Protocol, Recommender, fit
from sahcns.data import Pairs, Split
from sahcns.errors import TrainingError
from sahcns.graph import Graph
from sahcns.objectives import Comparison, Objective

SHORT = Protocol(epochs=1, batch=8, l2=0.0, evaluate_every=1)


def weighted(weights: list[float]) -> Split:
    pairs = [[user, item] for user in range(4) for item in range(6) if (user + item) % 3]
    split = Split.from_pairs(pairs, [[0, 0]], [[1, 2]])
    column = np.resize(np.array(weights, np.float32), len(pairs))
    valid, test = (Pairs(part.users, part.items, np.ones(1, np.float32)) for part in (split.valid, split.test))
    return replace(split, train=Pairs(split.train.users, split.train.items, column), valid=valid, test=test)


def trained(split: Split, objective: Objective) -> Tensor:
    run = fit(split, LightGCN(dim=4), RNS(), objective=objective, protocol=SHORT, device="cpu", kernels="reference")
    return run.recommender.user_vectors


@dataclass(frozen=True)
class OwnMean(Objective):
    name = "own-mean"

    def loss(self, pairs: Comparison) -> Tensor:
        return -(pairs.positive - pairs.negative[:, 0]).mean()


def test_weights_follow_their_pairs_through_sorting_and_full_users() -> None:
    """User 0 has every item, so nothing is drawn for her pairs; the rest have mean 1."""
    pairs = np.array([[1, 1], [0, 2], [0, 0], [2, 2], [0, 1]])
    split = Split.from_pairs(pairs)
    column = np.array([1, 50, 60, 3, 70], np.float32)
    graph = Graph.of(replace(split, train=Pairs(split.train.users, split.train.items, column)))
    assert graph.pair_weights is not None
    assert [*zip(graph.pair_users.tolist(), graph.pair_weights.tolist(), strict=True)] == [(1, 0.5), (2, 1.5)]
    assert Graph.of(split).pair_weights is None


def test_equal_weights_are_none_and_others_are_not() -> None:
    alike, plain = weighted([3.0]), weighted([3.0])
    plain = replace(plain, train=replace(plain.train, weights=None))
    assert torch.equal(trained(alike, BPR()), trained(plain, BPR()))
    assert not torch.equal(trained(weighted([1.0, 5.0]), BPR()), trained(plain, BPR()))


def test_an_objective_that_does_not_weigh_says_so() -> None:
    with pytest.raises(TrainingError, match=r"OwnMean.*pairs\.mean"):
        trained(weighted([1.0, 2.0]), OwnMean())


def test_the_model_keeps_them(tmp_path: Path) -> None:
    split = weighted([1.0, 2.0, 3.0])
    run = fit(split, LightGCN(dim=4), RNS(), protocol=SHORT, device="cpu")
    run.recommender.save(tmp_path / "run")
    assert Recommender.load(tmp_path / "run").split().fingerprint == split.fingerprint
    assert split.fingerprint != weighted([1.0, 2.0]).fingerprint
    assert split.whole().train.weights is not None
