"""Everything that a folder of results holds of the study; read from its small files, without torch."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from reproduction.design import PAPER, STUDY, Design
from reproduction.experiments import Chosen, Row, job, part_named
from reproduction.looks import aged, costs_key, looks
from reproduction.methods import TUNABLE
from sahcns import Result
from sahcns.lab import (
    RUNS,
    TRIALS,
    Board,
    Cost,
    DataError,
    Inspection,
    PoolReadings,
    Search,
    Summary,
    boards_of,
    read_from,
    read_search,
    results_in,
    summary,
)

TUNING, DIAGNOSTICS, READINGS, EFFICIENCY = "tuning", "diagnostics", "readings", "efficiency"
KINDS = (DIAGNOSTICS, READINGS, EFFICIENCY)


@dataclass(frozen=True)
class Standing:
    """How much of a part there is."""

    found: int
    wanted: int
    what: str = "runs"

    @property
    def complete(self) -> bool:
        return self.found >= self.wanted

    def __str__(self) -> str:
        if self.complete:
            return f"{self.found} {self.what}"
        begun = "not run yet" if not self.found else "not finished"
        return f"{begun} ({self.found} of {self.wanted} {self.what})"


@dataclass(frozen=True, eq=False)
class Evidence:
    """The design of a study and what was found of it. Runs by other kernels than most of them are left out."""

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
        everything = results_in(home) if (home / RUNS).is_dir() else []
        kernels = Counter(one.machine.get("kernels", "") for one in everything).most_common(1)
        kept = [one for one in everything if one.machine.get("kernels", "") == kernels[0][0]]
        searches = {
            one.folder: read_search(home / TUNING / one.folder)
            for one in design.sets
            if (home / TUNING / one.folder / TRIALS).exists()
        }
        files = {path.stem: _read(path) for kind in KINDS for path in (home / kind).glob("*.json")}
        seen = [
            *((one.data["name"], one.data["fingerprint"]) for one in kept),
            *((design.data(name).name, search.data["fingerprint"]) for name, search in searches.items()),
            *((one["data"]["name"], one["data"]["fingerprint"]) for one in files.values()),
        ]
        chosen = {name: search.chosen for name, search in searches.items()}
        results = {one.key: one for one in kept}
        left_out = len(everything) - len(kept)
        return cls(home, design, chosen, results, searches, files, _fingerprints(home, seen), left_out)

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

    def runs(self, part: str, rows: Iterable[Row] | None = None) -> list[Result]:
        """The finished runs of a part, or of some of its rows, each under its row's label.

        Without their files: what is kept of each user beside them is no part of the study, and not in the tree.
        """
        return [
            replace(self.results[key], label=row.label, path=None)
            for row in (self.rows(part) if rows is None else rows)
            for seed in self.seeds(part)
            if (key := self.key(row, seed)) in self.results
        ]

    def board(self, part: str, rows: Iterable[Row] | None = None) -> Board | None:
        """The runs of a part, or of some rows of one protocol, as a board; None while there are none."""
        found = boards_of(runs) if (runs := self.runs(part, rows)) else []
        if len(found) > 1:
            raise ValueError("rows of several protocols do not share a board")
        return found[0] if found else None

    def cell(self, part: str, row: Row, metric: str, reading: str = "best", of: str = "test") -> Summary | None:
        """A row's metric over its seeds, of its test or its validation part; None while it has none."""
        board = self.board(part, [row])
        return summary(board, *next(iter(board.runs)), metric, reading, of) if board is not None else None

    def about(self, data: str) -> Mapping[str, Any] | None:
        """Name, fingerprint and counts of a set, from any run on it."""
        name = self.design.data(data).name
        return next((one.data for one in self.results.values() if one.data["name"] == name), None)

    @cached_property
    def seen(self) -> dict[tuple[str, str], Inspection]:
        """(folder of the set, sampler that the model was trained with) → what was seen in it."""
        found = {}
        for look in looks(self.design, self.chosen):
            key = look.key(self.fingerprint(look.data))
            if key in self.files:
                with self._reading(DIAGNOSTICS, key):
                    found[look.data, look.trained["name"]] = Inspection.from_dict(self.files[key])
        return found

    @cached_property
    def readings(self) -> dict[str, dict[int, PoolReadings]]:
        """Folder of the set → epochs of the model → what Figs 1 and 5(a) are in it, read in several ways."""
        found: dict[str, dict[int, PoolReadings]] = {}
        for one in aged(self.design):
            key = one.key(self.fingerprint(one.data))
            if key in self.files:
                with self._reading(READINGS, key):
                    found.setdefault(one.data, {})[one.age] = PoolReadings.from_dict(self.files[key]["readings"])
        return found

    @cached_property
    def costs(self) -> dict[str, Sequence[Cost]]:
        """By folder of the set: DNS, SA-only, SAHC-NS."""
        found: dict[str, Sequence[Cost]] = {}
        for one in self.design.sets:
            key = costs_key(self.design, self.chosen, one.folder, self.fingerprint(one.folder))
            if key in self.files:
                with self._reading(EFFICIENCY, key):
                    found[one.folder] = [Cost.from_dict(cost) for cost in self.files[key]["costs"]]
        return found

    def _reading(self, kind: str, key: str) -> AbstractContextManager[None]:
        return read_from(self.folder / kind / f"{key}.json")

    def standing(self, part: str) -> Standing:
        """How much of a part there is; of a grid, how many of its runs."""
        if part == "tuning":
            ended = sum(search.finished(name) for search in self.searches.values() for name in search.samplers)
            return Standing(ended, len(TUNABLE) * len(self.design.sets), "searches")
        if part == "mechanisms":
            models = len(looks(self.design, self.chosen)) + len(aged(self.design))
            read = sum(len(ages) for ages in self.readings.values())
            return Standing(len(self.seen) + read, models, "models looked into")
        if part == "efficiency":
            return Standing(len(self.costs), len(self.design.sets), "sets timed")
        wanted = {self.key(row, seed) for row in self.rows(part) for seed in self.seeds(part)}
        return Standing(sum(key in self.results for key in wanted), len(wanted))


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); delete it and run `sahcns reproduce` again") from error
    if not isinstance(values, dict) or not {"data", "format"} <= values.keys():
        raise DataError(f"{path} is no file of the study; move it elsewhere")
    return values


def _fingerprints(folder: Path, seen: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, mark in seen:
        if found.setdefault(name, mark) != mark:
            raise DataError(
                f"{folder} holds results on two different sets called {name!r} (fingerprints {found[name][:10]}… and "
                f"{mark[:10]}…); keep those of one of them"
            )
    return found
