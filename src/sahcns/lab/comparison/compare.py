"""Compare samplers: every sampler on every backbone, set and seed, each run once.

outcome = compare("films", ["rns", "dns", SAHC(alpha=0.5)], out="study", seeds=5)
outcome.results[0].metric("recall@20")
"""

import contextlib
import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Union

from sahcns.backbones import Backbone
from sahcns.data.prepared import read_manifest, save_split
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.importing import import_once
from sahcns.lab.comparison.naming import frozen
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.result import Result
from sahcns.lab.grid.run import OnEvent, Outcome, run_grid
from sahcns.lab.parts import built
from sahcns.lab.places import HERE
from sahcns.lab.tune.search import Tuned, refuse_unused, tuned_for
from sahcns.objectives import BPR, Objective
from sahcns.samplers import Sampler
from sahcns.settings import Configured, class_named
from sahcns.sources import own_files
from sahcns.training import Protocol

FIRST_SEED = 2020

Data = Split | str | os.PathLike[str]
SamplerLike = Union["Contestant", Sampler, type[Sampler], str, Mapping[str, Any]]
BackboneLike = Backbone | type[Backbone] | str


@dataclass(frozen=True)
class Contestant:
    """A row of the comparison: a sampler's class, and what is fixed for it; the rest may be tuned, or is common to all.

    settings  of the sampler, and of what it is trained with: {"pool": 32, "protocol.l2": 0.01, "backbone.depth": 1,
              "objective": "sampled-softmax", "objective.temperature": 0.2}
    """

    kind: type[Sampler]
    settings: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""  # the class's name by default
    tunable: bool = True

    @classmethod
    def of(cls, given: SamplerLike, label: str = "") -> "Contestant":
        """By name, class, or as a row of a file says it; of a sampler that is made already, every setting is fixed."""
        if isinstance(given, str):
            given = cls(class_named(Sampler, given))
        elif isinstance(given, Sampler):
            given = cls(type(given), given.to_dict(), tunable=False)
        elif isinstance(given, type):
            given = cls(given)
        elif isinstance(given, Mapping):
            given = cls._of_row(dict(given))
        return dataclasses.replace(given, label=label or given.label or given.kind.name)

    @classmethod
    def _of_row(cls, row: dict[str, Any]) -> "Contestant":
        """{"name": "dns", "label": "dns-32", "pool": 32, "protocol": {"l2": 0.01}}, or "protocol.l2": 0.01."""
        if "name" not in row:
            raise SettingError(f"the row {row} has no name; give the sampler's, as in {{'name': 'dns', 'pool': 32}}")
        kind, label, settings = class_named(Sampler, row.pop("name")), row.pop("label", ""), dict[str, Any]()
        for name, value in row.items():
            own = {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, Mapping) else {name: value}
            settings |= {key.removesuffix(".name") if name == "objective" else key: one for key, one in own.items()}
        return cls(kind, settings, label)


