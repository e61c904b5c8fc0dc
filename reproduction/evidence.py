"""Everything that a folder of results holds of the study; read from its small files, without torch."""

import json
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from reproduction.design import PAPER, STUDY, Design
from reproduction.experiments import ALL, GRIDS, TITLES, Chosen, Row, job, of_all, seeds_of
from reproduction.measurements import KINDS, Measurement, aged_models, baselines, looks, timings
from reproduction.methods import ALL_TUNED, AT_20, BASELINES, METHOD, RECALL, TUNABLE, UNTUNED
from reproduction.published import PrintedNumbers, printed
from reproduction.readings import PoolReadings
from reproduction.scores import Scores
from sahcns import Result
from sahcns.lab import Cost, DataError, Inspection, Search, read_search, results_in

TUNING = "tuning"
BACKBONES = {"lightgcn": "", "ngcf": "NGCF, ", "simgcl": "SimGCL, "}
Runs = Mapping[int, Result]
"""The runs of one row by seed."""
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class NotRun(Exception):
    """What a claim or a reason needs was not run yet."""


class Lookup(dict[Key, Value]):
    """A mapping of what was run."""

    def __missing__(self, key: Key) -> Value:
        raise NotRun(key)


Twins = dict[str, Lookup[str, Scores]]
"""Metric → label → the metric over seeds."""


class Place(NamedTuple):
    """Where methods are held against one another: a part of the study, a set, a backbone, and how runs are read."""

    part: str
    data: str  # folder of the set
    backbone: str = "lightgcn"
    reading: str = "best"


class Progress(NamedTuple):
    """How much of a part there is."""

    there: int
    wanted: int
    unit: str = "runs"

    @property
    def complete(self) -> bool:
        return self.there >= self.wanted

    def __str__(self) -> str:
        return f"{self.there} of {self.wanted} {self.unit}"


