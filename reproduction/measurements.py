"""What is measured beside the runs: models looked into for Figs 1 and 5, and samplers timed.

Each measurement is a small JSON file under a key that stands for all that decides what comes out.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduction.design import FIRST_SEED, Design
from reproduction.experiments import Chosen, at_work
from reproduction.methods import METHOD, Settings, sampler
from reproduction.readings import read_pools
from sahcns import load_split
from sahcns.lab import Pairs, source_commit, wait_for_lock, write_whole

if TYPE_CHECKING:
    from sahcns import Backbone, Run, Sampler, Split

DIAGNOSTICS, READINGS, EFFICIENCY = "diagnostics", "readings", "efficiency"  # folders of the results
POOL_SEED = 0  # of the pools that all samplers see
ROUNDS = 5  # in which samplers are timed in turn


@dataclass(frozen=True)
class Model:
    """A model to train for Figs 1 and 5."""

    data: str  # folder of the set
    trained: Settings  # the sampler that it is trained with
    backbone: Settings
    protocol: Settings

    def fit(self, split: "Split", device: str, whole: bool = False) -> "Run":
        from sahcns import Protocol, fit

        parts, protocol = (
            (build_backbone(self.backbone), build_sampler(self.trained)),
            Protocol.from_dict(self.protocol),
        )
        run = fit(split, *parts, protocol=protocol, seed=FIRST_SEED, device=device, whole=whole)
        if run.record.stopped == "interrupted":  # half a run is no model
            raise KeyboardInterrupt
        return run

    def head(self, kind: str, key: str, began: float, run: "Run") -> dict[str, Any]:
        about = {"seed": FIRST_SEED, "protocol": self.protocol, "machine": run.record.machine}
        return {**_head(kind, key, began), **about}


@dataclass(frozen=True)
class Look(Model):
    """A model, and the samplers that are put to work on it."""

    samplers: Mapping[str, Settings]  # by label

    def key(self, fingerprint: str) -> str:
        """`lightgcn-dns-s2020-1f3a9c04de`."""
        parts = (fingerprint, self.trained, dict(self.samplers), self.backbone, self.protocol, FIRST_SEED, POOL_SEED)
        return f"{self.backbone['name']}-{self.trained['name']}-s{FIRST_SEED}-{_digest(parts)}"

    def measure(self, folder: Path, name: str, device: str = "auto") -> dict[str, Any]:
        """Train the model and put each sampler to work on it over all training pairs."""
        from sahcns.lab import Inspection, TrainedModel, diagnose

        began, split = time.perf_counter(), load_split(folder)
        run = self.fit(split, device)
        model = TrainedModel.of(run, split, device=device)
        diagnostics = {
            label: diagnose(model, sampler=build_sampler(one), seed=POOL_SEED) for label, one in self.samplers.items()
        }
        return {
            **self.head(DIAGNOSTICS, self.key(split.fingerprint), began, run),
            "data": {"name": name, **run.record.data},
            "test": run.record.test,
            **Inspection(model.about, POOL_SEED, diagnostics=diagnostics).to_dict(),
        }


def looks(design: Design, chosen: Chosen) -> list[Look]:
    """On each set a model trained with DNS, as in Fig. 1, and one with SAHC-NS; the paper's Fig. 5 does not say."""
    models = []
    for data in design.pair:
        own = at_work(chosen, data)
        samplers = {
            "DNS": sampler("dns"),
            "SA-only": sampler("sa-only", alpha=own["alpha"]),
            "HC-only": sampler("hc-only", lambda_max=own["lambda_max"]),
            METHOD: own,
        }
        models += [Look(data, one, design.backbone(), design.protocol, samplers) for one in (samplers["DNS"], own)]
    return models


