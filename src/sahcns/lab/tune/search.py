"""A search as plain data: every trial, the values chosen, and the two files that hold them. Read without torch."""

import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from sahcns.errors import DataError
from sahcns.files import json_lines, read_marked, write_whole
from sahcns.lab.grid.result import Named
from sahcns.lab.plain import Setting, read_from, restored
from sahcns.lab.tune.space import short
from sahcns.settings import Between
from sahcns.version import __version__

TRIALS, TUNED = "trials.json", "tuned.json"
FORMAT, TUNED_FORMAT, FORMAT_VERSION = "sahcns-trials", "sahcns-tuned", 1


# What must be right in the parts of a search, and in `tuned.json`, of which who writes one by hand leaves out the rest.
class Set(TypedDict):
    name: str
    fingerprint: str


class Pool(TypedDict):
    pool: int


class Terms(TypedDict):
    monitor: str
    patience: NotRequired[int]
    evaluate_every: NotRequired[int]


class Pruning(TypedDict):
    on: bool
    after_trials: NotRequired[int]
    after_epochs: NotRequired[int]


class Tuned(TypedDict, total=False):
    samplers: dict[str, dict[str, Any]] | None
    data: dict[str, Setting]
    backbone: dict[str, Any]
    protocol: dict[str, Any]
    code: dict[str, str]


@dataclass(frozen=True)
class Trial:
    """One trial. Its value is the best validation so far where it was cut off, and None where it was never validated.

    state  "complete", "pruned", "failed" or "running"; "lost" if its process died and "replaced" if it was pruned before
           pruning was left: another trial takes the place of these two, and they do not count
    """

    sampler: str
    number: int
    state: Annotated[str, Literal["complete", "pruned", "failed", "running", "lost", "replaced"]]
    point: dict[str, Setting]  # searched settings that make a difference
    settings: Annotated[
        dict[str, Any], Pool
    ]  # all settings of the sampler, and the searched ones of the backbone and the protocol
    value: float | None
    looks: dict[int, float] = field(default_factory=dict)  # epoch → validation
    epoch: int | None = None  # of the best validation
    epochs_run: int = 0
    seconds: float | None = None
    valid: dict[str, float] = field(default_factory=dict)  # metrics at the best epoch
    error: str = ""
    machine: dict[str, Any] = field(default_factory=dict)  # versions, device, kernels
    commit: str | None = None  # of the sources
    full_users: int = 0  # users who have every item, so that their pairs were not trained on
    worker: str = ""  # the process that took it

    @property
    def counts(self) -> bool:
        """Whether it is one of the budget."""
        return self.state not in ("lost", "replaced")

    @property
    def has_ended(self) -> bool:
        return self.state in ("complete", "pruned", "failed")

    @property
    def last_look(self) -> int | None:
        """The epoch of its last validation: where it was cut off, if it was."""
        return max(self.looks, default=None)

    @property
    def label(self) -> str:
        """`alpha=0.3, lambda_max=0.5`."""
        return ", ".join(f"{name}={short(value)}" for name, value in self.point.items()) or "defaults"


