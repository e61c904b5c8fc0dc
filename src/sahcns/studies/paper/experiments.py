"""Which runs stand behind each table and figure. Runs that two of them share are made once: a run is known by its key."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sahcns.backbones import NGCF, Backbone, LightGCN, SimGCL
from sahcns.errors import SettingError, nearest
from sahcns.samplers import DNS, DNSMN, MixGCF, SAHCFixed, Sampler
from sahcns.studies.job import Job
from sahcns.studies.paper.methods import METHOD, ML1M, SETS, TOYS, YELP, nine, own_settings, variants
from sahcns.training import Protocol

SEEDS = (2020, 2021, 2022, 2023, 2024)
MANY_SEEDS = tuple(range(2020, 2050))
GRID = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # of α and of λmax
POOLS = (5, 10, 20, 30, 50)
WIDE_POOLS = (5, 10, 20, 50, 100, 200)

Tuned = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """One line of a table, to be run with several seeds."""

    data: str
    label: str
    sampler: Sampler
    backbone: Backbone = LightGCN()
    protocol: Protocol = Protocol()


@dataclass(frozen=True)
class Experiment:
    """A table or figure: its rows, and the seeds they are run with."""

    name: str
    title: str
    rows: Callable[[Tuned], Iterator[Row]]
    seeds: tuple[int, ...] = SEEDS


def _table_2(tuned: Tuned) -> Iterator[Row]:
    for data in SETS:
        for label, sampler in nine(data, own_settings(tuned, data)).items():
            yield Row(data, label, sampler)


def _table_3(tuned: Tuned) -> Iterator[Row]:
    for data in (TOYS, YELP):
        own = own_settings(tuned, data)
        for label, sampler in variants(own).items():
            yield Row(data, label, sampler)
        yield Row(data, "SAHC-Fixed, U(0, 1)", SAHCFixed(alpha=own.alpha, high=1.0))


def _table_4(tuned: Tuned) -> Iterator[Row]:
    for backbone in (NGCF(), SimGCL()):
        for data in (TOYS, YELP):
            for label, sampler in nine(data, own_settings(tuned, data)).items():
                yield Row(data, label, sampler, backbone)


def _figure_4(tuned: Tuned) -> Iterator[Row]:
    for data in (TOYS, YELP):
        own = own_settings(tuned, data)
        yield from (Row(data, METHOD, replace(own, alpha=value)) for value in GRID)
        yield from (Row(data, METHOD, replace(own, lambda_max=value)) for value in GRID)
        yield from (Row(data, METHOD, replace(own, pool=pool)) for pool in POOLS)


def _power(tuned: Tuned) -> Iterator[Row]:
    for data in (TOYS, ML1M):
        own, pool = own_settings(tuned, data), nine(data)
        yield from (Row(data, label, pool[label]) for label in ("DNS(M,N)", "MixGCF"))
        yield from (Row(data, label, sampler) for label, sampler in variants(own).items())


def _pools(tuned: Tuned) -> Iterator[Row]:
    own = own_settings(tuned, TOYS)
    for pool in WIDE_POOLS:
        yield Row(TOYS, "DNS", DNS(pool=pool))
        yield Row(TOYS, "DNS(M,N)", DNSMN(pool=pool, top_k=min(5, pool)))
        yield Row(TOYS, "MixGCF", MixGCF(pool=pool))
        yield Row(TOYS, METHOD, replace(own, pool=pool))


def _choices(tuned: Tuned) -> Iterator[Row]:
    own = own_settings(tuned, TOYS)
    methods = nine(TOYS, own)
    for protocol in (Protocol(), Protocol(mask="train+valid"), Protocol(l2_on="real"), Protocol(drop_last=False)):
        for label in ("RNS", "DNS", "MixGCF", METHOD):
            yield Row(TOYS, label, methods[label], protocol=protocol)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment("table2", "Table II: nine methods on three sets", _table_2),
    Experiment("table3", "Table III: the parts of SAHC-NS", _table_3),
    Experiment("figure4", "Fig. 4: α, λmax and the size of the pool", _figure_4, SEEDS[:3]),
    Experiment("table4", "Table IV: other backbones", _table_4, SEEDS[:3]),
    Experiment("pools", "Pool size for each hard sampler", _pools, SEEDS[:3]),
    Experiment("choices", "Choices of the protocol", _choices, SEEDS[:3]),
    Experiment("power", "High power: thirty seeds", _power, MANY_SEEDS),
)


def experiment(name: str) -> Experiment:
    """By its name; a misspelt one gets the nearest right one."""
    for one in EXPERIMENTS:
        if one.name == name:
            return one
    raise SettingError(f"the study has no part {name!r}; {nearest(name, [one.name for one in EXPERIMENTS])}")


def jobs(
    one: Experiment, folders: Mapping[str, Path], tuned: Tuned | None = None, seeds: Sequence[int] = ()
) -> list[Job]:
    """The runs of an experiment on the sets that there are; seed by seed, so that what is cut short is still even."""
    rows = [row for row in one.rows(tuned or {}) if row.data in folders]
    made: dict[str, Job] = {}
    for seed in seeds or one.seeds:
        for row in rows:
            job = Job.of(folders[row.data], row.backbone, row.sampler, row.protocol, seed, label=row.label)
            made.setdefault(job.key, replace(job, data_name=SETS[row.data]))
    return list(made.values())
