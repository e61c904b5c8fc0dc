"""BNS's choice as one kernel, against its plain code, and left to that where a subclass has a word in it."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.graph import Graph
from sahcns.kernels import verbs_for
from sahcns.kernels.gpu import GpuVerbs
from sahcns.rng import Rng
from sahcns.samplers import BNS, Matching
from tests.splits import random_split

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def matches(kind: Kind, pool: int, layers: int) -> list[Matching]:
    """One batch, seen by the plain code and by the kernels; an item without pairs, and some far more popular than others."""
    plain = Graph.of(random_split(12, 60, each=4), DEVICE, path="reference")
    tables = 0.3 * torch.randn(layers, plain.n, 16, generator=torch.Generator().manual_seed(pool)).to(DEVICE)
    users, positives = plain.pair_users, plain.pair_items
    candidates = plain.draw(users, pool, Rng(1, "pools", DEVICE)).contiguous()
    popularity = torch.arange(60, device=DEVICE) ** 2
    return [
        Matching(
            users, positives, candidates, torch.arange(len(users), device=DEVICE), tuple(tables),
            replace(plain, verbs=verbs, popularity=popularity), Aggregation(kind), torch.zeros((), device=DEVICE),
        )
        for verbs in (plain.verbs, verbs_for(torch.device(DEVICE), "triton"))
    ]  # fmt: skip


def items(sampler: BNS, match: Matching) -> list[int]:
    chosen: list[int] = sampler.choose(match, Rng(2, "choice", DEVICE)).items[:, 0, 0, 0].tolist()
    return chosen


@pytest.mark.parametrize("kind", ["mean", "sum", "concat"])
@pytest.mark.parametrize("lam", [-1.0, 0.0, 0.5, 5.0, 50.0])
@pytest.mark.parametrize(("pool", "layers"), [(1, 3), (5, 1), (16, 4), (19, 2)])
def test_the_same_items(kind: Kind, lam: float, pool: int, layers: int) -> None:
    plain, fused = matches(kind, pool, layers)
    assert items(BNS(pool=pool, lam=lam), fused) == items(BNS(pool=pool, lam=lam), plain)


@dataclass(frozen=True)
class Reckless(BNS):
    def risks(self, match: Matching) -> Tensor:
        return -super().risks(match)


@dataclass(frozen=True)
class Unranked(BNS):
    def standing(self, match: Matching) -> Tensor:
        return torch.full_like(match.scores, 0.5)


def test_what_a_subclass_says_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noted(verbs: GpuVerbs, *arguments: object) -> Tensor:
        asked.append(arguments)
        return real(verbs, *arguments)  # type: ignore[arg-type]

    real = GpuVerbs.least_risk
    monkeypatch.setattr(GpuVerbs, "least_risk", noted)
    published = items(BNS(pool=16), matches("mean", 16, 3)[1])
    assert len(asked) == 1
    for sampler in (Reckless(pool=16), Unranked(pool=16), BNS(pool=16, ranks_among="unseen")):
        plain, fused = matches("mean", 16, 3)
        assert items(sampler, fused) == items(sampler, plain) != published
    plain, fused = matches("mean", 16, 3)
    for match in (plain, fused):
        match.scores = -match.scores
    assert items(BNS(pool=16), fused) == items(BNS(pool=16), plain) != published
    assert len(asked) == 1


def test_scores_that_are_no_numbers_still_choose_from_the_pool() -> None:
    a = torch.full((2, 5, 3), float("nan"), device=DEVICE)
    candidates = torch.tensor([[10, 11, 12, 13, 14], [20, 21, 22, 23, 24]], device=DEVICE)
    below, popularity = torch.ones_like(candidates, dtype=torch.int32), torch.ones(30, dtype=torch.int64, device=DEVICE)
    found = GpuVerbs().least_risk(a[:, 0], a, True, candidates, popularity, 30, below, 31, 5.0)
    assert all(int(item) in pool for item, pool in zip(found, candidates.tolist(), strict=True))
