"""The choices of SAHC-NS and its variants as kernels, against the plain code of their halves, with ties and odd pools."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.graph import Graph
from sahcns.kernels import verbs_for
from sahcns.kernels.fused import Half
from sahcns.kernels.gpu import GpuVerbs
from sahcns.rng import Rng
from sahcns.samplers import (
    SAHC,
    HCOnly,
    Matching,
    Mixture,
    SAHCFixed,
    SAHCGlobal,
    Sampler,
    SAOnly,
    WithoutDiscrepancy,
    WithoutMean,
)
from sahcns.samplers.calibration import Calibration, GlobalGap, LayerGap
from sahcns.samplers.halves import in_kernel
from sahcns.samplers.sahc import SelectThenCalibrate
from sahcns.samplers.selection import DiscrepancyOnly, Hardest, Selection, StructureAware
from tests.splits import random_split

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KINDS: tuple[Kind, ...] = ("mean", "sum", "concat")


@dataclass(frozen=True)
class Second:
    """A selection that no kernel knows: the second of the pool, or the only one."""

    def __call__(self, match: Matching) -> Tensor:
        return torch.full_like(match.positives, min(1, match.candidates.shape[1] - 1))


@dataclass(frozen=True)
class Easiest(Hardest):
    """One that looks like a known one, and is another."""

    def __call__(self, match: Matching) -> Tensor:
        return match.scores.argmin(1)


@dataclass(frozen=True)
class Gentle(LayerGap):
    def __call__(self, match: Matching, rng: Rng) -> Tensor:
        return super().__call__(match, rng) / 2


@dataclass(frozen=True)
class Pair(SelectThenCalibrate):
    selection: Selection = Hardest()
    calibration: Calibration = LayerGap(0.5)

    def parts(self) -> tuple[Selection, Calibration]:
        return self.selection, self.calibration


SAMPLERS: dict[str, Callable[[int], Sampler]] = {
    "sahc": lambda pool: SAHC(pool=pool, alpha=0.7),
    "sahc without discrepancy, by its strength": lambda pool: SAHC(pool=pool, alpha=0.0),
    "sahc without mixing, by its strength": lambda pool: SAHC(pool=pool, lambda_max=0.0),
    "sa-only": lambda pool: SAOnly(pool=pool),
    "hc-only": lambda pool: HCOnly(pool=pool),
    "without discrepancy": lambda pool: WithoutDiscrepancy(pool=pool),
    "without mean": lambda pool: WithoutMean(pool=pool),
    "fixed": lambda pool: SAHCFixed(pool=pool, alpha=0.7),
    "global": lambda pool: SAHCGlobal(pool=pool, alpha=0.7),
    "another selection": lambda pool: Pair(pool=pool, selection=Second()),
    "and globally": lambda pool: Pair(pool=pool, selection=Second(), calibration=GlobalGap(0.5)),
    "a selection that looks known": lambda pool: Pair(pool=pool, selection=Easiest()),
    "a calibration that looks known": lambda pool: Pair(pool=pool, calibration=Gentle(0.5)),
    "neither known": lambda pool: Pair(pool=pool, selection=Second(), calibration=Gentle(0.5)),
}


def matches(kind: Kind, tables: tuple[Tensor, ...], pool: int) -> list[Matching]:
    """One batch, seen by the plain code and by the kernels, with one and the same a."""
    plain = Graph.of(random_split(6, 20, each=3), DEVICE, tables[0].dtype, path="reference")
    users, positives = plain.pair_users, plain.pair_items
    candidates = plain.draw(users, pool, Rng(1, "pools", DEVICE)).contiguous()
    found = []
    for graph in (plain, replace(plain, verbs=verbs_for(torch.device(DEVICE), "triton"))):
        pairs, epoch = torch.arange(len(users), device=DEVICE), torch.zeros((), device=DEVICE)
        match = Matching(users, positives, candidates, pairs, tables, graph, Aggregation(kind), epoch)
        match.__dict__["_scores"] = plain.verbs.match(tables, match.aggregation, 6, users, positives, candidates)
        found.append(match)
    return found


def assert_same(sampler: Sampler, two: list[Matching]) -> Mixture:
    """The same items, shares up to rounding, and random numbers."""
    found = []
    for match in two:
        rng = Rng(2, "choice", DEVICE)
        mixture = sampler.choose(match, rng).checked(len(match.users), len(match.layers), sampler.name)
        found.append((mixture, rng.bits(3)))
    (plain, bits), (fused, other_bits) = found
    assert torch.equal(fused.items, plain.items)
    assert torch.equal(bits, other_bits)
    assert (fused.weights is None) == (plain.weights is None)
    torch.testing.assert_close(fused.weights, plain.weights, rtol=1e-5, atol=1e-6)
    return fused


def random_tables(layers: int, seed: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    tables = torch.randn(layers, 26, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return tuple(tables.to(DEVICE, dtype))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampler", list(SAMPLERS))
@pytest.mark.parametrize(("pool", "layers"), [(1, 3), (6, 4), (16, 1), (19, 3)])
def test_the_same_items_shares_and_random_numbers(sampler: str, pool: int, layers: int, kind: Kind) -> None:
    dtype = torch.float64 if pool == 19 else torch.float32
    assert_same(SAMPLERS[sampler](pool), matches(kind, random_tables(layers, pool, dtype), pool))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampler", ["hc-only", "another selection", "a selection that looks known"])
def test_of_equal_scores_the_first(sampler: str, kind: Kind) -> None:
    """Small whole numbers add up exactly, and tie often; a pool of 19 of 20 items has repeats as well."""
    tables = torch.randint(-1, 2, (4, 26, 2), generator=torch.Generator().manual_seed(3)).float().to(DEVICE)
    assert_same(SAMPLERS[sampler](19), matches(kind, tuple(tables), 19))


def test_scores_of_a_samplers_own() -> None:
    """Those that stand in the place of the model's decide which is the hardest, and the gap of the final scores."""
    two = matches("mean", random_tables(3, 0, torch.float32), 6)
    for match in two:
        match.scores = -match.scores
    assert_same(HCOnly(pool=6), two)
    shares = assert_same(SAHCGlobal(pool=6, lambda_max=0.9), two).weights
    for match in two:
        match.scores = -match.scores
    other = assert_same(SAHCGlobal(pool=6, lambda_max=0.9), two).weights
    assert shares is not None
    assert other is not None
    assert not torch.equal(shares, other)


