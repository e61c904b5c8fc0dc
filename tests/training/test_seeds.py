"""One seed, one result: bit for bit on a CPU; and the same order, pools and start for every sampler."""

import json
import random
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from sahcns.backbones import MF, NGCF, SGL, Backbone, LightGCN, SimGCL, XSimGCL
from sahcns.backbones.base import Parameters
from sahcns.errors import TrainingError
from sahcns.graph import Graph
from sahcns.model import Run, fit
from sahcns.rng import Rng
from sahcns.samplers import DENS, DNS, RNS, SAHC, DivNS, MixGCF, Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import named
from sahcns.training import Protocol
from tests.splits import random_split
from tests.training.spying import Seen, spying

SPLIT = random_split(16, 30, each=6, seed=4)
PROTOCOL = Protocol(batch=32, learning_rate=0.02, epochs=3, evaluate_every=2)
SAMPLERS = sorted(name for name, kind in named(Sampler).items() if kind.__module__.startswith("sahcns."))
BACKBONES = [MF(dim=4), NGCF(dim=4, depth=2, dropout=0.2), SimGCL(dim=4, depth=2), XSimGCL(dim=4), SGL(dim=4)]


def train(backbone: Backbone, sampler: Sampler, seed: int = 7) -> Run:
    return fit(SPLIT, backbone, sampler, protocol=PROTOCOL, seed=seed, device="cpu")


def timeless(run: Run) -> dict[str, Any]:
    """The record without its clocks, as it would be read back."""
    record: dict[str, Any] = json.loads(json.dumps(run.record.to_dict()))
    del record["seconds"]
    for entry in record["history"]:
        del entry["seconds"]
    return record


def test_a_seed_of_numpy_is_the_same_seed() -> None:
    assert timeless(train(MF(dim=4), RNS(), np.int64(7))) == timeless(train(MF(dim=4), RNS(), 7))  # type: ignore[arg-type]


def check(backbone: Backbone, sampler: Sampler) -> None:
    first, again, other = (train(backbone, sampler, seed) for seed in (7, 7, 8))
    assert timeless(first) == timeless(again)
    assert first.recommender.weights.keys() == again.recommender.weights.keys()
    for name, value in first.recommender.weights.items():
        assert torch.equal(value, again.recommender.weights[name]), name
        assert not torch.equal(value, other.recommender.weights[name]), name
    assert torch.equal(first.recommender.user_vectors, again.recommender.user_vectors)
    assert torch.equal(first.recommender.item_vectors, again.recommender.item_vectors)
    assert first.record.history[0]["loss"] != other.record.history[0]["loss"]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_same_seed_gives_the_same_bits_with_every_sampler(sampler: str) -> None:
    check(LightGCN(dim=4, depth=2), named(Sampler)[sampler]())


@pytest.mark.parametrize("backbone", BACKBONES, ids=lambda backbone: backbone.name)
def test_and_on_every_backbone(backbone: Backbone) -> None:
    check(backbone, SAHC())


@dataclass(frozen=True)
class Drawn(Sampler):
    """Draws as people do who do not know `rng`."""

    name: ClassVar[str] = "drawn-from-global-generators"
    source: str = "torch"

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        count = len(match.users)
        if self.source == "torch":
            return match.pick(torch.multinomial(torch.ones_like(match.candidates, dtype=torch.float32), 1)[:, 0])
        if self.source == "numpy":
            return match.pick(torch.from_numpy(np.random.randint(0, self.pool, count)))  # noqa: NPY002
        drawn = torch.tensor(random.choices(range(self.pool), k=count))
        if self.source == "nowhere":
            raise TrainingError("drawn enough")
        return match.pick(drawn)


@dataclass(frozen=True)
class Dropped(LightGCN):
    name: ClassVar[str] = "dropout-of-torch"

    def training_layers(self, parameters: Parameters, graph: Graph, rng: Rng) -> tuple[Tensor, ...]:
        return graph.hops(torch.nn.functional.dropout(parameters["ego"], 0.3), self.depth)


@pytest.mark.parametrize("source", ["torch", "numpy", "python"])
def test_what_a_user_s_own_code_draws_elsewhere_follows_from_the_seed_too(source: str) -> None:
    check(LightGCN(dim=4, depth=2), Drawn(source=source))


