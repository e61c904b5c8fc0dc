"""Results sorted into boards: those that may share a table, and in it a row for each method and a column for each set."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sahcns.errors import SettingError, nearest
from sahcns.lab.comparison.naming import distinct_names, frozen
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
    """Results of one protocol and one set of kernels; each data set has its own columns."""

    terms: Terms  # of the first result
    data: Mapping[str, str]  # name → fingerprint
    rows: tuple[Row, ...]  # by backbone, each in the order in which the results came
    runs: Mapping[tuple[str, Row], Mapping[int, Result]]  # (data, row) → seed → result
    reading: str = "best"  # the epoch whose metrics are shown: one of READINGS

    def __str__(self) -> str:
        """The terms, to stand below a table."""
        sets = ", ".join(f"{name} (fingerprint {mark[:10]})" for name, mark in self.data.items())
        return f"data {sets}; kernels {self.terms.kernels}; protocol: {self.protocol}"

    @property
    def protocol(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.terms.protocol)

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
    """One board for each protocol and kernels, in the order of first appearance."""
    if not results:
        raise SettingError("there are no results to compare; `sahcns compare` makes them")
    groups: dict[tuple[object, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.terms.protocol, result.terms.kernels), []).append(result)
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
    models = distinct_names([(mark, one.backbone["name"], one.backbone) for mark, one in parts])
    methods = distinct_names(
        [(mark + frozen(one.backbone), one.label, _settings(one, changed)) for mark, one in parts], "code"
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
    """What makes a method another one: its settings, and its code where that is the user's own and was changed."""
    own = result.code is not None and (result.label, result.backbone["name"]) in changed
    return {**result.sampler, **({"code": (result.code or "")[:8]} if own else {})}
