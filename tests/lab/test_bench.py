"""What `bench` times is what training does, and what a sampler costs is the sum of its parts; no absolute times."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from sahcns.backbones import LightGCN
from sahcns.lab import bench as module
from sahcns.lab.bench import Bench, Part, bench, sampler_cost
from sahcns.rng import Rng
from sahcns.samplers import DNS, RNS, SAHC, Matching, Mixture, Sampler
from sahcns.training.protocol import Protocol
from tests.splits import random_split

CPU, PROTOCOL, MODEL = torch.device("cpu"), Protocol(batch=16), LightGCN(dim=8)
MADE: list[set[str]] = []


@pytest.fixture(autouse=True)
def _not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENOUGH", 0.005)


@dataclass(frozen=True)
class Watching(Sampler):
    """Notes what was there already each time that it was asked to choose."""

    name: ClassVar[str] = "watching"
    scores: bool = True

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        MADE.append({"scores", "candidate_layers", "item_vectors"} & set(vars(match)))
        return match.pick(match.scores.argmax(1) if self.scores else torch.zeros_like(match.users))


@pytest.mark.parametrize("scores", [True, False])
def test_a_sampler_chooses_from_what_there_is_in_a_step(scores: bool) -> None:
    """Scores added up beforehand would keep the kernels out that add them up themselves."""
    MADE.clear()
    measured = bench(random_split(30, 40, each=5), MODEL, Watching(pool=4, scores=scores), PROTOCOL, CPU, "auto", 1)
    names = [part.name for part in measured.parts]
    expected = ["draw", "propagate", "match", "choose", "mix and loss", "backward", "step", "evaluate"]
    assert names == [name for name in expected if scores or name != "match"]
    assert all(part.bytes > 0 for part in measured.parts)
    assert set(map(frozenset, MADE)) == {frozenset()}


def test_costs_add_up() -> None:
    samplers = [DNS(pool=4), RNS(), SAHC(pool=4)]
    costs = sampler_cost(random_split(13, 17, 5), samplers, MODEL, protocol=PROTOCOL, device="cpu", epochs=1)
    assert [one.name for one in costs] == ["dns", "rns", "sahc"]
    assert costs[2].sampler == {"name": "sahc", "pool": 4, "alpha": 0.3, "lambda_max": 0.5}
    assert costs[0].extra == 0.0
    assert costs[1].match == 0.0 < costs[0].match  # RNS looks at no score
    for one in costs:
        assert 0 < one.choose < one.forward
        assert one.epoch > 0
        assert one.extra == pytest.approx(one.forward - costs[0].forward)
        assert one.extra_share == pytest.approx(one.extra / one.epoch)


def test_rounds_are_all_samplers_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that slows down counts against each of them alike; medians leave out what happens once."""
    order = []

    def fake(split: object, model: object, sampler: Sampler, *rest: object) -> Bench:
        order.append(sampler.name)
        slow = 9.0 if len(order) == 3 else 1.0  # DNS, the second time
        parts = [Part(name, slow * second, 0) for name, second in (("match", 1), ("choose", 2), ("mix and loss", 3))]
        own = 2 if sampler.name == "sahc" else 1
        return Bench("gpu", "triton", "captured", 10, slow * own, 0.0, 0.0, parts, 0, 0)

    monkeypatch.setattr(module, "bench", fake)
    dns, sahc = sampler_cost(random_split(13, 17, 5), [DNS(), SAHC()], device="cpu", rounds=3)
    assert order == ["dns", "sahc"] * 3
    assert (dns.rounds, sahc.rounds) == ((1.0, 9.0, 1.0), (2.0, 2.0, 2.0))
    assert (dns.match, dns.choose, dns.mix, dns.epoch) == (10.0, 20.0, 30.0, 1.0)
    assert sahc.longer_than(dns) == [0.5, -3.5, 0.5]
