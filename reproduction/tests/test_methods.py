"""The paper's settings as plain data: complete, allowed, and those that the paper names."""

from typing import Any

import pytest

from reproduction.measuring import backbone, sampler
from reproduction.methods import (
    BACKBONES,
    METHOD,
    ML1M,
    NINE,
    PROTOCOL,
    SAMPLERS,
    TOYS,
    TUNABLE,
    YELP,
    Settings,
    equal,
    nine,
    variants,
)
from sahcns.backbones import Backbone
from sahcns.lab.tune.space import Space
from sahcns.samplers import HCOnly, Sampler, WithoutDiscrepancy
from sahcns.settings import class_named
from sahcns.training import Protocol
from sahcns.training.record import described

OWN = {"name": "sahc", "pool": 10, "alpha": 0.7, "lambda_max": 0.9}


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_description_is_that_of_the_defaults(name: str) -> None:
    assert described(class_named(Sampler, name)()) == {"name": name, **SAMPLERS[name]}


@pytest.mark.parametrize("name", BACKBONES)
def test_and_so_of_backbones(name: str) -> None:
    assert described(class_named(Backbone, name)()) == {"name": name, **BACKBONES[name]}
    assert described(backbone({"name": name, **BACKBONES[name], "dim": 8})) == {
        "name": name,
        **BACKBONES[name],
        "dim": 8,
    }


def test_the_protocol_is_the_default_one() -> None:
    assert Protocol().to_dict() == PROTOCOL


@pytest.mark.parametrize("data", [TOYS, YELP, ML1M])
def test_the_nine_are_complete_and_allowed(data: str) -> None:
    found = nine(data, OWN)
    assert list(found) == list(NINE)
    assert found[METHOD] == OWN
    for one in [*found.values(), *variants(OWN).values()]:
        assert described(sampler(one)) == one


def test_the_settings_that_the_paper_names() -> None:
    def of(data: str, label: str, *arguments: str) -> tuple[Any, ...]:
        return tuple(nine(data, OWN)[label][one] for one in arguments)

    assert [of(data, "DNS(M,N)", "pool", "top_k") for data in (TOYS, YELP, ML1M)] == [(100, 5), (100, 5), (50, 10)]
    assert [of(data, "DENS", "alpha", "gamma") for data in (TOYS, YELP, ML1M)] == [(1, 0.3), (0, 0.05), (0, 0.01)]
    assert [of(data, "DivNS", "ratio", "lam") for data in (TOYS, YELP, ML1M)] == [(4, 0.8), (0, 1.0), (4, 0.8)]
    for data in (TOYS, YELP, ML1M):
        assert of(data, "BNS", "lam") == (5.0,)
        assert of(data, "AHNS", "alpha", "beta", "p") == (1.0, 0.1, -2)
        assert {nine(data, OWN)[label]["pool"] for label in NINE if label not in ("RNS", "DNS(M,N)")} == {10}


def test_variants_take_the_values_of_the_whole() -> None:
    found = variants(OWN)
    assert {one["alpha"] for one in found.values() if "alpha" in one} == {0.7}
    assert {one["lambda_max"] for one in found.values() if "lambda_max" in one} == {0.9}
    assert found["SAHC-Fixed"]["high"] == 0.9


def test_without_discrepancy_is_run_as_hc_only_which_it_is_on_lightgcn() -> None:
    found = variants(OWN)
    assert found["SAHC w/o Discrepancy"] == found["HC-only"]
    # both calibrate alike, and select by the mean over the layers, which is LightGCN's score
    assert WithoutDiscrepancy().parts()[1] == HCOnly().parts()[1]


def test_equals_have_one_pool_and_what_tuning_chose() -> None:
    chosen: dict[str, Settings] = {
        "sahc": {"alpha": 0.1, "lambda_max": 0.5, "pool": 10},
        "dns-mn": {"top_k": 2, "pool": 10},
    }
    found = equal(chosen, 20)
    assert found[METHOD] == {"name": "sahc", "pool": 20, "alpha": 0.1, "lambda_max": 0.5}
    assert found["DNS(M,N)"] == {"name": "dns-mn", "pool": 20, "top_k": 2, "pick": "uniform"}
    assert (found["RNS"], found["DNS"]) == ({"name": "rns", "pool": 1}, {"name": "dns", "pool": 20})
    waiting = [label for label, one in found.items() if one is None]
    assert waiting == ["MixGCF", "DENS", "BNS", "AHNS", "DivNS"]


def test_what_can_be_tuned_is_tuned() -> None:
    for name in NINE.values():
        assert bool(Space.of(class_named(Sampler, name)).dimensions) == (name in TUNABLE)
