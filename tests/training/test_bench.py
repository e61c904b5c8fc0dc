"""What `bench` times is what training does."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from sahcns.backbones import LightGCN
from sahcns.rng import Rng
from sahcns.samplers import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.training import bench as module
from sahcns.training.bench import bench
from sahcns.training.protocol import Protocol
from tests.splits import random_split

SEEN: list[tuple[bool, set[str]]] = []


@dataclass(frozen=True)
class Watching(Sampler):
    """Notes what was there already each time that it was asked to choose."""

    name: ClassVar[str] = "watching"
    scores: bool = True

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        there = {"scores", "candidate_layers", "item_vectors"} & set(vars(match))
        SEEN.append(("layer_scores" in vars(match), there))
        return Mixture.single(match.item_at_rank()) if self.scores else match.pick(torch.zeros_like(match.users))


@pytest.mark.parametrize("scores", [True, False])
def test_a_sampler_chooses_from_what_it_finds_in_a_step(scores: bool) -> None:
    """Scores added up beforehand would keep the kernels out that add them up themselves."""
    SEEN.clear()
    sampler, device = Watching(pool=4, scores=scores), torch.device("cpu")
    found = bench(random_split(30, 40, each=5), LightGCN(dim=8), sampler, Protocol(batch=16), device, "auto", 1)
    assert ("match" in {part.name for part in found.parts}) is scores
    assert {frozenset(there) for _, there in SEEN} == {frozenset()}
    assert sum(asked for asked, _ in SEEN) == (7 if scores else 0)  # the part alone, two of them to warm up


@pytest.mark.parametrize(("long", "calls"), [(0.0, 1), (60.0, 2 + 5)])
def test_what_takes_long_is_timed_once(long: float, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody was ranked seven times, by two of which nothing was timed."""
    monkeypatch.setattr(module, "LONG", long)
    called = list[None]()
    assert module._median(lambda: called.append(None), torch.device("cpu")) >= 0
    assert len(called) == calls
