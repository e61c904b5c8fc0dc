"""What is measured beside the runs: models looked into, and samplers timed; each into a small file of its own."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduction.design import Design
from reproduction.experiments import Chosen
from reproduction.looks import POOL_SEED, Aged, Look, timed
from reproduction.methods import Settings
from sahcns import load_split
from sahcns.lab import Pairs, source_commit

if TYPE_CHECKING:
    from sahcns import Backbone, Sampler

FORMATS = {kind: f"sahcns-{kind}" for kind in ("diagnostics", "readings", "efficiency")}
FORMAT_VERSION = 1
ROUNDS = 5  # in which samplers are timed in turn


def look_into(look: Look, folder: Path, name: str, device: str = "auto") -> dict[str, Any]:
    """Train the model and put each sampler to work on it over all training pairs."""
    from sahcns import Protocol, fit
    from sahcns.lab import Inspection, TrainedModel, diagnose

    began, split = time.perf_counter(), load_split(folder)
    protocol = Protocol.from_dict(look.protocol)
    run = fit(split, backbone(look.backbone), sampler(look.trained), protocol=protocol, seed=look.seed, device=device)
    if run.record.stopped == "interrupted":  # half a run is no model
        raise KeyboardInterrupt
    model = TrainedModel.of(run, split, device=device)
    found = {label: diagnose(model, sampler=sampler(one), seed=POOL_SEED) for label, one in look.samplers.items()}
    return {
        **_head("diagnostics", look.key(split.fingerprint), began),
        "seed": look.seed,
        "data": {"name": name, **run.record.data},
        "protocol": look.protocol,
        "machine": run.record.machine,
        "test": run.record.test,
        **Inspection(model.about, POOL_SEED, diagnostics=found).to_dict(),
    }


def read_otherwise(aged: Aged, folder: Path, name: str, device: str = "auto") -> dict[str, Any]:
    """Train the model for its epochs and read Figs 1 and 5(a) in it, in all ways."""
    from sahcns import Protocol, fit
    from sahcns.lab import TrainedModel, read_pools

    began, split = time.perf_counter(), load_split(folder)
    protocol = Protocol.from_dict(aged.protocol)
    # Nothing to look at: every epoch is run, and the last one is kept.
    bare = replace(split, valid=Pairs.none(), test=Pairs.none())
    run = fit(
        bare,
        backbone(aged.backbone),
        sampler(aged.trained),
        protocol=protocol,
        seed=aged.seed,
        device=device,
        whole=True,
    )
    if run.record.stopped == "interrupted":
        raise KeyboardInterrupt
    found = read_pools(TrainedModel.of(run, device=device), aged.alphas, aged.trained["pool"], POOL_SEED)
    return {
        **_head("readings", aged.key(split.fingerprint), began),
        "seed": aged.seed,
        "data": {"name": name, "fingerprint": split.fingerprint},
        "protocol": aged.protocol,
        "machine": run.record.machine,
        "age": aged.age,
        "readings": found.to_dict(),
    }


def time_samplers(
    design: Design, chosen: Chosen, data: str, key: str, folder: Path, device: str = "auto"
) -> dict[str, Any]:
    """DNS, SA-only and SAHC-NS: their forward pass and a whole epoch."""
    from sahcns import Protocol
    from sahcns.lab import Record, pick_device, sampler_cost

    began, split = time.perf_counter(), load_split(folder)
    model, protocol = backbone(design.backbone()), Protocol.from_dict(design.protocol)
    samplers = [sampler(one) for one in timed(chosen, data)]
    costs = sampler_cost(split, samplers, model, protocol=protocol, device=device, epochs=3, rounds=ROUNDS)
    record = Record.of(split, model, samplers[-1], protocol, 0, pick_device(device), costs[0].kernels)
    return {
        **_head("efficiency", key, began),
        "data": {"name": design.data(data).name, **record.data},
        "backbone": record.backbone,
        "protocol": record.protocol,
        "machine": record.machine,
        "costs": [one.to_dict() for one in costs],
    }


def sampler(described: Settings) -> "Sampler":
    from sahcns import Sampler
    from sahcns.lab import by_name

    return by_name(Sampler, described["name"], _arguments(described))


def backbone(described: Settings) -> "Backbone":
    from sahcns import Backbone
    from sahcns.lab import by_name

    return by_name(Backbone, described["name"], _arguments(described))


def _head(kind: str, key: str, began: float) -> dict[str, Any]:
    return {
        "format": FORMATS[kind],
        "format_version": FORMAT_VERSION,
        "key": key,
        "commit": source_commit(),
        "seconds": round(time.perf_counter() - began, 3),
    }


def _arguments(described: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in described.items() if name != "name"}
