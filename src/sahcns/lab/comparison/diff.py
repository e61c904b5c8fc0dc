"""How two runs differ: settings, terms, sources and machine, then what came out of both."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sahcns.errors import DataError
from sahcns.folders import read_description
from sahcns.lab.grid.result import Result, Terms, terms_differ
from sahcns.lab.parts import OBJECTIVE

RECORD = "run.json"  # of a model folder
SOURCES = ("sahcns", "commit", "code")  # what decides by which code it was made

Run = dict[str, Any]
"""A run as plain data, with the keys of a record."""


@dataclass(frozen=True)
class Difference:
    """One thing in which two runs differ; None where one of them does not have it."""

    section: str
    name: str
    first: Any
    second: Any


@dataclass(frozen=True)
class Measured:
    """A metric of both runs."""

    part: str  # "test" or "valid"
    reading: str  # "best" or "last"
    name: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        return self.second - self.first


def read_run(path: str | os.PathLike[str]) -> Run:
    """A result's JSON file, or a model folder's record."""
    given = Path(path)
    if given.suffix == ".json" and given.name != RECORD:
        return Result.load(given).to_dict()
    from sahcns.model.folder import RUN

    record = read_description(RUN, given.parent if given.name == RECORD else given)
    if "baseline" in record:
        raise DataError(
            f"{path} is of {record['baseline']['name']}, a baseline: it has neither a backbone nor a sampler"
        )
    return record


def differences(first: Run, second: Run) -> list[Difference]:
    """Everything that was put in and differs, section by section."""
    one, other = _sections(first), _sections(second)
    return [
        Difference(section, name, one[section].get(name), other[section].get(name))
        for section in one
        for name in dict.fromkeys((*one[section], *other[section]))
        if one[section].get(name) != other[section].get(name)
    ]


def measured(first: Run, second: Run) -> list[Measured]:
    """Everything that came out of both, test before validation, best before last."""
    return [
        Measured(part, reading, name, value, second[part][reading][name])
        for part in ("test", "valid")
        for reading in ("best", "last")
        for name, value in first[part].get(reading, {}).items()
        if name in second[part].get(reading, {})
    ]


def apart(first: Run, second: Run) -> list[str]:
    """Why the two may not stand in one table, in words; empty if they may."""
    return terms_differ(*(Terms.of(run["data"], run["protocol"], run["machine"]) for run in (first, second)))


def _sections(run: Run) -> dict[str, Mapping[str, Any]]:
    machine = dict(run["machine"])
    return {
        **{name: run[name] for name in ("sampler", "backbone")},
        "objective": run.get("objective", OBJECTIVE),
        "protocol": run["protocol"],
        "run": {name: run[name] for name in ("seed", "best_epoch", "epochs_run", "stopped")},
        "data": {name: value for name, value in run["data"].items() if name not in ("folder", "name")},
        "sources": {name: machine.pop(name, run.get(name)) for name in SOURCES},
        "machine": {**machine, "seconds": round(run["seconds"].get("total", 0.0), 1)},
    }