@dataclass(frozen=True)
class AgedModel(Model):
    """A model trained for so many epochs, in which Figs 1 and 5(a) are read in several ways."""

    age: int
    alphas: tuple[float, ...]

    def key(self, fingerprint: str) -> str:
        """`amazon-toys-20-epochs-1f3a9c04de`."""
        parts = (fingerprint, self.trained, self.backbone, self.protocol, self.alphas, FIRST_SEED, POOL_SEED)
        return f"{self.data}-{self.age}-epochs-{_digest(parts)}"

    def measure(self, folder: Path, name: str, device: str = "auto") -> dict[str, Any]:
        """Train the model for its epochs and read Figs 1 and 5(a) in it, in all ways."""
        from sahcns.lab import TrainedModel

        began, split = time.perf_counter(), load_split(folder)
        # Without validation every epoch is run, and the last one is kept.
        run = self.fit(replace(split, valid=Pairs.none(), test=Pairs.none()), device, whole=True)
        readings = read_pools(TrainedModel.of(run, device=device), self.alphas, self.trained["pool"], POOL_SEED)
        return {
            **self.head(READINGS, self.key(split.fingerprint), began, run),
            "data": {"name": name, "fingerprint": split.fingerprint},
            "age": self.age,
            "readings": readings.to_dict(),
        }


def aged_models(design: Design) -> list[AgedModel]:
    """On each set a model of each age, trained with DNS."""
    return [
        AgedModel(data, sampler("dns"), design.backbone(), {**design.protocol, "epochs": age}, age, design.grid)
        for data in design.pair
        for age in design.ages
    ]


def timed_samplers(chosen: Chosen, data: str) -> list[Settings]:
    """In the paper's order: hardest of the pool, with SA, with SA and HC."""
    own = at_work(chosen, data)
    return [sampler("dns"), sampler("sa-only", alpha=own["alpha"]), own]


def cost_key(design: Design, chosen: Chosen, data: str, fingerprint: str) -> str:
    """The name of the file that holds what was timed on a set."""
    return f"{data}-{_digest((fingerprint, timed_samplers(chosen, data), design.backbone(), design.protocol))}"


def time_samplers(
    design: Design, chosen: Chosen, data: str, key: str, folder: Path, device: str = "auto"
) -> dict[str, Any]:
    """DNS, SA-only and SAHC-NS: their forward pass and a whole epoch."""
    from sahcns import Protocol
    from sahcns.lab import sampler_cost

    began, split = time.perf_counter(), load_split(folder)
    model, protocol = build_backbone(design.backbone()), Protocol.from_dict(design.protocol)
    samplers = [build_sampler(one) for one in timed_samplers(chosen, data)]
    costs = sampler_cost(split, samplers, model, protocol=protocol, device=device, epochs=3, rounds=ROUNDS)
    return {
        **_head(EFFICIENCY, key, began),
        "data": {"name": design.data(data).name, "fingerprint": split.fingerprint},
        "backbone": design.backbone(),
        "protocol": design.protocol,
        "machine": {"device": costs[0].device, "kernels": costs[0].kernels},
        "costs": [one.to_dict() for one in costs],
    }


def measure_once(folder: Path, kind: str, key: str, measure: Callable[[], Mapping[str, Any]]) -> bool:
    """Make FOLDER/KIND/KEY.json unless it is there; whether it was made here. Other processes wait until it is."""
    path = folder / kind / f"{key}.json"
    if path.exists():
        return False
    with wait_for_lock(folder, f"{kind}-{key}"):
        if path.exists():
            return False
        lines = (f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in measure().items())
        write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n", kind)
    return True


def build_sampler(described: Settings) -> "Sampler":
    from sahcns import Sampler
    from sahcns.lab import by_name

    return by_name(Sampler, described["name"], {name: one for name, one in described.items() if name != "name"})


def build_backbone(described: Settings) -> "Backbone":
    from sahcns import Backbone
    from sahcns.lab import by_name

    return by_name(Backbone, described["name"], {name: one for name, one in described.items() if name != "name"})


def _head(kind: str, key: str, began: float) -> dict[str, Any]:
    return {
        "format": f"sahcns-{kind}",
        "format_version": 1,
        "key": key,
        "commit": source_commit(),
        "seconds": round(time.perf_counter() - began, 3),
    }


def _digest(parts: Any) -> str:
    return hashlib.sha256(json.dumps(_numbers(parts), sort_keys=True).encode()).hexdigest()[:10]


def _numbers(value: Any) -> Any:
    """1 and 1.0 are one number."""
    if isinstance(value, Mapping):
        return {name: _numbers(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(part) for part in value]
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