@pytest.mark.parametrize("sampler", ["sahc", "hc-only", "without mean", "fixed", "global", "another selection"])
def test_one_kernel_for_each(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noted(verbs: GpuVerbs, *arguments: object) -> tuple[Tensor, Tensor]:
        asked.append(arguments)
        return real(verbs, *arguments)  # type: ignore[arg-type]

    real = GpuVerbs.calibrated
    monkeypatch.setattr(GpuVerbs, "calibrated", noted)
    SAMPLERS[sampler](6).choose(matches("mean", random_tables(3, 0, torch.float32), 6)[1], Rng(2, "choice", DEVICE))
    assert len(asked) == 1


def test_scores_that_are_no_numbers_still_choose_from_the_pool() -> None:
    """A diverging model is reported by its loss; until then no kernel may read beyond its pool."""
    a = torch.full((2, 5, 3), float("nan"), device=DEVICE)
    candidates = torch.tensor([[10, 11, 12, 13, 14], [20, 21, 22, 23, 24]], device=DEVICE)
    for which in (Half("aware", 0.3), Half("hardest"), Half("uneven")):
        items, _ = GpuVerbs().calibrated(
            a[:, 0], a, True, candidates, candidates[:, 0].contiguous(), which, Half("layers", 0.5), 1e-8
        )
        assert all(int(item) in pool for item, pool in zip(items[:, 0, 1, 0], candidates.tolist(), strict=True))


def test_a_place_beyond_the_pool_is_no_item() -> None:
    a = torch.zeros(3, 5, 2, device=DEVICE)
    candidates = torch.arange(15, device=DEVICE).view(3, 5)
    places = torch.tensor([5, -1, 4], device=DEVICE)
    items, _ = GpuVerbs().calibrated(
        a[:, 0], a, True, candidates, candidates[:, 0].contiguous(), places, Half("layers", 0.5), 1e-8
    )
    assert items[:, 0, :, 0].tolist() == [[0, -1], [5, -1], [10, 14]]


def test_every_half_has_its_part() -> None:
    parts: list[Selection | Calibration] = [
        StructureAware(0.3),
        Hardest(),
        DiscrepancyOnly(),
        LayerGap(0.1),
        GlobalGap(0.1),
    ]
    match = matches("mean", random_tables(3, 0, torch.float32), 6)
    halves = [in_kernel(part, match[1]) for part in parts]
    assert {half.name for half in halves if half is not None} == GpuVerbs.halves
    assert all(in_kernel(part, match[0]) is None for part in parts)
