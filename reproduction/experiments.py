"""Which runs stand behind each table and figure. Runs that two of them share are made once: a run is known by its key."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from reproduction.design import Design
from reproduction.methods import METHOD, NINE, UNTUNED, Settings, alike, equal, nine, sampler, variants
from sahcns.lab import Job, SettingError, read_manifest

Chosen = Mapping[str, Mapping[str, Settings]]
"""What tuning chose: folder of the set, or `of_all` of it → sampler → its settings."""
Methods = Mapping[str, Settings | None]
"""Label → a sampler; None waits for tuning."""

ALL = "tuning-all"  # the part in which everything is searched, and its folder
HARD = tuple(label for label in NINE if label != "RNS")  # whose pool is varied
FAILING = ("DENS", "AHNS")  # as printed they do not train on Toys, and a larger pool would show nothing
WIDE = "SAHC-Fixed, U(0, 1)"
TOP = 5  # of a pool, that DNS(M,N) chooses from
FOUR = ("RNS", "DNS", "MixGCF", METHOD)  # that protocols and splits are tried with
ARGUMENTS = {"alpha": "α", "lambda_max": "λmax", "pool": "N"}  # of Fig. 4
CHOICES: Mapping[str, Settings] = {
    "as the paper's lineage has it": {},
    "validation items masked too": {"mask": "train+valid"},
    "L2 on the real item's layer 0": {"l2_on": "real"},
    "last batch kept": {"drop_last": False},
}


@dataclass(frozen=True)
class Row:
    """One line of a table, to be run with several seeds; without a sampler it waits for tuning."""

    data: str  # folder of the set
    label: str
    sampler: Settings | None
    backbone: Settings
    protocol: Settings
    group: str = field(default="", compare=False)  # what tells it from others of its label
    many: bool = field(default=False, compare=False)  # with more seeds than its part has


@dataclass(frozen=True)
class Part:
    """A table or figure: its rows, and how many seeds they are run with."""

    title: str
    rows: Callable[[Design, Chosen], Iterator[Row]]
    seeds: Callable[[Design], int] = lambda design: design.seeds


def of_all(data: str) -> str:
    """Where `Chosen` has what was chosen for a set when everything was searched."""
    return f"{ALL}/{data}"


def seeds_of(part: Part, design: Design, row: Row) -> tuple[int, ...]:
    """Those that a row of a part is run with."""
    return design.first(max(part.seeds(design), design.many if row.many else 0))


def own_settings(chosen: Chosen, data: str) -> Settings:
    """SAHC-NS with what tuning chose for a set, or untuned."""
    return sampler("sahc", **{**chosen.get(data, {}).get("sahc", {}), "pool": 10})


def at_work(chosen: Chosen, data: str) -> Settings:
    """The same, but a part that tuning switched off by a 0 has its untuned value, for what is about the parts.

    α = 0 is HC-only and λmax = 0 is SA-only, which have rows of their own wherever this is used.
    """
    own, usual = own_settings(chosen, data), sampler("sahc")
    return {name: value or usual[name] for name, value in own.items()}


def _rows(
    design: Design, data: str, methods: Methods, group: str = "", backbone: str = "lightgcn", **changed: Any
) -> Iterator[Row]:
    for label, described in methods.items():
        yield Row(data, label, described, design.backbone(backbone), {**design.protocol, **changed}, group)


def _table_2(design: Design, chosen: Chosen) -> Iterator[Row]:
    for one in design.sets:
        own = own_settings(chosen, one.folder)
        untuned = {} if own == sampler("sahc") else {UNTUNED: sampler("sahc")}
        yield from _rows(design, one.folder, {**nine(one.like, own), **untuned})


def _equal(design: Design, chosen: Chosen) -> Iterator[Row]:
    for one in design.sets:
        yield from _rows(design, one.folder, equal(chosen.get(one.folder, {}), design.pool))


def _alike(design: Design, chosen: Chosen) -> Iterator[Row]:
    for data in (one.folder for one in design.sets):
        for label, (described, terms) in alike(chosen.get(of_all(data), {})).items():
            many = f"{data}/{label}" in design.more
            yield Row(data, label, described, design.backbone(), {**design.short, **terms}, many=many)


def _table_3(design: Design, chosen: Chosen) -> Iterator[Row]:
    for data in design.pair:
        own = at_work(chosen, data)
        yield from _rows(design, data, {**variants(own), WIDE: sampler("sahc-fixed", alpha=own["alpha"], high=1.0)})


def _table_4(design: Design, chosen: Chosen) -> Iterator[Row]:
    for name in ("ngcf", "simgcl"):
        for one in design.pair_sets:
            yield from _rows(design, one.folder, nine(one.like, own_settings(chosen, one.folder)), backbone=name)


def _figure_4(design: Design, chosen: Chosen) -> Iterator[Row]:
    values: dict[str, Sequence[float]] = {"alpha": design.grid, "lambda_max": design.grid, "pool": design.pools}
    for data in design.pair:
        for argument, tried in values.items():
            for value in tried:
                own = {**at_work(chosen, data), argument: value}
                yield from _rows(design, data, {METHOD: own}, argument)


def _power(design: Design, chosen: Chosen) -> Iterator[Row]:
    for one in map(design.data, design.powered):
        own = at_work(chosen, one.folder)
        rivals = {label: nine(one.like, own)[label] for label in ("DNS(M,N)", "MixGCF")}
        yield from _rows(design, one.folder, {**rivals, **variants(own)})


def _pools(design: Design, chosen: Chosen) -> Iterator[Row]:
    """The paper's settings but for the pool; what tuning chose with one pool where those fail."""
    printed = nine(design.data(design.single).like, at_work(chosen, design.single))
    tuned = equal(chosen.get(design.single, {}), design.pool)
    for pool in design.wide_pools:
        sized: dict[str, Settings | None] = {}
        for label in HARD:
            own = tuned[label] if label in FAILING else printed[label]
            top = {"top_k": min(TOP, pool)} if label == "DNS(M,N)" else {}
            sized[label] = None if own is None else {**own, "pool": pool, **top}
        yield from _rows(design, design.single, sized, str(pool))


