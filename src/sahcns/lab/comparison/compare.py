"""Compare samplers: every sampler on every backbone, set and seed, each run once.

outcome = compare("films", ["rns", "dns", SAHC(alpha=0.5)], out="study", seeds=5)
outcome.results[0].metric("recall@20")
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from sahcns.data.prepared import read_manifest, save_split
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.importing import import_once
from sahcns.lab.comparison.naming import frozen
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.result import Result
from sahcns.lab.grid.run import OnEvent, Outcome, run_grid
from sahcns.lab.grid.sources import own_files
from sahcns.lab.tune.tuned import Tuned, refuse_unused, tuned_for

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.samplers import Sampler
    from sahcns.settings import Configured
    from sahcns.training import Protocol

FIRST_SEED = 2020

Data = Split | str | os.PathLike[str]
Given = Union["Contestant", "Sampler", "type[Sampler]", str]


@dataclass(frozen=True)
class Contestant:
    """A row of the comparison: a sampler's class, and those of its settings that are told; the others may be tuned."""

    kind: "type[Sampler]"
    settings: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""  # the class's name unless told

    @classmethod
    def of(cls, given: Given, label: str = "") -> "Contestant":
        """By name or class; of a sampler that is made already, every setting is told."""
        from sahcns.samplers import Sampler
        from sahcns.settings import class_named

        if isinstance(given, str):
            given = cls(class_named(Sampler, given))
        elif isinstance(given, Sampler):
            given = cls(type(given), given.to_dict())
        elif isinstance(given, type):
            given = cls(given)
        return dataclasses.replace(given, label=label or given.label or given.kind.name)


def compare(
    data: Data | Sequence[Data],
    samplers: Sequence[Given] | Mapping[str, Given],
    backbones: "Backbone | str | Sequence[Backbone | str]" = "lightgcn",
    *,
    out: str | os.PathLike[str],
    seeds: int | Sequence[int] = 5,
    protocol: "Protocol | None" = None,
    tuned: Iterable[str | os.PathLike[str]] = (),
    kernels: str = "auto",
    imports: Iterable[str | os.PathLike[str]] = (),
    workers: int = 1,
    device: str = "auto",
    on_event: OnEvent | None = None,
) -> Outcome:
    """Run what is missing of the whole grid in the folder `out`; killed or interrupted, it goes on when called again.

    data       one or more sets: prepared folders, or splits, which are stored in the folder
    samplers   names, classes or samplers; {label: …} names the rows of a table
    backbones  one or more, by name or as LightGCN(dim=32)
    out        the folder of results; what is in it is not run again
    seeds      how many, from 2020 on, or which; with one seed all samplers see the same start, order and pools
    protocol   of every run; Protocol() unless told
    tuned      files or folders of `sahcns tune`, for the samplers given by name or class
    imports    your own files that define samplers or backbones, for other processes if there are more workers than 1
    workers    processes to share the work; 1 is this one
    device, kernels   as of `fit`
    on_event   is called with an `Event` when a run is begun, after each of its epochs, and at its end; nothing is printed
    """
    from sahcns.training import Protocol

    own = tuple(map(str, imports))
    import_once(own)
    rows, models, which = rows_of(samplers), models_of(backbones), seeds_of(seeds)
    if workers > 1:
        _refuse_unreachable([*(row.kind for row in rows), *map(type, models)], own)
    if protocol is not None and not isinstance(protocol, Protocol):
        raise SettingError(f"protocol={protocol!r} must be a Protocol, such as Protocol(epochs=40)")
    sets = [data] if isinstance(data, Split | str | os.PathLike) else list(data)
    for one in sets:
        if not isinstance(one, Split | str | os.PathLike):
            raise SettingError(
                f"data is of type {type(data).__name__}; give a Split or a prepared folder, or a list of them"
            )
    folders = [_folder(one, Path(out)) for one in sets]
    jobs = planned(folders, rows, models, which, protocol or Protocol(), tuned=tuned, kernels=kernels, imports=own)
    return as_planned(run_grid(jobs, out, workers=workers, device=device, on_event=on_event), jobs)


def planned(
    folders: Sequence[Path],
    rows: Sequence[Contestant],
    backbones: "Sequence[Backbone]",
    seeds: Sequence[int],
    protocol: "Protocol",
    *,
    tuned: Iterable[str | os.PathLike[str]] = (),
    kernels: str = "auto",
    imports: Iterable[str | os.PathLike[str]] = (),
) -> list[Job]:
    """The jobs of a comparison: all of one seed before the next, so that a grid in progress is a fair one."""
    from sahcns.backbones import Backbone
    from sahcns.samplers import Sampler

    for what, there in (("data", folders), ("samplers", rows), ("backbones", backbones)):
        if not there:
            raise SettingError(f"{what} is empty: there is nothing to compare")
    _refuse_others(Sampler, (row.kind for row in rows))
    _refuse_others(Backbone, map(type, backbones))
    _refuse_like_labels(rows)
    files, own = [Tuned.read(path) for path in tuned], tuple(imports)
    jobs = []
    for folder in folders:
        fingerprint = read_manifest(folder)["fingerprint"]
        for seed in seeds:
            for model in backbones:
                for row in rows:
                    chosen = tuned_for(files, fingerprint, model.name, row.kind.name)
                    sampler = row.kind.from_dict({**chosen, **row.settings})
                    made = Job.of(folder, model, sampler, protocol, seed, kernels=kernels, label=row.label, imports=own)
                    jobs.append(made)
    refuse_unused(files, jobs)
    _refuse_twins(jobs)
    return jobs


