"""What is measured beside the runs: models looked into for Figs 1 and 5, and samplers timed.

Each measurement is a small JSON file under a key that stands for all that decides what comes out.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import sahcns
from reproduction.design import FIRST_SEED, Design
from reproduction.experiments import Chosen, at_work
from reproduction.methods import METHOD, Settings, sampler
from reproduction.readings import read_pools
from sahcns import lab

Kind = TypeVar("Kind", "sahcns.Backbone", "sahcns.Sampler")
POOL_SEED = 0  # of the pools that all samplers see
SEEDS = (FIRST_SEED, POOL_SEED)
MODELS = {"dns": "trained with DNS", "sahc": "trained with SAHC-NS"}


@dataclass(frozen=True)
class Measurement:
    """Something to measure on a set."""

    folder: ClassVar[str]  # of the results
    data: str  # folder of the set
    backbone: Settings
    protocol: Settings

    @property
    def identity(self) -> tuple[str, Any]:
        """How its file's name begins, and all that decides what comes out, but for the data."""
        raise NotImplementedError

    def measure(self, split: "sahcns.Split", device: str) -> dict[str, Any]:
        """What its file holds beside what all have."""
        raise NotImplementedError

    def key(self, fingerprint: str) -> str:
        """`lightgcn-dns-s2020-1f3a9c04de`."""
        name, parts = self.identity
        text = json.dumps(_numbers((fingerprint, *parts)), sort_keys=True)
        return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

    def make(self, results: Path, prepared: Path, name: str, device: str, fingerprint: str) -> bool:
        """Make its file unless it is there; whether it was made here. Other processes wait until it is."""
        key = self.key(fingerprint)
        path = results / self.folder / f"{key}.json"
        with lab.wait_for_lock(results, f"{self.folder}-{key}"):
            if path.exists():
                return False
            began = time.perf_counter()
            own = self.measure(sahcns.load_split(prepared), device)
            values = {
                "format": f"sahcns-{self.folder}",
                "format_version": 1,
                "key": key,
                "commit": lab.source_commit(),
                "seconds": round(time.perf_counter() - began, 3),
                "protocol": self.protocol,
                **own,
                "data": {"name": name, "fingerprint": fingerprint, **own.get("data", {})},
            }
            lines = (f"  {json.dumps(one)}: {json.dumps(value, ensure_ascii=False)}" for one, value in values.items())
            lab.write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n", self.folder)
        return True


@dataclass(frozen=True)
class Model(Measurement):
    """A model to train for Figs 1 and 5."""

    trained: Settings  # the sampler that it is trained with

    def fit(self, split: "sahcns.Split", device: str, whole: bool = False) -> "sahcns.Run":
        parts = build(sahcns.Backbone, self.backbone), build(sahcns.Sampler, self.trained)
        protocol = sahcns.Protocol.from_dict(self.protocol)
        run = sahcns.fit(split, *parts, protocol=protocol, seed=FIRST_SEED, device=device, whole=whole)
        if run.record.stopped == "interrupted":  # half a run is no model
            raise KeyboardInterrupt
        return run


@dataclass(frozen=True)
class Look(Model):
    """A model, and the samplers that are put to work on it over all training pairs."""

    folder = "diagnostics"
    samplers: Mapping[str, Settings]  # by label

    @property
    def identity(self) -> tuple[str, Any]:
        name = f"{self.backbone['name']}-{self.trained['name']}-s{FIRST_SEED}"
        return name, (self.trained, dict(self.samplers), self.backbone, self.protocol, *SEEDS)

    def measure(self, split: "sahcns.Split", device: str) -> dict[str, Any]:
        run = self.fit(split, device)
        model = lab.TrainedModel.of(run, split, device=device)
        seen = {
            label: lab.diagnose(model, sampler=build(sahcns.Sampler, one), seed=POOL_SEED)
            for label, one in self.samplers.items()
        }
        about = {"seed": FIRST_SEED, "machine": run.record.machine, "data": run.record.data, "test": run.record.test}
        return {**about, **lab.Inspection(model.about, POOL_SEED, diagnostics=seen).to_dict()}


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
        models += [Look(data, design.backbone(), design.protocol, one, samplers) for one in (samplers["DNS"], own)]
    return models


@dataclass(frozen=True)
class AgedModel(Model):
    """A model trained for so many epochs, in which Figs 1 and 5(a) are read in several ways."""

    folder = "readings"
    age: int
    alphas: tuple[float, ...]

    @property
    def identity(self) -> tuple[str, Any]:
        return f"{self.data}-{self.age}-epochs", (self.trained, self.backbone, self.protocol, self.alphas, *SEEDS)

    def measure(self, split: "sahcns.Split", device: str) -> dict[str, Any]:
        # Without validation every epoch is run, and the last one is kept.
        run = self.fit(replace(split, valid=lab.Pairs.none(), test=lab.Pairs.none()), device, whole=True)
        readings = read_pools(lab.TrainedModel.of(run, device=device), self.alphas, self.trained["pool"], POOL_SEED)
        return {"seed": FIRST_SEED, "machine": run.record.machine, "age": self.age, "readings": readings}


def aged_models(design: Design) -> list[AgedModel]:
    """On each set a model of each age, trained with DNS."""
    return [
        AgedModel(data, design.backbone(), {**design.protocol, "epochs": age}, sampler("dns"), age, design.grid)
        for data in design.pair
        for age in design.ages
    ]


@dataclass(frozen=True)
class Timing(Measurement):
    """Samplers timed: their forward pass and a whole epoch, in several rounds in turn."""

    folder = "efficiency"
    samplers: tuple[Settings, ...]

    @property
    def identity(self) -> tuple[str, Any]:
        return self.data, (self.samplers, self.backbone, self.protocol)

    def measure(self, split: "sahcns.Split", device: str) -> dict[str, Any]:
        model, protocol = build(sahcns.Backbone, self.backbone), sahcns.Protocol.from_dict(self.protocol)
        samplers = [build(sahcns.Sampler, one) for one in self.samplers]
        costs = lab.sampler_cost(split, samplers, model, protocol=protocol, device=device, epochs=3, rounds=5)
        machine = {"device": costs[0].device, "kernels": costs[0].kernels}
        return {"backbone": self.backbone, "machine": machine, "costs": [one.to_dict() for one in costs]}


def timings(design: Design, chosen: Chosen) -> list[Timing]:
    """On each set, in the paper's order: hardest of the pool, with SA, with SA and HC."""
    own = {one.folder: at_work(chosen, one.folder) for one in design.sets}
    samplers = {data: (sampler("dns"), sampler("sa-only", alpha=one["alpha"]), one) for data, one in own.items()}
    return [Timing(data, design.backbone(), design.protocol, timed) for data, timed in samplers.items()]


def build(kind: type[Kind], described: Settings) -> Kind:
    """A sampler or a backbone."""
    return lab.by_name(kind, described["name"], {name: one for name, one in described.items() if name != "name"})


def _numbers(value: Any) -> Any:
    """1 and 1.0 are one number."""
    if isinstance(value, Mapping):
        return {name: _numbers(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(part) for part in value]
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