@dataclass(frozen=True)
class Search:
    """A whole search. `spaces` is {"sahc": {"alpha": [0, 0.1, …]}, "ahns": {"beta": Between(…)}}."""

    data: Annotated[dict[str, Any], Set]  # name, fingerprint, users, items, pairs of each part
    backbone: Annotated[dict[str, Any], Named]
    protocol: Annotated[dict[str, Any], Terms]
    seed: int
    pruning: Annotated[dict[str, Any], Pruning]
    budget: dict[str, int] = field(default_factory=dict)  # trials for each sampler
    sizes: dict[str, int | None] = field(default_factory=dict)  # points of each space; None where they cannot be listed
    fixed: dict[str, dict[str, Any]] = field(default_factory=dict)  # settings of each that were held at a value
    spaces: dict[str, dict[str, Annotated[Any, list[Setting] | Between]]] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    kernels: str = "auto"
    code: dict[str, str] = field(default_factory=dict)  # digests of those that come from a user's own files
    folder: Path | None = None

    @property
    def monitor(self) -> str:
        return str(self.protocol["monitor"])

    @property
    def samplers(self) -> list[str]:
        return list(self.spaces)

    def of(self, sampler: str) -> list[Trial]:
        """A sampler's trials that count, in order."""
        return [trial for trial in self.trials if trial.sampler == sampler and trial.counts]

    def complete(self, sampler: str) -> list[Trial]:
        """Its complete trials, from the best on; of equals the earliest is first."""
        done = [trial for trial in self.of(sampler) if trial.state == "complete" and trial.value is not None]
        return sorted(done, key=lambda trial: (-(trial.value or 0.0), trial.number))

    def best(self, sampler: str) -> Trial | None:
        """Its complete trial with the highest value; None while there is none."""
        return next(iter(self.complete(sampler)), None)

    def wanted(self, sampler: str) -> int:
        """How many trials its search comes to: the budget, or all points where there are fewer."""
        size = self.sizes[sampler]
        return self.budget[sampler] if size is None else min(self.budget[sampler], size)

    def count_ended(self, sampler: str) -> int:
        """How many of its trials have ended."""
        return sum(trial.has_ended for trial in self.of(sampler))

    def finished(self, sampler: str) -> bool:
        return self.count_ended(sampler) == len(self.of(sampler)) >= self.wanted(sampler)

    def choice(self, sampler: str) -> Trial | None:
        """Its best trial once its search is finished."""
        return self.best(sampler) if self.finished(sampler) else None

    def state(self, sampler: str) -> str:
        """`finished`, `not begun`, or `23 of 49 trials`."""
        if self.finished(sampler):
            return "finished"
        return f"{self.count_ended(sampler)} of {self.wanted(sampler)} trials" if self.of(sampler) else "not begun"

    @property
    def chosen(self) -> dict[str, dict[str, Any]]:
        """The settings chosen for each sampler whose search is finished: searched ones, those held at a value, its pool."""
        return {
            name: {**self.fixed[name], **best.point, "pool": best.settings["pool"]}
            for name in self.samplers
            if (best := self.choice(name)) is not None
        }

    def tuned(self) -> dict[str, Any]:
        """What `tuned.json` holds."""
        chosen = self.chosen
        return {
            **_head(TUNED_FORMAT),
            **{name: getattr(self, name) for name in ("data", "protocol", "backbone", "seed", "kernels")},
            "trials": max(self.budget.values(), default=0),
            "tried": {name: len(self.of(name)) for name in chosen},
            "samplers": chosen,
            "valid": {name: best.valid for name in chosen if (best := self.choice(name))},
            **({"code": self.code} if self.code else {}),
        }

    def save(self) -> "Search":
        """Write `trials.json` and `tuned.json`."""
        assert self.folder is not None
        whole = _head(FORMAT) | {name: value for name, value in asdict(self).items() if name != "folder"}
        write_whole(self.folder / TRIALS, json_lines(whole), "list of trials")
        write_whole(self.folder / TUNED, json_lines(self.tuned(), sealed=False), "tuned settings")
        return self


def read_search(folder: str | os.PathLike[str]) -> Search:
    """The search in a folder, from its `trials.json`."""
    path = Path(folder) / TRIALS
    values = _read(path, FORMAT, "search")
    with read_from(path):
        search: Search = restored(Search, {**values, "folder": None})
        for name, space in search.spaces.items():
            if not all(name in one for one in (search.budget, search.sizes, search.fixed)):
                raise DataError(f"there is no budget, size or fixed setting of {name!r}")
            for trial in search.of(name):
                if not all(key in space and value in space[key] for key, value in trial.point.items()):
                    raise DataError(f"trial {trial.number} of {name!r} is at a point outside of its space")
    return replace(search, folder=Path(folder))


def read_tuned(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a `tuned.json`, or of the one in a folder."""
    given = Path(path) / TUNED if Path(path).is_dir() else Path(path)
    with read_from(given):
        values: dict[str, Any] = restored(Tuned, _read(given, TUNED_FORMAT, "tuned setting"))
    return values


def _head(marker: str) -> dict[str, Any]:
    return {"format": marker, "format_version": FORMAT_VERSION, "sahcns_version": __version__}


def _read(path: Path, wanted: str, what: str) -> dict[str, Any]:
    remedy = "`sahcns tune` makes one"
    return read_marked(
        path,
        wanted,
        FORMAT_VERSION,
        missing=f"there is no {what} in {path.parent}: it has no {path.name}; {remedy}",
        again=remedy,
        foreign=f"{path} holds no {what}; {remedy}",
    )
