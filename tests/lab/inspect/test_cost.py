"""What a sampler costs: parts that add up, compared with the first; no absolute times."""

import pytest

from sahcns.errors import SettingError
from sahcns.lab.inspect import cost
from sahcns.lab.inspect.cost import sampler_cost
from sahcns.samplers import DNS, RNS, SAHC, Sampler
from sahcns.training import Protocol
from sahcns.training.bench import Bench, Part
from tests.lab.inspect.small_models import BACKBONES, small


def test_parts_add_up() -> None:
    samplers = [DNS(pool=4), RNS(), SAHC(pool=4)]
    costs = sampler_cost(small(), samplers, BACKBONES["lightgcn"], protocol=Protocol(batch=16), device="cpu", epochs=1)
    assert [one.name for one in costs] == ["dns", "rns", "sahc"]
    assert costs[2].sampler == {"name": "sahc", "pool": 4, "alpha": 0.3, "lambda_max": 0.5}
    assert costs[0].extra == 0.0
    assert costs[1].match == 0.0 < costs[0].match  # RNS looks at no score
    for one in costs:
        assert 0 < one.choose < one.forward
        assert one.epoch > 0
        assert one.extra == pytest.approx(one.forward - costs[0].forward)
        assert one.extra_share == pytest.approx(one.extra / one.epoch)
    with pytest.raises(SettingError, match="samplers"):
        sampler_cost(small(), [])


def test_rounds_are_all_samplers_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that slows down counts against each of them alike; medians leave out what happens once."""
    order = []

    def fake(split: object, model: object, sampler: Sampler, *rest: object) -> Bench:
        order.append(sampler.name)
        slow = 9.0 if len(order) == 3 else 1.0  # DNS, the second time
        parts = [Part(name, slow * second, 0) for name, second in (("match", 1), ("choose", 2), ("mix and loss", 3))]
        own = 2 if sampler.name == "sahc" else 1
        return Bench("gpu", "triton", "captured", 10, slow * own, 0.0, 0.0, parts, 0, 0)

    monkeypatch.setattr(cost, "bench", fake)
    dns, sahc = sampler_cost(small(), [DNS(), SAHC()], BACKBONES["lightgcn"], device="cpu", rounds=3)
    assert order == ["dns", "sahc"] * 3
    assert (dns.rounds, sahc.rounds) == ((1.0, 9.0, 1.0), (2.0, 2.0, 2.0))
    assert (dns.match, dns.choose, dns.mix, dns.epoch) == (10.0, 20.0, 30.0, 1.0)
    assert sahc.longer_than(dns) == [0.5, -3.5, 0.5]