def test_dropout_of_torch_follows_from_the_seed_too() -> None:
    check(Dropped(dim=4, depth=2), DNS())


@pytest.mark.parametrize("seed", [7, -3, 2**70])
def test_generators_stand_after_a_run_where_they_stood_before(seed: int) -> None:
    def state() -> tuple[object, ...]:
        legacy = np.random.get_state(legacy=False)  # noqa: NPY002
        return torch.get_rng_state().tolist(), repr(legacy), random.getstate()

    before = state()
    train(MF(dim=4), Drawn(), seed)
    assert state() == before
    with pytest.raises(TrainingError, match="drawn enough"):
        train(MF(dim=4), Drawn(source="nowhere"), seed)
    assert state() == before


if torch.cuda.is_available():

    @pytest.mark.gpu
    @pytest.mark.parametrize(
        ("backbone", "sampler"), [(LightGCN(dim=16, depth=2), Drawn()), (Dropped(dim=16, depth=2), DNS())]
    )
    def test_also_in_steps_that_a_gpu_replays(backbone: Backbone, sampler: Sampler) -> None:
        def losses(seed: int) -> list[float]:
            run = fit(SPLIT, backbone, sampler, protocol=PROTOCOL, seed=seed, device="cuda", kernels="triton-ordered")
            assert run.record.machine["steps"] == "captured"
            return [entry["loss"] for entry in run.record.history]

        before = torch.cuda.get_rng_state()
        assert losses(7) == losses(7) != losses(8)
        assert torch.equal(torch.cuda.get_rng_state(), before)


@pytest.mark.parametrize("seed", [0, -3, 2**40])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    assert train(MF(dim=4), RNS(), seed).record.seed == seed


def notes_of(sampler: Sampler, backbone: Backbone | None = None) -> list[Seen]:
    spy, notes = spying(sampler)
    train(backbone or LightGCN(dim=4, depth=2), spy)
    return notes


@pytest.mark.parametrize(
    "other", [DNS(), MixGCF(), DENS(), DivNS(selector="random"), RNS(pool=10)], ids=lambda sampler: sampler.name
)
def test_two_samplers_see_the_same_order_pools_and_start(other: Sampler) -> None:
    ours, theirs = notes_of(SAHC()), notes_of(other)
    assert len(ours) == len(theirs) == 3 * (96 // 32)
    for a, b in zip(ours, theirs, strict=True):
        assert a.pairs == b.pairs
        assert a.candidates == b.candidates
    assert torch.equal(ours[0].first_layer, theirs[0].first_layer)  # layer 0: the tables themselves
    assert not torch.equal(ours[-1].first_layer, theirs[-1].first_layer)  # from there they go their own way


def test_a_pool_of_one_is_the_beginning_of_a_pool_of_ten() -> None:
    for small, large in zip(notes_of(RNS()), notes_of(DNS(pool=10)), strict=True):
        assert small.pairs == large.pairs
        assert [row[0] for row in large.candidates] == [row[0] for row in small.candidates]


def test_pools_are_new_at_each_step_and_for_each_pair() -> None:
    notes = notes_of(DNS())
    pools = [tuple(row) for seen in notes for row in seen.candidates]
    assert len(set(pools)) == len(pools)


@pytest.mark.parametrize("backbone", BACKBONES, ids=lambda backbone: backbone.name)
def test_noise_and_dropout_do_not_move_the_order_or_the_pools(backbone: Backbone) -> None:
    for a, b in zip(notes_of(SAHC()), notes_of(SAHC(), backbone), strict=True):
        assert a.pairs == b.pairs
        assert a.candidates == b.candidates


def test_another_seed_changes_order_pools_and_start() -> None:
    spies = [spying(SAHC()) for _ in range(2)]
    for seed, (spy, _) in enumerate(spies):
        train(LightGCN(dim=4, depth=2), spy, seed)
    first, second = spies[0][1][0], spies[1][1][0]
    assert first.pairs != second.pairs
    assert first.candidates != second.candidates
    assert not torch.equal(first.first_layer, second.first_layer)


def test_the_global_generators_are_neither_read_nor_moved() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = train(SimGCL(dim=4, depth=2), DENS())
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    again = train(SimGCL(dim=4, depth=2), DENS())
    assert torch.equal(first.recommender.weights["ego"], again.recommender.weights["ego"])
