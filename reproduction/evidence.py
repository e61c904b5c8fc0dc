"""Everything that a folder of results holds of the study; read from its small files, without torch."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from reproduction.design import PAPER, STUDY, Design
from reproduction.experiments import GRIDS, TITLES, Chosen, Row, job, part_named
from reproduction.measurements import DIAGNOSTICS, EFFICIENCY, READINGS, aged_models, cost_key, looks
from reproduction.methods import TUNABLE, UNTUNED
from reproduction.readings import PoolReadings
from reproduction.scores import Scores
from sahcns import Result
from sahcns.lab import Cost, DataError, Inspection, Search, read_search, results_in

TUNING = "tuning"
Runs = Mapping[int, Result]
"""The runs of one row by seed."""


Key = TypeVar("Key")
Value = TypeVar("Value")


class NotRun(Exception):
    """What a claim or a reason needs was not run yet."""


class Lookup(dict[Key, Value]):
    """A mapping of what was run."""

    def __missing__(self, key: Key) -> Value:
        raise NotRun(key)


@dataclass(frozen=True)
class Progress:
    """How much of a part there is."""

    count: int
    wanted: int
    unit: str = "runs"

    @property
    def complete(self) -> bool:
        return self.count >= self.wanted

    @property
    def state(self) -> str:
        return "complete" if self.complete else "not finished" if self.count else "not run yet"


@dataclass(frozen=True, eq=False)
class Evidence:
    """The design of a study and its results. Runs by other kernels than most of them are left out."""

    folder: Path
    design: Design
    chosen: Chosen
    results: Mapping[str, Result]  # by key
    searches: Mapping[str, Search]  # by folder of the set
    files: Mapping[str, Mapping[str, Any]]  # of diagnostics, readings and efficiency, by key
    prints: Mapping[str, str]  # name of a set → its fingerprint
    left_out: int = 0  # runs by other kernels

    @classmethod
    def of(cls, folder: str | os.PathLike[str]) -> "Evidence":
        """By FOLDER/study.json, or as the paper's study where there is none."""
        home = Path(folder)
        design = Design.load(home) if (home / STUDY).exists() else PAPER
        everything = results_in(home) if (home / "runs").is_dir() else []
        kernels = Counter(one.machine.get("kernels", "") for one in everything).most_common(1)
        kept = [one for one in everything if one.machine.get("kernels", "") == kernels[0][0]]
        searches = {
            one.folder: read_search(home / TUNING / one.folder)
            for one in design.sets
            if (home / TUNING / one.folder / "trials.json").exists()
        }
        kinds = (DIAGNOSTICS, READINGS, EFFICIENCY)
        files = {path.stem: _read(path) for kind in kinds for path in (home / kind).glob("*.json")}
        marks = [
            *((one.data["name"], one.data["fingerprint"]) for one in kept),
            *((design.data(name).name, search.data["fingerprint"]) for name, search in searches.items()),
            *((one["data"]["name"], one["data"]["fingerprint"]) for one in files.values()),
        ]
        chosen = {name: search.chosen for name, search in searches.items()}
        results = {one.key: one for one in kept}
        left_out = len(everything) - len(kept)
        return cls(home, design, chosen, results, searches, files, _fingerprints(home, marks), left_out)

    def on_known_sets(self) -> "Evidence":
        """The same with a design of the sets that results are there of, so that absent ones are not waited for."""
        design = self.design
        sets = tuple(one for one in design.sets if one.name in self.prints)
        if not sets or design.single not in (one.folder for one in sets):
            return self
        known = {one.folder for one in sets}
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
        return list(part_named(part).rows(self.design, self.chosen))

    def seeds(self, part: str) -> tuple[int, ...]:
        return self.design.first(part_named(part).seeds(self.design))

    @cached_property
    def _runs(self) -> dict[str, list[tuple[Row, Runs]]]:
        """Part → its rows, each with its finished runs."""
        return {
            part.name: [
                (
                    row,
                    {
                        seed: self.results[key]
                        for seed in self.seeds(part.name)
                        if (key := self.key(row, seed)) in self.results
                    },
                )
                for row in self.rows(part.name)
            ]
            for part in GRIDS
        }

    def runs(self, part: str) -> list[tuple[Row, Runs]]:
        """The rows of a part that were run, each with its runs; SAHC-NS untuned is left out."""
        return [(row, runs) for row, runs in self._runs[part] if runs and row.label != UNTUNED]

    def methods(
        self, part: str, data: str, metric: str, reading: str = "best", backbone: str = "lightgcn"
    ) -> Lookup[str, Scores]:
        """Label → a metric over seeds, for the rows of a part on one set that were run, in the order of the table."""
        return Lookup(
            {
                row.label: _scores(runs, metric, reading)
                for row, runs in self.runs(part)
                if (row.data, row.backbone["name"]) == (data, backbone)
            }
        )

    def groups(self, part: str, data: str, metric: str) -> Lookup[tuple[str, str], Scores]:
        """(label, group) → a metric over seeds, for parts whose rows are told apart by a group."""
        return Lookup(
            {(row.label, row.group): _scores(runs, metric) for row, runs in self.runs(part) if row.data == data}
        )

    def sweep(
        self, data: str, argument: str, metric: str, reading: str = "best", of: str = "test"
    ) -> Lookup[float, Scores]:
        """Fig. 4: value of the argument → a metric of SAHC-NS over seeds, for what was run."""
        return Lookup(
            {
                float(row.sampler[argument]): _scores(runs, metric, reading, of)
                for row, runs in self.runs("figure4")
                if (row.data, row.group) == (data, argument) and row.sampler is not None
            }
        )

    def untuned(self, data: str, metric: str) -> Scores | None:
        """SAHC-NS with α = 0.3 and λmax = 0.5 in Table II, where tuning chose other values."""
        rows = (runs for row, runs in self._runs["table2"] if (row.data, row.label) == (data, UNTUNED) and runs)
        return next((_scores(runs, metric) for runs in rows), None)

    def about(self, data: str) -> Mapping[str, Any]:
        """Name, fingerprint and counts of a set, from any run on it."""
        known: Lookup[str, Mapping[str, Any]] = Lookup({one.data["name"]: one.data for one in self.results.values()})
        return known[self.design.data(data).name]

    @cached_property
    def inspections(self) -> Lookup[tuple[str, str], Inspection]:
        """(folder of the set, sampler that the model was trained with) → what was seen in it."""
        keys = {
            (one.data, one.trained["name"]): one.key(self.fingerprint(one.data))
            for one in looks(self.design, self.chosen)
        }
        return Lookup(
            {place: Inspection.from_dict(self.files[key]) for place, key in keys.items() if key in self.files}
        )

    @cached_property
    def readings(self) -> Lookup[str, dict[int, PoolReadings]]:
        """Folder of the set → epochs of the model → what Figs 1 and 5(a) are in it, read in several ways."""
        readings: Lookup[str, dict[int, PoolReadings]] = Lookup()
        for one in aged_models(self.design):
            key = one.key(self.fingerprint(one.data))
            if key in self.files:
                readings.setdefault(one.data, {})[one.age] = PoolReadings.from_dict(self.files[key]["readings"])
        return readings

    @cached_property
    def costs(self) -> Lookup[str, Sequence[Cost]]:
        """By folder of the set: DNS, SA-only, SAHC-NS."""
        keys = {
            one.folder: cost_key(self.design, self.chosen, one.folder, self.fingerprint(one.folder))
            for one in self.design.sets
        }
        return Lookup(
            {
                data: [Cost.from_dict(cost) for cost in self.files[key]["costs"]]
                for data, key in keys.items()
                if key in self.files
            }
        )

    @cached_property
    def progress(self) -> dict[str, Progress]:
        """How much of each part there is."""
        return {part: self._progress(part) for part in TITLES}

    def _progress(self, part: str) -> Progress:
        if part == "tuning":
            ended = sum(search.finished(name) for search in self.searches.values() for name in search.samplers)
            return Progress(ended, len(TUNABLE) * len(self.design.sets), "searches")
        if part == "mechanisms":
            models = len(looks(self.design, self.chosen)) + len(aged_models(self.design))
            read = sum(len(ages) for ages in self.readings.values())
            return Progress(len(self.inspections) + read, models, "models looked into")
        if part == "efficiency":
            return Progress(len(self.costs), len(self.design.sets), "sets timed")
        wanted = {self.key(row, seed) for row in self.rows(part) for seed in self.seeds(part)}
        return Progress(sum(key in self.results for key in wanted), len(wanted))


def _scores(runs: Runs, metric: str, reading: str = "best", of: str = "test") -> Scores:
    return Scores({seed: run.metric(metric, reading, of) for seed, run in sorted(runs.items())})


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); delete it and run `make reproduce` again") from error
    if not isinstance(values, dict) or not {"data", "format"} <= values.keys():
        raise DataError(f"{path} is no file of the study; move it elsewhere")
    return values


def _fingerprints(folder: Path, marks: Iterable[tuple[str, str]]) -> dict[str, str]:
    prints: dict[str, str] = {}
    for name, mark in marks:
        if prints.setdefault(name, mark) != mark:
            raise DataError(
                f"{folder} holds results on two different sets called {name!r} (fingerprints {prints[name][:10]}… and "
                f"{mark[:10]}…); keep those of one of them"
            )
    return prints