def compare(
    data: Data | Sequence[Data],
    samplers: SamplerLike | Sequence[SamplerLike] | Mapping[str, SamplerLike],
    backbones: BackboneLike | Sequence[BackboneLike] = "lightgcn",
    *,
    out: str | os.PathLike[str],
    seeds: int | Sequence[int] = 5,
    objective: Objective | None = None,
    protocol: Protocol | None = None,
    tuned: Iterable[str | os.PathLike[str]] = (),
    kernels: str = "auto",
    imports: Iterable[str | os.PathLike[str]] = (),
    workers: int | None = None,
    on: str = HERE,
    device: str = "auto",
    on_plan: Callable[[Sequence[Job]], None] | None = None,
    on_event: OnEvent | None = None,
) -> Outcome:
    """Run what is missing of the whole grid in the folder `out`; killed or interrupted, it goes on when called again.

    data       one or more sets: prepared folders, or splits, which are stored in the folder
    samplers   names, classes or samplers; {label: …} names the rows of a table. A row with settings of its own for what it
               is trained with is {"name": "dns", "pool": 32, "protocol.l2": 0.01, "backbone.depth": 1}
    backbones  one or more, by name or as LightGCN(dim=32)
    out        the folder of results; what is in it is not run again
    seeds      how many, from 2020 on, or which; with one seed all samplers see the same start, order and pools
    objective, protocol   of every run, but for what is a row's own; BPR() and Protocol() by default
    tuned      files or folders of `sahcns tune`, for the samplers given by name or class: their settings, and what was
               chosen of the protocol, the objective and the backbone
    imports    your own files that define samplers or backbones, for other processes if there are any
    workers    runs at once; 1 is in this process, more are in processes of their own
    on         where the runs are: "here", "ray", "ray:HOST:PORT" or "slurm:NAME=VALUE,…"
    device, kernels   as of `fit`
    on_plan    is called once with all jobs, before any is run
    on_event   is called with an `Event` when a run is begun, after each of its epochs, and at its end; nothing is printed
    """
    own = tuple(map(str, imports))
    import_once(own)
    rows, models, which = rows_of(samplers), models_of(backbones), seeds_of(seeds)
    if (workers or 1) > 1 or on != HERE:
        _refuse_unreachable([*(row.kind for row in rows), *map(type, models), type(objective or BPR())], own)
    sets = [data] if isinstance(data, Split | str | os.PathLike) else list(data)
    folders = [_folder(one, Path(out)) for one in sets]
    terms: dict[str, Any] = {"objective": objective, "tuned": tuned, "kernels": kernels, "imports": own}
    jobs = plan_jobs(folders, rows, models, which, protocol or Protocol(), **terms)
    if on_plan is not None:
        on_plan(jobs)
    return _in_order(run_grid(jobs, out, workers=workers, on=on, device=device, on_event=on_event), jobs)


def plan_jobs(
    folders: Sequence[Path],
    rows: Sequence[Contestant],
    backbones: Sequence[Backbone],
    seeds: Sequence[int],
    protocol: Protocol,
    *,
    objective: Objective | None = None,
    tuned: Iterable[str | os.PathLike[str]] = (),
    kernels: str = "auto",
    imports: Iterable[str | os.PathLike[str]] = (),
) -> list[Job]:
    """The jobs of a comparison: all of one seed before the next, so that a grid in progress is a fair one."""
    for what, given in (("data", folders), ("samplers", rows), ("backbones", backbones)):
        if not given:
            raise SettingError(f"{what} is empty: there is nothing to compare")
    labels = Counter(row.label for row in rows)
    if twice := next((label for label, count in labels.items() if count > 1), None):
        raise SettingError(f"two samplers go by {twice!r}; give each a label of its own, as in {{'label': sampler}}")
    common = objective or BPR()
    classes: list[tuple[type[Configured], list[type[Any]]]] = [
        *((Sampler, [row.kind for row in rows]), (Backbone, list(map(type, backbones))), (Objective, [type(common)]))
    ]
    for base, kinds in classes:
        for kind in kinds:
            _refuse_other_class(base, kind)
    files, jobs = [Tuned.read(path) for path in tuned], dict[str, Job]()
    for folder, seed, model, row in product(folders, seeds, backbones, rows):
        fitting = files if row.tunable else []
        chosen = tuned_for(fitting, read_manifest(folder)["fingerprint"], model.name, row.kind.name)
        own = built(
            row.kind, {**chosen, **row.settings}, {"backbone": model, "objective": common, "protocol": protocol}
        )
        job = Job.of(folder, **own, seed=seed, kernels=kernels, label=row.label, imports=imports)
        twin = jobs.setdefault(job.key, job)
        if twin is not job:
            one, other = (f"{each.label} on {each.backbone['name']} and {each.data}" for each in (twin, job))
            raise SettingError(f"{one} is the same run as {other}, settings and data alike; leave one out")
    refuse_unused(files, jobs.values())
    return list(jobs.values())


