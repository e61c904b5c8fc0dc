"""The choices of DNS, DNS(M,N), AHNS and MixGCF as kernels, against the plain code of the samplers, with ties and odd pools."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.graph import Graph
from sahcns.kernels import verbs_for
from sahcns.kernels.gpu import GpuVerbs
from sahcns.rng import Rng
from sahcns.samplers import AHNS, DNS, DNSMN, DivNS, Matching, MixGCF, Sampler
from tests.splits import random_split

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KINDS: tuple[Kind, ...] = ("mean", "sum", "concat")
SAMPLERS: dict[str, Callable[[int], Sampler]] = {
    "dns": lambda pool: DNS(pool=pool),
    "dns-mn": lambda pool: DNSMN(pool=pool, top_k=min(pool, 4)),
    "dns-mn to the last": lambda pool: DNSMN(pool=pool, top_k=pool),
    "dns-mn by rank": lambda pool: DNSMN(pool=pool, top_k=min(pool, 4), pick="harmonic"),
    "dns-mn all": lambda pool: DNSMN(pool=pool, top_k=min(pool, 4), pick="all"),
    "ahns": lambda pool: AHNS(pool=pool, alpha=0.7, beta=0.5),
    "divns before it has a cache": lambda pool: DivNS(pool=pool, ratio=0),
    "mixgcf": lambda pool: MixGCF(pool=pool, beta_low=0.1, beta_high=0.6),
}


def both_choices(
    sampler: Sampler, kind: Kind, tables: tuple[Tensor, ...]
) -> list[tuple[Tensor, Tensor | None, Tensor]]:
    """Items, weights and the next random bits, of the plain code and of the kernels, from one and the same a."""
    plain = Graph.of(random_split(6, 20, each=3), DEVICE, tables[0].dtype, path="reference")
    users, positives = plain.pair_users, plain.pair_items
    candidates = plain.draw(users, sampler.pool, Rng(1, "pools", DEVICE)).contiguous()
    found = []
    for graph in (plain, replace(plain, verbs=verbs_for(torch.device(DEVICE), "triton"))):
        pairs, epoch = torch.arange(len(users), device=DEVICE), torch.zeros((), device=DEVICE)
        match = Matching(users, positives, candidates, pairs, tables, graph, Aggregation(kind), epoch)
        match.__dict__["_scores"] = plain.verbs.match(tables, match.aggregation, 6, users, positives, candidates)
        rng = Rng(2, "choice", DEVICE)
        mixture = sampler.choose(match, rng).checked(len(users), len(tables), sampler.name)
        found.append((mixture.items, mixture.weights, rng.bits(3)))
    return found


def assert_same_choices(sampler: Sampler, kind: Kind, tables: tuple[Tensor, ...]) -> None:
    plain, fused = both_choices(sampler, kind, tables)
    for mine, theirs in zip(fused, plain, strict=True):
        assert (mine is None) == (theirs is None)
        assert mine is None or theirs is None or (torch.equal(mine, theirs) and mine.dtype == theirs.dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampler", list(SAMPLERS))
@pytest.mark.parametrize(("pool", "layers"), [(1, 3), (6, 4), (16, 1), (19, 3)])
def test_the_same_items_shares_and_random_numbers(sampler: str, pool: int, layers: int, kind: Kind) -> None:
    dtype = torch.float64 if pool == 19 else torch.float32
    tables = torch.randn(layers, 26, 5, generator=torch.Generator().manual_seed(pool), dtype=torch.float64)
    assert_same_choices(SAMPLERS[sampler](pool), kind, tuple(tables.to(DEVICE, dtype)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampler", list(SAMPLERS))
def test_of_equal_scores_the_first(sampler: str, kind: Kind) -> None:
    """Small whole numbers add up exactly, and tie often; a pool of 19 of 20 items has repeats as well."""
    tables = torch.randint(-1, 2, (4, 26, 2), generator=torch.Generator().manual_seed(3)).float().to(DEVICE)
    assert_same_choices(SAMPLERS[sampler](19), kind, tuple(tables))


def test_places_by_hand() -> None:
    a = torch.tensor([[1.0, 5.0, 3.0, 5.0, -2.0]] * 5, device=DEVICE)[..., None]
    candidates = torch.tensor([[10, 11, 12, 13, 14]] * 5, device=DEVICE)
    found = GpuVerbs().ranked(a, True, candidates, torch.arange(5, device=DEVICE))
    assert found.tolist() == [11, 13, 12, 10, 14]
    assert GpuVerbs().ranked(a, True, candidates, None).tolist() == [11] * 5


def test_a_target_may_be_of_no_end() -> None:
    """AHNS's is, where the positive scores -α; then all are equally far from it."""
    a = torch.tensor([[1.0, 5.0, 3.0], [1.0, 5.0, 3.0]], device=DEVICE)[..., None]
    candidates = torch.tensor([[10, 11, 12]] * 2, device=DEVICE)
    target = torch.tensor([float("inf"), 3.9], device=DEVICE)
    assert GpuVerbs().nearest(a, True, candidates, target).tolist() == [10, 12]


def test_places_may_be_a_column_of_a_table() -> None:
    """It has a stride, which a kernel does not see."""
    a = torch.tensor([[1.0, 5.0, 3.0, 4.0, -2.0]] * 5, device=DEVICE)[..., None]
    candidates = torch.tensor([[10, 11, 12, 13, 14]] * 5, device=DEVICE)
    places = torch.stack([torch.arange(5), torch.zeros(5, dtype=torch.int64)], dim=1).to(DEVICE)[:, 0]
    assert GpuVerbs().ranked(a, True, candidates, places).tolist() == [11, 13, 12, 10, 14]


def test_scores_that_are_no_numbers_still_choose_from_the_pool() -> None:
    """A diverging model is reported by its loss; until then no kernel may read beyond its pool."""
    a = torch.full((2, 5, 3), float("nan"), device=DEVICE)
    candidates = torch.tensor([[10, 11, 12, 13, 14], [20, 21, 22, 23, 24]], device=DEVICE)
    items, _ = GpuVerbs().mixgcf(a, candidates, candidates[:, 0], a[:, 0])
    for one in (
        GpuVerbs().ranked(a, True, candidates, None),
        GpuVerbs().ranked(a, True, candidates, torch.tensor([2, 4], device=DEVICE)),
        GpuVerbs().nearest(a, True, candidates, a[:, 0, 0]),
        *items[:, 0, 1].unbind(1),
    ):
        assert all(int(item) in pool for item, pool in zip(one, candidates.tolist(), strict=True))
