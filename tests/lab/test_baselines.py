"""The climb over a grid of a baseline's settings, and its numbers against a ranking by loops."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from sahcns.baselines.base import interaction_matrix
from sahcns.data.split import Pairs, Split
from sahcns.lab import tune_baseline
from sahcns.ranking import Truth, evaluate
from tests.splits import random_split

SPLIT = random_split(60, 40, 8, seed=2)
GRID = {"neighbours": (2, 5, 20), "shrinkage": (0.0, 10.0, 100.0)}


def by_loops(split: Split, part: Pairs, scores: np.ndarray, k: int) -> tuple[float, float]:
    """Recall and NDCG of the first k of each person who has something held out; training pairs are taken out."""
    recalls, ndcgs = [], []
    for user in sorted(set(part.users.tolist())):
        held = set(part.items[part.users == user].tolist())
        known = set(split.train.items[split.train.users == user].tolist())
        top = [item for item in np.argsort(-scores[user], kind="stable").tolist() if item not in known][:k]
        gains = [1 / math.log2(place + 2) for place, item in enumerate(top) if item in held]
        ideal = sum(1 / math.log2(place + 2) for place in range(min(k, len(held))))
        recalls.append(len(gains) / len(held))
        ndcgs.append(sum(gains) / ideal)
    return float(np.mean(recalls)), float(np.mean(ndcgs))


def test_it_is_fitted_to_the_training_part_and_ranked_as_everything_else() -> None:
    found = tune_baseline(SPLIT, "ease", {"l2": (50.0, 500.0)})
    x = interaction_matrix(SPLIT.train, SPLIT.n_users, SPLIT.n_items).toarray().astype(float)
    for part, reached in ((SPLIT.valid, found.valid), (SPLIT.test, found.test)):
        inverse = np.linalg.inv(x.T @ x + found.settings["l2"] * np.eye(SPLIT.n_items))
        weights = -inverse / np.diag(inverse)
        np.fill_diagonal(weights, 0.0)
        for k in (10, 20):
            assert (reached[f"recall@{k}"], reached[f"ndcg@{k}"]) == pytest.approx(
                by_loops(SPLIT, part, x @ weights, k)
            )


def test_a_baseline_of_vectors_is_ranked_as_a_model_is() -> None:
    found = tune_baseline(SPLIT, "popular", {})
    counts = np.bincount(SPLIT.train.items, minlength=SPLIT.n_items).astype(np.float32)
    users, items = torch.ones(SPLIT.n_users, 1), torch.from_numpy(counts[:, None])
    assert found.test == pytest.approx(evaluate(users, items, Truth.of(SPLIT, "test"), (10, 20), ("recall", "ndcg")))
    assert (found.settings, len(found.tried), found.ends) == ({}, 1, {})


def test_no_neighbour_on_the_grid_is_better_and_each_point_is_fitted_once() -> None:
    found = tune_baseline(SPLIT, "item-knn", GRID)
    points = [tuple(one["settings"].values()) for one in found.tried]
    assert len(points) == len(set(points))
    assert points[0] == (20, 100.0)  # nearest to the defaults
    at = [values.index(found.settings[name]) for name, values in GRID.items()]
    best = max(one["valid"]["recall@20"] for one in found.tried)
    assert found.valid["recall@20"] == best
    for place, values in enumerate(GRID.values()):
        for to in (at[place] - 1, at[place] + 1):
            if 0 <= to < len(values):
                near = [*at]
                near[place] = to
                assert tuple(values[i] for values, i in zip(GRID.values(), near, strict=True)) in points
    assert found.ends == {
        name: "low" if i == 0 else "high" if i == 2 else "" for (name, _), i in zip(GRID.items(), at, strict=True)
    }


def test_the_test_part_decides_nothing() -> None:
    other = replace(SPLIT, test=Pairs(SPLIT.test.users[:9], SPLIT.test.items[:9]))
    one, two = (tune_baseline(split, "item-knn", GRID) for split in (SPLIT, other))
    assert (one.settings, one.valid) == (two.settings, two.valid)
    assert one.test != two.test
