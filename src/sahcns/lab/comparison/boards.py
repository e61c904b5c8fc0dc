"""Results sorted into boards: those that may share a table, and in it a row for each method and a column for each set."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sahcns.errors import SettingError, nearest
from sahcns.lab.comparison.naming import distinct_names, frozen
from sahcns.lab.grid.result import Result


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

    protocol: tuple[tuple[str, Any], ...]  # sorted by name
    kernels: str
    data: Mapping[str, str]  # name → fingerprint
    rows: tuple[Row, ...]  # by backbone, each in the order in which the results came
    runs: Mapping[tuple[str, Row], Mapping[int, Result]]  # (data, row) → seed → result

    def __str__(self) -> str:
        """The terms, to stand below a table."""
        sets = ", ".join(f"{name} (fingerprint {mark[:10]})" for name, mark in self.data.items())
        protocol = ", ".join(f"{name} {value}" for name, value in self.protocol)
        return f"data {sets}; kernels {self.kernels}; protocol: {protocol}"

    @property
    def backbones(self) -> list[str]:
        return list(dict.fromkeys(row.backbone for row in self.rows))

    @property
    def places(self) -> list[tuple[str, str]]:
        """Each set with each backbone: methods are held against one another within such a place."""
        return [(data, backbone) for data in self.data for backbone in self.backbones]

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(row.method for row in self.rows))

    @property
    def results(self) -> list[Result]:
        return [result for runs in self.runs.values() for result in runs.values()]

    def of(self, backbone: str) -> list[Row]:
        return [row for row in self.rows if row.backbone == backbone]

    def seeds(self, data: str, row: Row) -> Mapping[int, Result]:
        """Empty where the method was not run on this set."""
        return self.runs.get((data, row), {})

    def timed(self, data: str, row: Row) -> Mapping[int, Result]:
        """Those whose seconds may be compared: of all runs on the set, the ones that shared the machine with the fewest."""
        everywhere = [run for (name, _), runs in self.runs.items() if name == data for run in runs.values()]
        least = min((run.processes for run in everywhere), default=1)
        return {seed: run for seed, run in self.seeds(data, row).items() if run.processes == least}

    def row(self, backbone: str, method: str) -> Row | None:
        return next((row for row in self.of(backbone) if row.method == method), None)


def boards_of(results: Sequence[Result]) -> list[Board]:
    """One board for each protocol and kernels, in the order of first appearance."""
    if not results:
        raise SettingError("there are no results to compare; `sahcns compare` makes them")
    groups: dict[tuple[tuple[tuple[str, Any], ...], str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.terms.protocol, result.terms.kernels), []).append(result)
    changed = {place for place, codes in own_versions(results).items() if len(codes) > 1}
    return [_board(protocol, kernels, own, changed) for (protocol, kernels), own in groups.items()]


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


def refuse_unknown(boards: Sequence[Board], argument: str, method: str | None) -> None:
    """A name that is in none of the boards is a mistake."""
    known = {one for board in boards for one in board.methods}
    if method is not None and method not in known:
        raise SettingError(f"{argument}={method!r} is not among the methods; {nearest(method, known)}")


def _board(
    protocol: tuple[tuple[str, Any], ...], kernels: str, results: list[Result], changed: set[tuple[str, str]]
) -> Board:
    set_names: dict[str, str] = {}  # fingerprint → the longest name: a run made long ago may have a shorter one
    for one in results:
        name = str(one.data.get("name") or "data")
        set_names[_set(one)] = max(set_names.get(_set(one), ""), name, key=len)
    sets = distinct_names([("", set_names[_set(one)], {"data": _set(one)[:10]}) for one in results])
    models = distinct_names([(_set(one), one.backbone["name"], one.backbone) for one in results])
    settings = [_settings(one, changed) for one in results]
    methods = distinct_names(
        [(_set(one) + frozen(one.backbone), one.label, own) for one, own in zip(results, settings, strict=True)], "code"
    )
    rivals: dict[str, dict[str, None]] = defaultdict(dict)  # the rows of each sampler; first the one that has its name
    for one, own in zip(results, settings, strict=True):
        if methods[one.label, frozen(own)] == one.sampler["name"]:
            rivals[one.label][one.label] = None
    data: dict[str, str] = {}
    runs: dict[tuple[str, Row], dict[int, Result]] = {}
    for one, own in zip(results, settings, strict=True):
        name = sets[set_names[_set(one)], frozen({"data": _set(one)[:10]})]
        data[name] = one.data["fingerprint"]
        method, variants = methods[one.label, frozen(own)], rivals[one.sampler["name"]]
        variants.setdefault(method)
        model = models[one.backbone["name"], frozen(one.backbone)]
        row = Row(model, method, one.sampler["name"], list(variants).index(method))
        twin = runs.setdefault((name, row), {}).setdefault(one.seed, one)
        if twin is not one and twin.test != one.test:
            where = " and ".join(str(each.path or each.key) for each in (twin, one))
            raise SettingError(
                f"two different results for {row.method} on {row.backbone}, {name}, seed {one.seed}: {where}; keep one"
            )
    rows = list(dict.fromkeys(row for _, row in runs))
    order = list(dict.fromkeys(row.backbone for row in rows))
    return Board(protocol, kernels, data, tuple(sorted(rows, key=lambda row: order.index(row.backbone))), runs)


def _set(result: Result) -> str:
    return str(result.data["fingerprint"])


def _settings(result: Result, changed: set[tuple[str, str]]) -> dict[str, Any]:
    """What makes a method another one: its settings, and its code where that is the user's own and was changed."""
    own = result.code is not None and (result.label, result.backbone["name"]) in changed
    return {**result.sampler, **({"code": (result.code or "")[:8]} if own else {})}