def _four(design: Design, chosen: Chosen) -> Methods:
    methods = nine(design.data(design.single).like, own_settings(chosen, design.single))
    return {label: methods[label] for label in FOUR}


def _choices(design: Design, chosen: Chosen) -> Iterator[Row]:
    for words, changed in CHOICES.items():
        yield from _rows(design, design.single, _four(design, chosen), words, **changed)


def _splits(design: Design, chosen: Chosen) -> Iterator[Row]:
    for one in (design.data(design.single), *design.resplits):
        yield from _rows(design, one.folder, _four(design, chosen))


_few = attrgetter("few")
GRIDS: Mapping[str, Part] = {
    "table2": Part("Table II: nine methods", _table_2),
    "table3": Part("Table III: the parts of SAHC-NS", _table_3),
    "figure4": Part("Fig. 4: α, λmax and the size of the pool", _figure_4, _few),
    "table4": Part("Table IV: other backbones", _table_4, _few),
    "equal": Part("Equal tuning and equal pools", _equal),
    "alike": Part("Equal tuning of everything", _alike, lambda design: design.alike),
    "pools": Part("Pool size for each hard sampler", _pools, _few),
    "choices": Part("Choices of the protocol", _choices, _few),
    "splits": Part("Other splits of the same pairs", _splits, _few),
    "power": Part("High power: many seeds", _power, lambda design: design.many),
}
TITLES = {
    "tuning": "Tuning on validation",
    ALL: "Tuning of everything on validation",
    **{name: part.title for name, part in GRIDS.items()},
    "mechanisms": "Figs 1 and 5: what the samplers do inside",
    "efficiency": "What SA and HC cost",
    "baselines": "Baselines without gradient",
}
"""All parts of the study, in the order in which they are run."""


def parts_named(names: Sequence[str]) -> list[str]:
    """Those of the study's parts, or all where none is named; in the order in which they are run."""
    for name in names:
        if name not in TITLES:
            raise SettingError(f"the study has no part {name!r}; its parts are {', '.join(TITLES)}")
    return [name for name in TITLES if name in names or not names]


def job(design: Design, row: Row, folder: str | Path, fingerprint: str, seed: int) -> Job:
    """A run of a row on its set, which lies in `folder`."""
    assert row.sampler is not None
    name = design.data(row.data).name
    return Job(str(folder), fingerprint, name, row.backbone, row.sampler, row.protocol, seed, label=row.label)


def jobs(
    parts: Sequence[Part], design: Design, folders: Mapping[str, Path], chosen: Chosen, seeds: int | None = None
) -> list[Job]:
    """The runs of parts on the sets that there are, each once; seed by seed, so that what is cut short is still even."""
    prints = {data: read_manifest(folder)["fingerprint"] for data, folder in folders.items()}
    made: dict[str, Job] = {}
    for part in parts:
        rows = [row for row in part.rows(design, chosen) if row.data in folders and row.sampler is not None]
        for seed in design.first(design.many)[:seeds]:
            for row in (row for row in rows if seed in seeds_of(part, design, row)):
                one = job(design, row, folders[row.data], prints[row.data], seed)
                made.setdefault(one.key, one)
    return list(made.values())
