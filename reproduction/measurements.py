"""What is measured beside the runs: models looked into for Figs 1 and 5, samplers timed, baselines without gradient.

Each measurement is a small JSON file under a key that stands for all that decides what comes out.
"""

import hashlib
import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import sahcns
from reproduction.design import FIRST_SEED, Design
from reproduction.experiments import Chosen, at_work
from reproduction.methods import METHOD, WITHOUT_GRADIENT, Settings, sampler
from reproduction.readings import read_pools
from sahcns import lab

Kind = TypeVar("Kind", "sahcns.Backbone", "sahcns.Sampler")
Work = Callable[["sahcns.Split", str], dict[str, Any]]
"""On a split and a device: what a file holds beside what all have."""
Fit = Callable[..., "sahcns.Run"]
EPOCHS, ROUNDS = 3, 5  # of a timing
POOL_SEED = 0  # of the pools that all samplers see
SEEDS = (FIRST_SEED, POOL_SEED)
MODELS = {"dns": "trained with DNS", "sahc": "trained with SAHC-NS"}
KINDS = ("diagnostics", "readings", "efficiency", "baselines")  # folders of the results


@dataclass(frozen=True)
class Measurement:
    """Something to measure on a set."""

    kind: str
    data: str  # folder of the set
    about: Any  # what tells it from others of its kind on the set
    name: str  # how its file's name begins
    decides: tuple[Any, ...]  # all that decides what comes out, but for the data
    protocol: Settings
    work: Work

    def key(self, fingerprint: str) -> str:
        """`lightgcn-dns-s2020-1f3a9c04de`."""
        parts = json.loads(json.dumps((fingerprint, *self.decides)), parse_int=float)  # 1 and 1.0 are one number
        text = json.dumps(parts, sort_keys=True)
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

    def make(self, results: Path, prepared: Path, name: str, device: str, fingerprint: str) -> bool:
        """Make its file unless it is there; whether it was made here. Other processes wait until it is."""
        key = self.key(fingerprint)
        path = results / self.kind / f"{key}.json"
        with lab.wait_for_lock(results, f"{self.kind}-{key}"):
            if path.exists():
                return False
            began = time.perf_counter()
            own = self.work(sahcns.load_split(prepared), device)
            values = {
                "format": f"sahcns-{self.kind}",
                "format_version": 1,
                "key": key,
                "commit": lab.source_commit(),
                "seconds": round(time.perf_counter() - began, 3),
                "protocol": self.protocol,
                **own,
                "data": {"name": name, "fingerprint": fingerprint, **own.get("data", {})},
            }
            lines = (f"  {json.dumps(one)}: {json.dumps(value, ensure_ascii=False)}" for one, value in values.items())
            lab.write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n", self.kind)
        return True


def looks(design: Design, chosen: Chosen) -> list[Measurement]:
    """On each set a model trained with DNS, as in Fig. 1, and one with SAHC-NS; the paper's Fig. 5 does not say.

    Samplers are put to work on it over all training pairs.
    """
    found, backbone = [], design.backbone()
    for data in design.pair:
        own = at_work(chosen, data)
        samplers = {
            "DNS": sampler("dns"),
            "SA-only": sampler("sa-only", alpha=own["alpha"]),
            "HC-only": sampler("hc-only", lambda_max=own["lambda_max"]),
            METHOD: own,
        }
        for trained in (samplers["DNS"], own):
            name = f"{backbone['name']}-{trained['name']}-s{FIRST_SEED}"
            decides = trained, samplers, backbone, design.protocol, *SEEDS
            work = partial(_look, model=partial(_fit, backbone, trained, design.protocol), samplers=samplers)
            found.append(Measurement(KINDS[0], data, trained["name"], name, decides, design.protocol, work))
    return found


def aged_models(design: Design) -> list[Measurement]:
    """On each set a model trained with DNS for each number of epochs, in which Figs 1 and 5(a) are read in several ways."""
    found, backbone, trained = [], design.backbone(), sampler("dns")
    for data in design.pair:
        for age in design.ages:
            protocol = {**design.protocol, "epochs": age}
            work = partial(_read, model=partial(_fit, backbone, trained, protocol), age=age, alphas=design.grid)
            decides = trained, backbone, protocol, design.grid, *SEEDS
            found.append(Measurement(KINDS[1], data, age, f"{data}-{age}-epochs", decides, protocol, work))
    return found