@dataclass(frozen=True, eq=False)
class Evidence:
    """The design of a study and its results."""

    design: Design
    chosen: Chosen
    results: Mapping[str, Result]  # by key
    searches: Mapping[str, Search]  # by folder of the set, and `of_all` of it where everything is searched
    files: Mapping[str, Mapping[str, Any]]  # of measurements, by key
    prints: Mapping[str, str]  # name of a set → its fingerprint

    @classmethod
    def of(cls, folder: str | os.PathLike[str]) -> "Evidence":
        """By FOLDER/study.json, or as the paper's study where there is none."""
        home = Path(folder)
        design = Design.load(home) if (home / STUDY).exists() else PAPER
        results = {one.key: one for one in (results_in(home) if (home / "runs").is_dir() else [])}
        homes = {one.folder: home / TUNING / one.folder for one in design.sets}
        homes |= {(name := of_all(one.folder)): home / name for one in design.sets}
        searches = {data: read_search(one) for data, one in homes.items() if (one / "trials.json").exists()}
        files = {path.stem: _read(path) for kind in KINDS for path in (home / kind).glob("*.json")}
        chosen = {name: search.chosen for name, search in searches.items()}
        marks = [
            (design.data(name.rpartition("/")[2]).name, search.data["fingerprint"]) for name, search in searches.items()
        ]
        about = [*(one.data for one in results.values()), *(one["data"] for one in files.values())]
        prints: dict[str, str] = {}
        for name, mark in [*((one["name"], one["fingerprint"]) for one in about), *marks]:
            if prints.setdefault(name, mark) != mark:
                both = f"{name!r} (fingerprints {prints[name][:10]}… and {mark[:10]}…)"
                raise DataError(f"{home} holds results on two different sets called {both}; keep those of one of them")
        return cls(design, chosen, results, searches, files, prints)

    @cached_property
    def on_known_sets(self) -> "Evidence":
        """The same with a design of the sets that results are there of, so that absent ones are not waited for."""
        design = self.design
        sets = tuple(one for one in design.sets if one.name in self.prints)
        known = {one.folder for one in sets}
        if design.single not in known:
            return self
        pair, powered = (tuple(name for name in names if name in known) for names in (design.pair, design.powered))
        return replace(self, design=replace(design, sets=sets, pair=pair, powered=powered))

    def key(self, row: Row, seed: int) -> str:
        """The name of a run; on a set that nothing is known of yet, one that no file has."""
        if row.sampler is None:
            return f"waits for tuning: {row.data} {row.label} {seed}"
        return job(self.design, row, row.data, self.fingerprint(row.data), seed).key

    def fingerprint(self, data: str) -> str:
        return self.prints.get(self.design.data(data).name, f"unknown {data}")

    def rows(self, part: str) -> list[Row]:
        return list(GRIDS[part].rows(self.design, self.chosen))

    def seeds(self, part: str, row: Row | None = None) -> tuple[int, ...]:
        """Those of a part; of a row of it, which may have more."""
        found = GRIDS[part]
        return self.design.first(found.seeds(self.design)) if row is None else seeds_of(found, self.design, row)

    @cached_property
    def runs(self) -> dict[str, list[tuple[Row, Runs]]]:
        """Part → its rows that were run, each with its finished runs."""
        found: dict[str, list[tuple[Row, Runs]]] = {part: [] for part in GRIDS}
        for part, there in found.items():
            shared = self.design.seeds if part == "power" else 0  # many seeds are more than those of Table II
            for row in self.rows(part):
                keys = {seed: self.key(row, seed) for seed in self.seeds(part, row)}
                runs = {seed: self.results[key] for seed, key in keys.items() if key in self.results}
                if len(runs) > shared:
                    there.append((row, runs))
        return found

    def timed(self, data: str) -> Lookup[str, Runs]:
        """Method → its runs of Table II whose seconds may be compared: those that shared the machine with the fewest."""
        rows = {row.label: runs for row, runs in self.runs["table2"] if row.data == data and row.label != UNTUNED}
        least = min((run.processes for runs in rows.values() for run in runs.values()), default=1)
        alone = {label: {s: run for s, run in runs.items() if run.processes == least} for label, runs in rows.items()}
        return Lookup({label: runs for label, runs in alone.items() if runs})

    def labelled(self, part: str) -> list[Result]:
        """The runs of a part under the names of its rows; what two rows share, once."""
        runs: dict[str, Result] = {}
        for row, own in self.runs[part]:
            for run in own.values():
                runs.setdefault(run.key, replace(run, label=row.label))
        if METHOD not in {run.label for run in runs.values()}:
            raise NotRun(part)
        return list(runs.values())

    def places(self, part: str, reading: str = "best") -> list[Place]:
        """Every set and backbone of a part, in the order of its rows."""
        found = dict.fromkeys((row.data, row.backbone["name"]) for row in self.rows(part))
        return [Place(part, *one, reading) for one in found]

    def name(self, place: Place) -> str:
        """`Amazon-toys`, `NGCF, Amazon-toys`."""
        return BACKBONES[place.backbone] + self.design.data(place.data).name

    def printed(self, place: Place) -> PrintedNumbers:
        """What the paper prints for a place; nothing where it prints nothing."""
        one = self.design.data(place.data)
        return printed(place.part, one.like, place.backbone) if one.printed else {}

    def methods(self, place: Place, metric: str) -> Lookup[str, Scores]:
        """Label → a metric over seeds; SAHC-NS untuned is left out."""
        here = [
            (row.label, runs)
            for row, runs in self.runs[place.part]
            if (row.data, row.backbone["name"]) == (place.data, place.backbone) and row.label != UNTUNED
        ]
        return Lookup({label: Scores.of(runs, metric, place.reading) for label, runs in here})

    def cells(self, places: Sequence[Place], metrics: Sequence[str]) -> dict[tuple[Place, str], Lookup[str, Scores]]:
        """(place, metric) → the methods there."""
        return {(place, metric): self.methods(place, metric) for place in places for metric in metrics}

    def at_20(self, place: Place) -> Twins:
        """Metric → the methods at a place."""
        return {metric: self.methods(place, metric) for metric in AT_20}

    def groups(self, part: str) -> Lookup[str, Twins]:
        """Group → the methods in it, for parts whose rows are told apart by a group."""
        groups: Lookup[str, Twins] = Lookup()
        for row, runs in self.runs[part]:
            for metric, methods in groups.setdefault(row.group, {one: Lookup() for one in AT_20}).items():
                methods[row.label] = Scores.of(runs, metric)
        return groups

    def sweep(self, data: str, argument: str, reading: str = "best", of: str = "test") -> Lookup[float, Scores]:
        """Fig. 4: value of the argument → Recall@20 of SAHC-NS over seeds, for what was run."""
        there = [
            (row.sampler or {}, runs) for row, runs in self.runs["figure4"] if (row.data, row.group) == (data, argument)
        ]
        return Lookup({float(own[argument]): Scores.of(runs, RECALL, reading, of) for own, runs in there})

    def untuned(self, data: str) -> Twins:
        """Table II with the untuned values of SAHC-NS, where tuning chose others."""
        methods = self.at_20(Place("table2", data))
        for runs in (runs for row, runs in self.runs["table2"] if (row.data, row.label) == (data, UNTUNED)):
            methods = {metric: Lookup({**own, METHOD: Scores.of(runs, metric)}) for metric, own in methods.items()}
        return methods

    def measured(self, wanted: Iterable[Measurement]) -> Iterator[tuple[Measurement, Mapping[str, Any]]]:
        """The measurements that are there, each with its file."""
        for one in wanted:
            if (key := one.key(self.fingerprint(one.data))) in self.files:
                yield one, self.files[key]

    @cached_property
    def inspections(self) -> Lookup[tuple[str, str], Inspection]:
        """(folder of the set, sampler that the model was trained with) → what was seen in it."""
        there = self.measured(looks(self.design, self.chosen))
        return Lookup({(one.data, one.about): Inspection.from_dict(values) for one, values in there})

    @cached_property
    def readings(self) -> Lookup[str, dict[int, PoolReadings]]:
        """Folder of the set → epochs of the model → what Figs 1 and 5(a) are in it, read in several ways."""
        readings: Lookup[str, dict[int, PoolReadings]] = Lookup()
        for one, values in self.measured(aged_models(self.design)):
            readings.setdefault(one.data, {})[one.about] = values["readings"]
        return readings

    @cached_property
    def costs(self) -> Lookup[str, Sequence[Cost]]:
        """By folder of the set: DNS, SA-only, SAHC-NS."""
        there = self.measured(timings(self.design, self.chosen))
        return Lookup({one.data: [Cost.from_dict(cost) for cost in values["costs"]] for one, values in there})

    @cached_property
    def baselines(self) -> Lookup[str, Lookup[str, Mapping[str, Any]]]:
        """Folder of the set → baseline → its file: what was tried, chosen and reached."""
        found: Lookup[str, Lookup[str, Mapping[str, Any]]] = Lookup()
        for one, values in self.measured(baselines(self.design)):
            found.setdefault(one.data, Lookup())[one.about] = values
        return found

    @cached_property
    def progress(self) -> dict[str, Progress]:
        """How much of each part there is."""
        return {part: self._progress(part) for part in TITLES}

    def _progress(self, part: str) -> Progress:
        if part in (TUNING, ALL):
            names, count = ([one.folder for one in self.design.sets], len(TUNABLE))
            if part == ALL:
                names, count = [of_all(name) for name in names], len(ALL_TUNED)
            there = [self.searches[name] for name in names if name in self.searches]
            ended = sum(one.finished(name) for one in there for name in one.samplers)
            return Progress(ended, count * len(names), "searches")
        if part == "mechanisms":
            models = [*looks(self.design, self.chosen), *aged_models(self.design)]
            return Progress(sum(1 for _ in self.measured(models)), len(models), "models looked into")
        if part == "efficiency":
            return Progress(len(self.costs), len(self.design.sets), "sets timed")
        if part == "baselines":
            return Progress(sum(map(len, self.baselines.values())), len(BASELINES) * len(self.design.sets), "searches")
        wanted = {self.key(row, seed) for row in self.rows(part) for seed in self.seeds(part, row)}
        return Progress(sum(key in self.results for key in wanted), len(wanted))


def _read(path: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return {"data": values["data"], **values}
    except (OSError, ValueError, KeyError, TypeError) as error:
        words = f"{path} is no file of the study ({error!r}); delete it and run `make reproduce` again"
        raise DataError(words) from error
