"""What is no grid of runs, as data: which models are looked into with which samplers, and whose cost is measured."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reproduction.design import FIRST_SEED, Design
from reproduction.experiments import Chosen, at_work
from reproduction.methods import METHOD, Settings, sampler

POOL_SEED = 0  # of the pools that all samplers see


@dataclass(frozen=True)
class Look:
    """A model to train, and the samplers that are put to work on it: Figs 1 and 5."""

    data: str  # folder of the set
    trained: Settings  # the sampler that it is trained with
    samplers: Mapping[str, Settings]  # by label
    backbone: Settings
    protocol: Settings
    seed: int = FIRST_SEED

    def key(self, fingerprint: str) -> str:
        """`lightgcn-dns-s2020-1f3a9c04de`, as that of a run: the digits stand for all that decides what is seen."""
        parts = (fingerprint, self.trained, dict(self.samplers), self.backbone, self.protocol, self.seed, POOL_SEED)
        return f"{self.backbone['name']}-{self.trained['name']}-s{self.seed}-{_digits(parts)}"


def looks(design: Design, chosen: Chosen) -> list[Look]:
    """On each set a model trained with DNS, as in Fig. 1, and one trained with SAHC-NS; the paper's Fig. 5 does not say."""
    found = []
    for data in design.pair:
        own = at_work(chosen, data)
        seen = {
            "DNS": sampler("dns"),
            "SA-only": sampler("sa-only", alpha=own["alpha"]),
            "HC-only": sampler("hc-only", lambda_max=own["lambda_max"]),
            METHOD: own,
        }
        found += [Look(data, one, seen, design.backbone(), design.protocol) for one in (seen["DNS"], own)]
    return found


@dataclass(frozen=True)
class Aged:
    """A model trained with DNS for so many epochs, in which Figs 1 and 5(a) are read in several ways."""

    data: str  # folder of the set
    age: int
    trained: Settings
    backbone: Settings
    protocol: Settings
    alphas: tuple[float, ...]
    seed: int = FIRST_SEED

    def key(self, fingerprint: str) -> str:
        """`amazon-toys-20-epochs-1f3a9c04de`."""
        parts = (fingerprint, self.trained, self.backbone, self.protocol, self.alphas, self.seed, POOL_SEED)
        return f"{self.data}-{self.age}-epochs-{_digits(parts)}"


def aged(design: Design) -> list[Aged]:
    """On each set a model of each age, as it is then: no epoch is picked, and nothing is looked at on the way."""
    return [
        Aged(
            data,
            age,
            sampler("dns"),
            design.backbone(),
            {**design.protocol, "epochs": age},
            design.grid,
        )
        for data in design.pair
        for age in design.ages
    ]


def timed(chosen: Chosen, data: str) -> list[Settings]:
    """The paper's order: hardest of the pool, with SA, with SA and HC."""
    own = at_work(chosen, data)
    return [sampler("dns"), sampler("sa-only", alpha=own["alpha"]), own]


def costs_key(design: Design, chosen: Chosen, data: str, fingerprint: str) -> str:
    """The name of the file that holds what was timed on a set."""
    return f"{data}-{_digits((fingerprint, timed(chosen, data), design.backbone(), design.protocol))}"


def _digits(parts: Any) -> str:
    return hashlib.sha256(json.dumps(_numbers(parts), sort_keys=True).encode()).hexdigest()[:10]


def _numbers(value: Any) -> Any:
    """1 and 1.0 are one number."""
    if isinstance(value, Mapping):
        return {name: _numbers(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(part) for part in value]
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