def timings(design: Design, chosen: Chosen) -> list[Measurement]:
    """On each set, in the paper's order: hardest of the pool, with SA, with SA and HC."""
    found, backbone = [], design.backbone()
    for data in (one.folder for one in design.sets):
        own = at_work(chosen, data)
        samplers = sampler("dns"), sampler("sa-only", alpha=own["alpha"]), own
        work = partial(_time, backbone=backbone, protocol=design.protocol, samplers=samplers)
        decides = samplers, backbone, design.protocol
        found.append(Measurement(KINDS[2], data, None, data, decides, design.protocol, work))
    return found


def baselines(design: Design) -> list[Measurement]:
    """On each set what needs no gradient, with settings chosen on validation; on a CPU."""
    found = []
    for data in (one.folder for one in design.sets):
        for name, grid in WITHOUT_GRADIENT.items():
            mask = {"mask": design.protocol["mask"]}
            work = partial(_tune_baseline, baseline=name, grid=grid, **mask)
            found.append(Measurement(KINDS[3], data, name, f"{data}-{name}", (name, grid, mask), mask, work))
    return found


def _fit(
    backbone: Settings, trained: Settings, protocol: Settings, split: "sahcns.Split", device: str, whole: bool = False
) -> "sahcns.Run":
    parts = build(sahcns.Backbone, backbone), build(sahcns.Sampler, trained)
    terms = sahcns.Protocol.from_dict(protocol)
    run = sahcns.fit(split, *parts, protocol=terms, seed=FIRST_SEED, device=device, whole=whole)
    if run.record.stopped == "interrupted":  # half a run is no model
        raise KeyboardInterrupt
    return run


def _look(split: "sahcns.Split", device: str, model: Fit, samplers: Mapping[str, Settings]) -> dict[str, Any]:
    run = model(split, device)
    trained = lab.TrainedModel.of(run, split, device=device)
    seen = {
        label: lab.diagnose(trained, sampler=build(sahcns.Sampler, one), seed=POOL_SEED)
        for label, one in samplers.items()
    }
    about = {"seed": FIRST_SEED, "machine": run.record.machine, "data": run.record.data, "test": run.record.test}
    return {**about, **lab.Inspection(trained.about, POOL_SEED, diagnostics=seen).to_dict()}


def _read(split: "sahcns.Split", device: str, model: Fit, age: int, alphas: Sequence[float]) -> dict[str, Any]:
    # Without validation every epoch is run, and the last one is kept.
    run = model(replace(split, valid=lab.Pairs.none(), test=lab.Pairs.none()), device, whole=True)
    readings = read_pools(lab.TrainedModel.of(run, device=device), alphas, sampler("dns")["pool"], POOL_SEED)
    return {"seed": FIRST_SEED, "machine": run.record.machine, "age": age, "readings": readings}


def _time(
    split: "sahcns.Split", device: str, backbone: Settings, protocol: Settings, samplers: Sequence[Settings]
) -> dict[str, Any]:
    timed, terms = [build(sahcns.Sampler, one) for one in samplers], sahcns.Protocol.from_dict(protocol)
    model = build(sahcns.Backbone, backbone)
    costs = lab.sampler_cost(split, timed, model, protocol=terms, device=device, epochs=EPOCHS, rounds=ROUNDS)
    machine = {"device": costs[0].device, "kernels": costs[0].kernels}
    return {"backbone": backbone, "machine": machine, "costs": [one.to_dict() for one in costs]}


def _tune_baseline(
    split: "sahcns.Split", device: str, baseline: str, grid: Mapping[str, Sequence[float]], mask: Any
) -> dict[str, Any]:
    found = lab.tune_baseline(split, baseline, grid, mask)
    about = {"users": split.n_users, "items": split.n_items, **{part: len(own) for part, own in split.parts().items()}}
    machine = {"system": platform.system(), "python": platform.python_version(), "device": "cpu"}
    machine |= {name: metadata.version(name) for name in ("sahcns", "numpy", "scipy", "torch")}
    return {**found.to_dict(), "machine": machine, "data": about}


def build(kind: type[Kind], described: Settings) -> Kind:
    """A sampler or a backbone."""
    return lab.by_name(kind, described["name"], {name: one for name, one in described.items() if name != "name"})