def seeds_of(seeds: int | Sequence[int]) -> list[int]:
    """5 is 2020 … 2024; a list is itself."""
    if isinstance(seeds, int):
        if seeds < 1:
            raise SettingError(f"seeds={seeds} must be 1 or more, or a list of seeds such as [2020, 2021]")
        return list(range(FIRST_SEED, FIRST_SEED + seeds))
    numbers = [int(seed) for seed in seeds]
    if not numbers or min(numbers) < 0 or len(set(numbers)) < len(numbers):
        raise SettingError(f"seeds={numbers} must hold at least one seed, each 0 or more and there once")
    return numbers


def rows_of(samplers: SamplerLike | Sequence[SamplerLike] | Mapping[str, SamplerLike]) -> list[Contestant]:
    """A row for each; a dictionary's keys are their labels."""
    if isinstance(samplers, Mapping):
        return [Contestant.of(given, label) for label, given in samplers.items()]
    return [Contestant.of(given) for given in _several(samplers)]


def models_of(backbones: BackboneLike | Sequence[BackboneLike]) -> list[Backbone]:
    """By name or class with its defaults, or as it is made."""
    kinds = [class_named(Backbone, one) if isinstance(one, str) else one for one in _several(backbones)]
    return [one() if isinstance(one, type) else one for one in kinds]


def _several(given: Any) -> Sequence[Any]:
    return given if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def _in_order(outcome: Outcome, jobs: Sequence[Job]) -> Outcome:
    """Results by set, backbone and row, each in the order in which it was planned, and under the names of the plan.

    In the order of the jobs, a method whose first seed failed would come after the others; and what they are all held
    against may be the first. A row that goes by another name than before does so in its files too, which reports are
    made from.
    """
    places = [(job.fingerprint, job.backbone["name"], frozen(job.backbone), job.label) for job in jobs]
    order = list(dict.fromkeys(places))
    ranks = {job.key: order.index(place) for job, place in zip(jobs, places, strict=True)}
    for result in outcome.results:
        if result.path is not None and Result.load(result.path).label != result.label:
            result.save(outcome.folder)
    return dataclasses.replace(outcome, results=sorted(outcome.results, key=lambda result: ranks[result.key]))


def _folder(data: Data, out: Path) -> Path:
    """Where the set is; a split in memory is stored beside the results, once, for whoever goes on with them."""
    if not isinstance(data, Split):
        return Path(data)
    folder = out / "data" / data.fingerprint[:12]
    with contextlib.suppress(DataError):
        if read_manifest(folder)["fingerprint"] == data.fingerprint:
            return folder
    return save_split(data, folder)


def _refuse_other_class(base: type[Configured], kind: type[Configured]) -> None:
    """A run is built by name, in whichever process: another class of that name would be trained in its place."""
    if not kind.name:
        raise SettingError(f'{kind.__name__} needs a name to be compared, such as `name = "mine"` in its class')
    latest = class_named(base, kind.name)
    same_file = latest.__module__ != kind.__module__ and own_files(latest) == own_files(kind)  # imported a second time
    again = same_file and latest.__qualname__ == kind.__qualname__
    if latest is not kind and not again:
        raise SettingError(
            f"{kind.__name__} is not the latest class called {kind.name!r}; make it from that, or rename one of them"
        )


def _refuse_unreachable(kinds: Iterable[type], imports: Sequence[str]) -> None:
    """Other processes know what is in this package and in the files that are named to them."""
    for kind in kinds:
        home = kind.__module__
        if home.partition(".")[0] != "sahcns" and (home == "__main__" or not imports):
            raise SettingError(
                f"{kind.__name__} is defined in {home}, which other processes do not see; name its file, as in "
                "imports=['mine.py'], or run in this process alone"
            )
