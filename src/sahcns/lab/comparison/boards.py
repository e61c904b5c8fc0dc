"""Results sorted into boards: those that may share a table, and in it a row for each method and a column for each set."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sahcns.errors import SettingError, nearest
from sahcns.lab.comparison.naming import distinct_names
from sahcns.lab.grid.result import Result, Terms

READINGS = {"best": "at the best validation epoch", "last": "at the last epoch, where training stopped"}


@dataclass(frozen=True)
class Row:
    """A method: `method` is its name in the table, `sampler` the one that decides its colour.

    `variant` tells the rows of one sampler apart in figures; 0 is the one that is called like the sampler, if there is one.
    """

    backbone: str
    method: str
    sampler: str
    variant: int = 0


@dataclass(frozen=True, eq=False)
class Board:
    """Results judged alike, by one set of kernels; each data set has its own columns."""

    terms: Terms  # of the first result
    data: Mapping[str, str]  # name → fingerprint
    rows: tuple[Row, ...]  # by backbone, each in the order in which the results came
    runs: Mapping[tuple[str, Row], Mapping[int, Result]]  # (data, row) → seed → result
    reading: str = "best"  # the epoch whose metrics are shown: one of READINGS

    def __str__(self) -> str:
        """The terms, to stand below a table."""
        sets = ", ".join(f"{name} (fingerprint {mark[:10]})" for name, mark in self.data.items())
        return f"data {sets}; kernels {self.terms.kernels}; {self.trained}"

    @property
    def trained(self) -> str:
        """How all its runs were trained and judged: `protocol: batch 2048, epochs 1000, …`, and another objective than BPR."""
        told = [f"protocol: {', '.join(f'{name} {value}' for name, value in sorted(self.protocol.items()))}"]
        if self.common.get("objective", "bpr") != "bpr":
            told += [f"{name} {value}" for name, value in self.common.items() if name.startswith("objective")]
        return ", ".join(told)

    @property
    def protocol(self) -> dict[str, Any]:
        """What all its runs have in common of it."""
        own = {name: value for name, value in self.common.items() if name.startswith("protocol.")}
        return dict(self.terms.judged) | {name.removeprefix("protocol."): value for name, value in own.items()}

    @cached_property
    def common(self) -> dict[str, Any]:
        """Of what runs were trained with, all that is the same in all of them, by the names of a row's settings."""
        first, *others = (result.around for result in self.results)
        return {name: one for name, one in first.items() if all(name in each and each[name] == one for each in others)}

    @cached_property
    def differing(self) -> list[str]:
        """What rows were trained with unalike; of a backbone's settings those that differ within one place."""
        unlike = {name for result in self.results for name in result.around} - self.common.keys()
        places = [[self.around(data, row) for row in self.of(data, backbone)] for data, backbone in self.places]
        own = {name for name in unlike for rows in places if len({str(one.get(name)) for one in rows}) > 1}
        return sorted(name for name in unlike if name in own or not name.startswith("backbone."))

    def around(self, data: str, row: Row) -> dict[str, Any]:
        """What a row was trained with on a set; nothing where it was not run."""
        return next((result.around for result in self.seeds_of(data, row).values()), {})

    def own(self, row: Row) -> str:
        """`l2=0.01, backbone.depth=1`: of what differs, what the row was trained with; a value for each set if need be."""
        words = []
        for name in self.differing:
            texts = [str(around[name]) for data in self.data if name in (around := self.around(data, row))]
            if texts:
                shown = texts[:1] if len(set(texts)) == 1 else texts
                words.append(f"{name.removeprefix('protocol.')}={' / '.join(shown)}")
        return ", ".join(words)

    @property
    def backbones(self) -> list[str]:
        return list(dict.fromkeys(row.backbone for row in self.rows))

    @property
    def places(self) -> list[tuple[str, str]]:
        """Each set with each backbone: methods are held against one another within such a place."""
        return [(data, backbone) for data in self.data for backbone in self.backbones]

    @property
    def results(self) -> list[Result]:
        return [result for runs in self.runs.values() for result in runs.values()]

    @property
    def seeds(self) -> list[tuple[int, ...]]:
        """Those of each method on each set, each combination once: one, where all have the same."""
        return list(dict.fromkeys(tuple(sorted(runs)) for runs in self.runs.values()))

    def of(self, data: str, backbone: str) -> list[Row]:
        """The methods that were run there."""
        return [row for row in self.rows if row.backbone == backbone and (data, row) in self.runs]

    def seeds_of(self, data: str, row: Row) -> Mapping[int, Result]:
        """Empty where the method was not run on this set."""
        return self.runs.get((data, row), {})


