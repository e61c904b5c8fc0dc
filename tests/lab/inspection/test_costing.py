"""What a sampler costs: parts that add up, held against the first; no absolute times."""

import pytest

from sahcns.errors import SettingError
from sahcns.lab.inspection import costing
from sahcns.lab.inspection.costing import sampler_cost
from sahcns.samplers import DNS, RNS, SAHC, Sampler, SAOnly
from sahcns.training import Protocol
from sahcns.training.bench import Bench, Part
from tests.lab.inspection.inspected import BACKBONES, small


def test_the_paper_s_three_samplers() -> None:
    samplers = [DNS(pool=4), SAOnly(pool=4), SAHC(pool=4)]
    protocol = Protocol(batch=16)
    costs = sampler_cost(small(), samplers, BACKBONES["lightgcn"], protocol=protocol, device="cpu", epochs=1)
    assert [one.name for one in costs] == ["dns", "sa-only", "sahc"]
    assert costs[2].sampler == {"name": "sahc", "pool": 4, "alpha": 0.3, "lambda_max": 0.5}
    assert costs[0].extra == 0.0
    for one in costs:
        assert 0 < one.choose < one.forward
        assert one.epoch > 0
        assert one.extra == pytest.approx(one.forward - costs[0].forward)
        assert one.extra_share == pytest.approx(one.extra / one.epoch)
    assert costs[1].choose > costs[0].choose  # a score of thirty operations against one argmax


def test_rounds_are_all_samplers_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that slows down counts against each of them alike; medians leave out what happens once."""
    asked = []

    def played(split: object, model: object, sampler: Sampler, *rest: object) -> Bench:
        asked.append(sampler.name)
        slow = 9.0 if len(asked) == 3 else 1.0  # DNS, the second time
        parts = [Part(name, slow * second, 0) for name, second in (("match", 1), ("choose", 2), ("mix and loss", 3))]
        own = 2 if sampler.name == "sahc" else 1
        return Bench("gpu", "triton", "captured", 10, slow * own, 0.0, 0.0, parts, 0, 0)

    monkeypatch.setattr(costing, "bench", played)
    dns, sahc = sampler_cost(small(), [DNS(), SAHC()], BACKBONES["lightgcn"], device="cpu", rounds=3)
    assert asked == ["dns", "sahc"] * 3
    assert (dns.rounds, sahc.rounds) == ((1.0, 9.0, 1.0), (2.0, 2.0, 2.0))
    assert (dns.match, dns.choose, dns.mix, dns.epoch) == (10.0, 20.0, 30.0, 1.0)
    assert sahc.longer_than(dns) == [0.5, -3.5, 0.5]


def test_a_sampler_that_looks_at_no_score_has_no_matching_to_pay_for() -> None:
    first, second = sampler_cost(
        small(), [RNS(), DNS(pool=4)], BACKBONES["lightgcn"], protocol=Protocol(batch=16), device="cpu", epochs=1
    )
    assert first.match == 0.0 < second.match
    assert first.forward == pytest.approx(first.choose + first.mix)


def test_nothing_to_measure() -> None:
    with pytest.raises(SettingError, match="samplers is empty"):
        sampler_cost(small(), [])
