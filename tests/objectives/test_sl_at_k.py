"""SL@K's thresholds: what they are, when they are estimated, and that nothing else moves them."""

import pytest
import torch
from torch import Tensor

from sahcns.backbones import LightGCN
from sahcns.model import fit
from sahcns.objectives import SLatK, sl_at_k
from sahcns.rng import Rng
from sahcns.samplers import RNS
from sahcns.training import Protocol
from tests.objectives.worlds import GRAPH, ITEMS, USERS
from tests.splits import random_split


def vectors(seed: int = 0) -> tuple[Tensor, Tensor]:
    make = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(count, 3, generator=make, dtype=torch.float64) for count in (USERS, ITEMS))  # type: ignore[return-value]


def by_loops(sample: list[int], k: int, cosine: bool) -> list[float]:
    users, items = vectors()
    if cosine:
        users, items = users / users.norm(dim=1, keepdim=True), items / items.norm(dim=1, keepdim=True)
    found = []
    for user in range(USERS):
        have = GRAPH.seen_items[GRAPH.seen_offsets[user] : GRAPH.seen_offsets[user + 1]].tolist()
        scores = sorted((float(users[user] @ items[item]) for item in {*have, *sample}), reverse=True)
        found.append(scores[k - 1] if k <= len(scores) else -float("inf"))
    return found


@pytest.mark.parametrize("at_once", [1, 1 << 20])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize(("size", "k"), [(3, 1), (3, 3), (3, 5), (ITEMS, 4), (100, ITEMS)])
def test_the_k_best(size: int, k: int, similarity: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sample of three, some users have fewer than five scores; at once one user, or all."""
    monkeypatch.setattr(sl_at_k, "SCORES", at_once)
    objective = SLatK(top_k=k, sample=size, similarity=similarity, refresh=2)
    state = objective.begin(GRAPH)
    held = state["beta"]
    objective.end_epoch(state, *vectors(), GRAPH, 0, Rng(7, "objective"))
    assert not held.any()  # every second epoch
    objective.end_epoch(state, *vectors(), GRAPH, 1, Rng(7, "objective"))
    sample = Rng(7, "objective").permutation(ITEMS)[:size].tolist()
    assert held is state["beta"]
    assert held.tolist() == pytest.approx(by_loops(sample, k, similarity == "cosine"))


def test_a_pair_among_the_best_counts_more() -> None:
    """Before the first estimate, and after it, the loss differs by the thresholds alone; their sample is the seed's."""
    split, runs = random_split(20, 30, each=6), []
    for refresh, seed in ((1, 0), (1, 0), (50, 0)):
        objective = SLatK(refresh=refresh, sample=5, top_k=3)
        rules = Protocol(epochs=3, batch=60, evaluate_every=1)
        runs.append(fit(split, LightGCN(dim=4), RNS(pool=3), objective, protocol=rules, seed=seed, device="cpu"))
    losses = [[entry["loss"] for entry in run.record.history] for run in runs]
    assert losses[0] == losses[1]
    assert losses[0][0] == losses[2][0]
    assert losses[0][1] != losses[2][1]