def boards_of(results: Sequence[Result], reading: str = "best") -> list[Board]:
    """One board for each way of judging and kernels, in the order of first appearance."""
    if not results:
        raise SettingError("there are no results to compare; `sahcns compare` makes them")
    groups: dict[tuple[object, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.terms.judged, result.terms.kernels), []).append(result)
    changed = {place for place, codes in own_versions(results).items() if len(codes) > 1}
    return [_board(own, changed, reading) for own in groups.values()]


def own_versions(results: Iterable[Result]) -> dict[tuple[str, str], dict[str, list[Result]]]:
    """(label, backbone) → code, as rows show it → results: several codes where a user's own file was changed in between."""
    versions: dict[tuple[str, str], dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for one in results:
        versions[one.label, one.backbone["name"]][(one.code or "")[:8]].append(one)
    return versions


def results_named(results: Sequence[Result], names: Sequence[str]) -> list[Result]:
    """Those of the rows with these names, in this order; a label stands for all its rows, `sahc (pool=20)` for one."""
    rows = row_names(results)
    known = {name for one in results for name in (one.label, rows[one.key])}
    for name in names:
        if name not in known:
            raise SettingError(f"no finished run goes by {name!r}; {nearest(name, known)}")
    named = (one for name in names for one in results if name in (one.label, rows[one.key]))
    return list({one.key: one for one in named}.values())


def row_names(results: Sequence[Result]) -> dict[str, str]:
    """The key of each result → what its row is called in the table that has it."""
    boards = boards_of(results)
    return {one.key: row.method for board in boards for (_, row), runs in board.runs.items() for one in runs.values()}


def _board(results: list[Result], changed: set[tuple[str, str]], reading: str) -> Board:
    marks = [str(one.data["fingerprint"]) for one in results]
    called: dict[str, str] = {}  # fingerprint → the longest name: a run made long ago may have a shorter one
    for one, mark in zip(results, marks, strict=True):
        called[mark] = max(called.get(mark, ""), str(one.data.get("name") or "data"), key=len)
    sets = distinct_names([("", called[mark], {"data": mark[:10]}) for mark in marks])
    parts = list(zip(marks, results, strict=True))
    # A backbone with several settings is several places, each with all methods; but a row may have settings of its own.
    models = distinct_names([(f"{mark} {one.label}", one.backbone["name"], one.backbone) for mark, one in parts])
    methods = distinct_names(
        [
            (f"{mark} {model}", one.label, _settings(one, changed))
            for (mark, one), model in zip(parts, models, strict=True)
        ],
        "code",
    )
    variants: dict[str, dict[str, None]] = defaultdict(dict)  # the rows of each sampler, first the one with its name
    for one, method in sorted(zip(results, methods, strict=True), key=lambda pair: pair[1] != pair[0].sampler["name"]):
        variants[one.sampler["name"]].setdefault(method)
    runs: dict[tuple[str, Row], dict[int, Result]] = {}
    for one, data, model, method in zip(results, sets, models, methods, strict=True):
        sampler = one.sampler["name"]
        row = Row(model, method, sampler, list(variants[sampler]).index(method))
        twin = runs.setdefault((data, row), {}).setdefault(one.seed, one)
        if twin is not one and twin.test != one.test:
            where = " and ".join(str(each.path or each.key) for each in (twin, one))
            raise SettingError(
                f"two different results for {method} on {model}, {data}, seed {one.seed}: {where}; keep one"
            )
    order = list(dict.fromkeys(models))
    rows = sorted(dict.fromkeys(row for _, row in runs), key=lambda row: order.index(row.backbone))
    return Board(results[0].terms, dict(zip(sets, marks, strict=True)), tuple(rows), runs, reading)


def _settings(result: Result, changed: set[tuple[str, str]]) -> dict[str, Any]:
    """What makes a method another one: its settings, how it was trained, its code where that is the user's and was changed."""
    own = result.code is not None and (result.label, result.backbone["name"]) in changed
    around = {name: value for name, value in result.around.items() if not name.startswith("backbone.")}
    return {**result.sampler, **around, **({"code": (result.code or "")[:8]} if own else {})}