def as_planned(outcome: Outcome, jobs: Sequence[Job]) -> Outcome:
    """Results by set, backbone and row, each in the order in which it was planned, and under the names of the plan.

    In the order of the jobs, a method whose first seed failed would come after the others; and what they are all held
    against may be the first. A row that goes by another name than before does so in its files too, which reports are
    made from.
    """
    ways: list[Callable[[Job], str]] = [
        lambda job: job.fingerprint,
        lambda job: frozen(job.backbone),
        lambda job: job.label,
    ]
    orders = [list(dict.fromkeys(map(way, jobs))) for way in ways]
    ranks = {job.key: [order.index(way(job)) for way, order in zip(ways, orders, strict=True)] for job in jobs}
    for result in outcome.results:
        if result.path is not None and Result.load(result.path).label != result.label:
            result.save(outcome.folder)
    return dataclasses.replace(outcome, results=sorted(outcome.results, key=lambda result: ranks[result.key]))


def seeds_of(seeds: int | Sequence[int]) -> list[int]:
    """5 is 2020 … 2024; a list is itself."""
    if isinstance(seeds, int):
        if seeds < 1:
            raise SettingError(f"seeds={seeds} must be 1 or more, or a list of seeds such as [2020, 2021]")
        return list(range(FIRST_SEED, FIRST_SEED + seeds))
    found = [int(seed) for seed in seeds]
    if not found or min(found) < 0 or len(set(found)) < len(found):
        raise SettingError(f"seeds={list(seeds)} must hold at least one seed, each 0 or more and there once")
    return found


def rows_of(samplers: Sequence[Given] | Mapping[str, Given]) -> list[Contestant]:
    """A row for each; a dictionary's keys are their labels."""
    if isinstance(samplers, str):
        raise SettingError(f"samplers={samplers!r} must be a list, such as [{samplers!r}, …]")
    pairs = samplers.items() if isinstance(samplers, Mapping) else [("", given) for given in samplers]
    return [Contestant.of(given, label) for label, given in pairs]


def models_of(backbones: "Backbone | str | Sequence[Backbone | str]") -> "list[Backbone]":
    """By name with its defaults, or as it is made."""
    from sahcns.backbones import Backbone
    from sahcns.settings import by_name

    given = [backbones] if isinstance(backbones, Backbone | str | type) else backbones
    made = [by_name(Backbone, one, {}) if isinstance(one, str) else one for one in given]
    for one in made:
        if not isinstance(one, Backbone):
            shown = one.__name__ if isinstance(one, type) else repr(one)
            raise SettingError(f"backbones: {shown} must be a name or a Backbone, such as LightGCN(dim=32)")
    return made


def _refuse_others(base: "type[Configured]", kinds: "Iterable[type[Configured]]") -> None:
    """A run is built by name, in whichever process: another class of that name would be trained in its place."""
    from sahcns.settings import class_named

    for kind in kinds:
        if not kind.name:
            raise SettingError(f'{kind.__name__} needs a name to be compared, such as `name = "mine"` in its class')
        latest = class_named(base, kind.name)
        twice = latest.__module__ != kind.__module__ and own_files(latest) == own_files(kind)  # one file, run again
        if latest is not kind and not (twice and latest.__qualname__ == kind.__qualname__):
            raise SettingError(
                f"{kind.__name__} is not the latest class called {kind.name!r}; make it from that, or rename one of them"
            )


def _folder(data: Data, out: Path) -> Path:
    """Where the set is; a split in memory is stored beside the results, once, for whoever goes on with them."""
    if not isinstance(data, Split):
        return Path(data)
    folder = out / "data" / data.fingerprint[:12]
    try:
        there = read_manifest(folder)["fingerprint"] == data.fingerprint
    except DataError:
        there = False
    return folder if there else save_split(data, folder)


def _refuse_unreachable(kinds: Iterable[type], imports: tuple[str, ...]) -> None:
    """Other processes know what is in this package and in the files that are named to them."""
    for kind in kinds:
        home = kind.__module__
        if home.partition(".")[0] != "sahcns" and (home == "__main__" or not imports):
            raise SettingError(
                f"{kind.__name__} is defined in {home}, which other processes do not see; name its file, as in "
                "imports=['mine.py'], or use workers=1"
            )


def _refuse_like_labels(rows: Iterable[Contestant]) -> None:
    labels = [row.label for row in rows]
    for label in labels:
        if labels.count(label) > 1:
            raise SettingError(
                f"two samplers go by {label!r}; give each a label of its own, as in {{'label': sampler}}"
            )


def _refuse_twins(jobs: Iterable[Job]) -> None:
    seen: dict[str, Job] = {}
    for job in jobs:
        twin = seen.setdefault(job.key, job)
        if twin is not job:
            one, other = (f"{each.label} on {each.backbone['name']} and {each.data}" for each in (twin, job))
            raise SettingError(f"{one} is the same run as {other}, settings and data alike; leave one out")
