"""From rows as they were read to one row a pair: events, missing values, returns, rating, window, duplicates, block by block.

Rows that fit into memory are one block, in file order. Of others (`stored.py`) a block has all rows of some users, by user,
item and then the column `row`, their place in the files. What a step needs of all rows is gathered on the way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.data.filters import (
    Mask,
    Rows,
    chunks,
    decay,
    distinct,
    sort_pairs,
    take_back,
    time_order,
    weigh,
    within_years,
)
from sahcns.data.interactions import FEW_KINDS, NAT, Events
from sahcns.data.recipe import TIMED, Recipe
from sahcns.data.splitting import Steps
from sahcns.data.stored import Stored
from sahcns.errors import DataError

ORDER = ("read", "events", "missing", "returns", "rating", "window")
SIDES = ("users", "items")
MOST = 2**31 - 1  # rows of a split, whose numbers are int32


@dataclass
class Sift:
    """The steps of a recipe up to the duplicates, what they left, and their counts.

    source   of the rows, as `Interactions` has it
    name     what an error calls them
    sizes    how many users and items there are
    total    how many rows
    stored   where the rows lie on disk
    """

    recipe: Recipe
    events: InitVar[Events | None]
    source: Mapping[str, Any]
    name: str
    sizes: tuple[int, int]
    total: int
    stored: Stored | None = None
    aside: list[Rows] = field(default_factory=list)  # what returns, rating and window took out
    columns: dict[str, list[npt.NDArray[Any]]] = field(default_factory=dict)  # of what is left

    def __post_init__(self, events: Events | None) -> None:
        chosen = self.recipe.events
        self.kinds = None if chosen is None or events is None else events.choose(chosen, self.name)
        self.kept = {} if events is None else events.counts(self.kinds)
        self.left_out = {} if events is None or self.kinds is None else events.counts(~self.kinds)
        self.rows = dict.fromkeys(ORDER, 0)
        self.reached = [np.zeros(size, np.uint8) for size in self.sizes]  # the last of the steps that left them a row
        self.lost: dict[str, int] = {}
        self.returns = self.sent_back = self.left = 0
        self.whole = True  # whether the block at hand is all rows
        self.ratings, self.times = (np.inf, -np.inf), (np.iinfo(np.int64).max, NAT)  # from … to

    def needed(self) -> set[str]:
        """The columns that the steps look at."""
        timed = self.recipe.split in TIMED
        return {
            "rating",
            "quantity",
            *(["time"] if timed or self.recipe.years or self.recipe.half_life else []),
            *(["past", "row"] if timed else []),
            *(["event"] if self.kinds is not None else []),
            *(["price"] if self.recipe.weight == "price" else []),
        }

    def take(self, blocks: Iterator[Rows]) -> None:
        """All blocks. Nobody else should hold on to their columns: each goes once its step is done."""
        steps = (self._events, self._missing, self._returns, self._rating, self._window)
        for rows in blocks:
            self.rows["read"] += len(rows)
            self.whole = len(rows) == self.total
            reached = [np.zeros(size, np.uint8) for size in self.sizes]
            for level, step in enumerate(steps, 1):
                fewer = step(rows)
                if len(fewer) < len(rows):
                    _mark(reached, rows, level - 1)
                rows = fewer
                self.rows[ORDER[level]] += len(rows)
            if not self.whole or len(rows) < self.total:  # else everybody is left anyway
                _mark(reached, rows, len(steps))
                for former, now in zip(self.reached, reached, strict=True):
                    np.maximum(former, now, out=former)
            del fewer, reached
            if self.recipe.split in TIMED:
                rows = replace(rows, when=time_order(rows.columns["time"], rows.columns.get("past")))
                if self.stored is None:  # else it is the order within the block, and the times go on to the disk
                    rows = rows.drop("past", *(() if self.recipe.half_life else ("time",)))
            rows = sort_pairs(rows)
            if self.recipe.weight is not None or self.recipe.half_life is not None:
                rows = weigh(rows, self.recipe.weight, self.recipe.half_life is not None)
            rows = rows.keep(distinct(rows, self.recipe.duplicates))
            if self.stored is not None and self.recipe.split in TIMED:
                self.stored.put_times(self.left, rows)
                rows = replace(rows, when=None).drop("time", "past", "row")
            self.left += len(rows)
            for name, column in {"users": rows.users, "items": rows.items, "when": rows.when, **rows.columns}.items():
                if column is not None:
                    self.columns.setdefault(name, []).append(column)

    def finish(self) -> Rows:
        """What is left, sorted by user, then item; the columns that the split looks at."""
        if self.left > MOST:
            raise DataError(
                f"{self.left:,} rows of {self.name} are left, and a set holds at most {MOST:,}; narrow its recipe"
            )
        columns = dict[str, npt.NDArray[Any]]()
        for name in [*self.columns]:  # one after the other
            parts = self.columns.pop(name)
            columns[name] = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if self.stored is not None and self.recipe.split in TIMED:
            columns["when"] = self.stored.places(self.left)
        if self.recipe.half_life is not None:
            columns["weight"] = decay(columns["weight"], columns.pop("last"), self.recipe.half_life)
        return Rows(columns.pop("users"), columns.pop("items"), columns.pop("when", None), columns)

    def record(self, steps: Steps) -> None:
        """Each step with its rule and counts; the first that left nothing, or lacked what it needs, is an error."""
        recipe = self.recipe
        self._record(steps, "read", "all rows")
        if recipe.events is not None:
            # Who has only viewed a thing may well be recommended it, so these rows are left out and not set aside.
            self._record(steps, "events", ", ".join(recipe.events))
        elif 1 < len(self.kept) <= FEW_KINDS:
            self._record(steps, "events", f"off, {len(self.kept)} kinds alike")
        if steps.done[-1]["step"] == "events":
            steps.done[-1] |= {"kept": self.kept, "left_out": self.left_out}
        if self.lost:
            self._record_missing(steps)
        if self.returns or self.sent_back:
            remedy = "all was returned; leave quantities out with quantity=0"
            self._record(steps, "returns", f"{self.returns:,} taken back", remedy)
        (low, high), rule = self.ratings, "off"
        if recipe.min_rating is not None:
            rule = f"rating ≥ {recipe.min_rating:g}"
        elif low < high:
            rule = f"off, {low:g} to {high:g} alike"
        self._record(steps, "rating", rule, f"its ratings run from {low:g} to {high:g}, so lower min_rating")
        rule, remedy = "off", ""
        if recipe.years is not None:
            first, last = np.array(self.times).astype("datetime64[s]").astype("datetime64[D]")
            rule = f"years {recipe.years[0]}–{recipe.years[1]}"
            remedy = f"its times run from {first} to {last}, so choose other years"
        self._record(steps, "window", rule, remedy)

    def _record(self, steps: Steps, step: str, rule: str, remedy: str = "") -> None:
        level = ORDER.index(step)
        users, items = (int(np.count_nonzero(each >= level)) for each in self.reached)
        steps.record(step, rule, self.rows[step], (users, items), remedy)

    def _record_missing(self, steps: Steps) -> None:
        """Rows that lack what a step needs are left out where they were read leniently; else one is an error."""
        lost = {role: self.lost[role] for role, _ in needs(self.recipe) if role in self.lost}
        for role, setting in needs(self.recipe):
            if role in lost and not self.source.get("lenient"):
                entry = self.source.get("missing", {}).get(role)
                first = f", the first in line {entry['first_line']:,} of {entry['file']}" if entry else ""
                raise DataError(
                    f"{setting} needs {role}s, and {lost[role]:,} rows of {self.name} have none{first}; fill them in, "
                    "or read with lenient to leave such rows out"
                )
        rule = ", ".join(f"{rows:,} without {role}" for role, rows in lost.items())
        self._record(steps, "missing", rule, "fill them in")

    def _events(self, rows: Rows) -> Rows:
        return rows if self.kinds is None else rows.keep(self.kinds[rows.columns["event"]]).drop("event")

    def _missing(self, rows: Rows) -> Rows:
        for role, _ in needs(self.recipe):
            if (column := rows.columns.get(role)) is not None:
                absent = (column == NAT) if role == "time" else np.isnan(column)
                if count := int(np.count_nonzero(absent)):
                    self.lost[role] = self.lost.get(role, 0) + count
                    rows = rows.keep(~absent)
        return rows

    def _returns(self, rows: Rows) -> Rows:
        if "quantity" not in rows.columns:
            return rows
        rows, back, returns = take_back(rows)
        self.returns += returns
        self.sent_back += len(back)
        self._set_aside(back)
        return rows if self.recipe.weight in ("quantity", "price") else rows.drop("quantity")

    def _rating(self, rows: Rows) -> Rows:
        if (ratings := rows.columns.get("rating")) is None:
            return rows
        low, high = self.ratings
        self.ratings = np.fmin.reduce(ratings, initial=low), np.fmax.reduce(ratings, initial=high)
        if self.recipe.min_rating is not None:
            mask = ratings >= np.float32(self.recipe.min_rating)
            self._set_aside(rows, ~mask)
            rows = rows.keep(mask)
        return rows if self.recipe.weight == "rating" else rows.drop("rating")

    def _window(self, rows: Rows) -> Rows:
        if self.recipe.years is None:
            return rows
        times, (first, last) = rows.columns["time"], self.times
        self.times = min(first, int(times.min(initial=first))), max(last, int(times.max(initial=last)))
        mask = within_years(times, self.recipe.years)
        self._set_aside(rows, ~mask)
        # Which of several equal pairs stays is only seen by a split that looks at the time; else times end here.
        return (rows if self.recipe.split in TIMED or self.recipe.half_life else rows.drop("time")).keep(mask)

    def _set_aside(self, rows: Rows, mask: Mask | None = None) -> None:
        bare = rows.bare() if mask is None else rows.bare().keep(mask)
        if not self.whole:  # of a log's many rows each pair once is enough
            bare = sort_pairs(bare)
            bare = bare.keep(bare.starts())
        self.aside.append(bare)


def needs(recipe: Recipe) -> list[tuple[str, str]]:
    """Which roles the settings need."""
    wanted = [
        ("event", "events", recipe.events is not None),
        ("rating", "min_rating", recipe.min_rating is not None),
        ("time", "years", recipe.years is not None),
        ("time", "split", recipe.split in TIMED),
        ("time", "half_life", recipe.half_life is not None),
        (recipe.weight or "", "weight", recipe.weight not in (None, "rows")),
    ]
    return [(role, f"{name}={getattr(recipe, name)!r}") for role, name, needed in wanted if needed]


def _mark(reached: list[npt.NDArray[np.uint8]], rows: Rows, level: int) -> None:
    for side, marks in zip(SIDES, reached, strict=True):
        column = getattr(rows, side)
        for part in chunks(len(rows)):
            marks[column[part]] = level
