"""A search as plain data: every trial, the values chosen, the two files that hold them, and what a comparison takes over.

Read without torch.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

from sahcns.described import Named
from sahcns.errors import DataError, SettingError
from sahcns.files import json_lines, read_marked, write_whole
from sahcns.lab.parts import OBJECTIVE
from sahcns.lab.tune.space import end_of, short
from sahcns.plain import Setting, read_from, restored
from sahcns.settings import Between
from sahcns.version import __version__

if TYPE_CHECKING:
    from sahcns.lab.grid.job import Job

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


class Where(TypedDict, total=False):
    name: str
    fingerprint: str


class TunedFile(TypedDict, total=False):
    samplers: dict[str, dict[str, Any]] | None
    data: Where
    backbone: dict[str, Any]
    objective: dict[str, Any]
    protocol: dict[str, Any]
    code: dict[str, str]


@dataclass(frozen=True)
class Trial:
    """One trial. Its value is the best validation so far where it was cut off, and None where it was never validated.

    With several seeds the value is the mean over them, and looks and epoch are those of the first.

    state  "complete", "pruned", "failed" or "running"; "lost" if its process died and "replaced" if it was pruned before
           pruning was left: another trial takes the place of these two, and they do not count
    """

    sampler: str
    number: int
    state: Annotated[str, Literal["complete", "pruned", "failed", "running", "lost", "replaced"]]
    point: dict[str, Setting]  # searched settings that make a difference
    settings: Annotated[dict[str, Any], Pool]  # all settings of the sampler, and the searched ones of the other parts
    value: float | None
    looks: dict[int, float] = field(default_factory=dict)  # epoch → validation
    epoch: int | None = None  # of the best validation
    epochs_run: int = 0  # over all its seeds
    by_seed: dict[int, float] = field(default_factory=dict)  # the value of each, where there are several
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
    objective: Annotated[dict[str, Any], Named] = field(default_factory=OBJECTIVE.copy)
    trial_seeds: int = 1
    budget: dict[str, int] = field(default_factory=dict)  # trials for each sampler
    epoch_budget: dict[str, int] = field(default_factory=dict)  # epochs for each; none where only trials count
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
        """How many trials its search comes to: the budget, or all points where there are fewer, or what epochs allow."""
        if self.out_of_epochs(sampler):
            return len(self.of(sampler))
        size = self.sizes[sampler]
        return self.budget[sampler] if size is None else min(self.budget[sampler], size)

    def epochs(self, sampler: str) -> int:
        """Those of its trials that count, as far as they have ended."""
        return sum(trial.epochs_run for trial in self.of(sampler))

    def out_of_epochs(self, sampler: str) -> bool:
        """Whether its budget of epochs is spent, so that no further trial is begun."""
        return sampler in self.epoch_budget and self.epochs(sampler) >= self.epoch_budget[sampler]

    def spent(self, sampler: str) -> str:
        """What its finished search has come to the end of: its `trials`, its `epochs`, or the `points` that there are."""
        if not self.finished(sampler):
            return ""
        if len(self.of(sampler)) >= self.budget[sampler]:
            return "trials"
        return "epochs" if self.out_of_epochs(sampler) else "points"

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

    def ends(self, sampler: str) -> dict[str, str]:
        """At which end of its range each chosen value sits: `low`, `high`, or `` for neither and for words."""
        best = self.choice(sampler)
        point = {} if best is None else best.point
        return {name: end_of(self.spaces[sampler][name], value) for name, value in point.items()}

    def tuned(self) -> dict[str, Any]:
        """What `tuned.json` holds."""
        chosen, terms = self.chosen, ("data", "protocol", "backbone", "objective", "seed", "trial_seeds", "kernels")
        return {
            **_head(TUNED_FORMAT),
            **{name: getattr(self, name) for name in terms},
            "trials": max(self.budget.values(), default=0),
            "tried": {name: len(self.of(name)) for name in chosen},
            "epoch_budget": max(self.epoch_budget.values(), default=None),
            "epochs": {name: self.epochs(name) for name in chosen},
            "spent": {name: self.spent(name) for name in chosen},
            "samplers": chosen,
            "ends": {name: self.ends(name) for name in chosen},
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


@dataclass(frozen=True)
class Tuned:
    """One `tuned.json`; where it does not say on what set or backbone it was tuned, it holds for all."""

    source: str
    content: Mapping[str, Any]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Tuned":
        """From the file, or the folder that holds it."""
        given = Path(path) / TUNED if Path(path).is_dir() else Path(path)
        with read_from(given):
            return cls(str(path), restored(TunedFile, _read(given, TUNED_FORMAT, "tuned setting")))

    @property
    def samplers(self) -> Mapping[str, Mapping[str, Any]]:
        return self.content.get("samplers") or {}

    def fits(self, fingerprint: str, backbone: str, sampler: str) -> bool:
        """Whether it has settings of the sampler that were tuned there."""
        data, model = (self.content.get(name, {}) for name in ("data", "backbone"))
        there = data.get("fingerprint", fingerprint) == fingerprint and model.get("name", backbone) == backbone
        return there and sampler in self.samplers

    def fits_job(self, job: "Job") -> bool:
        return self.fits(job.fingerprint, job.backbone["name"], job.sampler["name"])


def tuned_for(files: Iterable[Tuned], fingerprint: str, backbone: str, sampler: str) -> dict[str, Any]:
    """The settings chosen there, of the sampler and of what it is trained with; nothing if nobody tuned it there."""
    fitting = [one for one in files if one.fits(fingerprint, backbone, sampler)]
    if len(fitting) > 1:
        first, second = fitting[0].source, fitting[1].source
        raise SettingError(f"{first} and {second} both have settings for {sampler}; give one of them")
    return {name: value for one in fitting for name, value in one.samplers[sampler].items()}


def refuse_unused(files: Iterable[Tuned], jobs: Collection["Job"]) -> None:
    """An error for a file that fits nothing that is compared: its settings would be left out in silence."""
    for one in files:
        if not any(map(one.fits_job, jobs)):
            data, backbone = one.content.get("data", {}), one.content.get("backbone", {}).get("name", "any backbone")
            on = f"{data.get('name', '')} ({data['fingerprint'][:10]})" if "fingerprint" in data else "any data"
            what = f"{', '.join(one.samplers) or 'nothing'} with {backbone} on {on}"
            raise SettingError(f"{one.source} holds settings of {what}, and none of that is compared here")


def tuned_remarks(paths: Iterable[str | os.PathLike[str]], jobs: Iterable["Job"]) -> list[str]:
    """What makes a comparison with tuned settings less fair than it looks, a sentence each.

    A sampler without settings from a file, and a file of trials on other terms than those of the jobs, or of a sampler
    whose code is another now.
    """
    files, remarks = [Tuned.read(path) for path in paths], []
    for job in jobs if files else ():
        name, here = (
            job.sampler["name"],
            {"protocol": job.protocol, "backbone": job.backbone, "objective": job.objective},
        )
        used = [one for one in files if one.fits_job(job)]
        if not used:
            where = f"{job.data_name}, {job.backbone['name']}"
            remarks.append(f"{name} has no tuned settings for {where}: its defaults, or yours, stand")
        for one in used:
            other = []
            for part, own in here.items():
                terms = dict(one.content.get(part, {}))
                for key, value in one.samplers[name].items():
                    terms |= {key.removeprefix(f"{part}."): value} if key.startswith(f"{part}.") else {}
                terms.pop("mask", None)  # of the test ranking, which no trial saw
                other += [
                    f"{term} {was} (here {own[term]})" for term, was in terms.items() if own.get(term, was) != was
                ]
            if other:
                remarks.append(f"{one.source} was tuned with {', '.join(other)}")
            if one.content.get("code", {}).get(name, job.code) != job.code:
                remarks.append(
                    f"{one.source} was tuned with another version of {name}'s code; tune it again to be sure"
                )
    return list(dict.fromkeys(remarks))


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
