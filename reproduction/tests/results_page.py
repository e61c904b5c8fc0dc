"""What docs/results.md says, and the runs of results/ that it says it of.

Nothing that a later run may change stands here: what tuning chose comes from the searches, how many seeds a table has
from the page itself.
"""

import re
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

from reproduction.design import FIRST_SEED, PAPER
from reproduction.evidence import Evidence
from reproduction.experiments import at_work, own_settings
from reproduction.leading import AT_20
from reproduction.methods import METHOD, Settings, equal, nine, sampler, variants
from sahcns.lab.grid.result import Result
from sahcns.ranking.significance import Paired, paired_t

ROOT = Path(__file__).parents[2]
SETS = {one.name: one for one in PAPER.sets}
TOYS, YELP, ML1M = SETS
WORDS = {"Three": 3, "Five": 5, "Thirty": 30}
RECALL, NDCG = "recall@20", "ndcg@20"
EQUAL = "Equal tuning, equal pools"  # a section
Table = list[list[str]]


@cache
def evidence() -> Evidence:
    return Evidence.of(ROOT / "reproduction" / "results")


def readme() -> str:
    return (ROOT / "README.md").read_text("utf-8")


@cache
def sections() -> dict[str, str]:
    """Title → text; what stands above the first of them under `Results`."""
    page = (ROOT / "docs" / "results.md").read_text("utf-8")
    return dict(re.findall(r"^##? (.+)\n((?:(?!##? ).*\n)*)", page, re.MULTILINE))


def tables(section: str) -> list[Table]:
    """The tables of a section, each a list of rows of cells, the header first."""
    found = re.findall(r"^(\|.*\|)\n\|[-|]+\|\n((?:\|.*\|\n)+)", sections()[section], re.MULTILINE)
    return [
        [[cell.strip() for cell in row.split("|")[1:-1]] for row in (head, *rows.splitlines())] for head, rows in found
    ]


def seeds_of(section: str) -> int:
    """`Three seeds`, with which a section begins: how many its tables have."""
    found = re.match(rf"\n({'|'.join(WORDS)}) seeds\b", sections()[section])
    assert found is not None, section
    return WORDS[found[1]]


def runs(data: str, described: Settings | None, seeds: int, backbone: str = "lightgcn") -> list[Result]:
    """The first seeds of one setting on one set, with the protocol's defaults; all of them are there."""
    found = [
        one
        for one in evidence().results.values()
        if (one.data["name"], one.sampler) == (data, described)
        and (one.backbone, one.protocol) == (PAPER.backbone(backbone), PAPER.protocol)
        and one.seed < FIRST_SEED + seeds
    ]
    assert {one.seed for one in found} == {*range(FIRST_SEED, FIRST_SEED + seeds)}, (data, described)
    assert len(found) == seeds
    return sorted(found, key=lambda one: one.seed)


def values(metric: str, reading: str, *where: Any, **which: Any) -> list[float]:
    return [one.metric(metric, reading) for one in runs(*where, **which)]


def between(
    metric: str, data: str, first: Settings | None, second: Settings | None, seeds: int, *, reading: str = "best"
) -> Paired:
    """First − second, paired by seed."""
    return paired_t(values(metric, reading, data, first, seeds), values(metric, reading, data, second, seeds))


def points(metric: str, *where: Any, reading: str = "best", **which: Any) -> float:
    """A mean over seeds, in percent."""
    return 100 * mean(values(metric, reading, *where, **which))


def ours(*where: Any, reading: str = "best", **which: Any) -> str:
    """`13.30 / 7.51`: Recall@20 and NDCG@20 in percent, means over seeds."""
    return " / ".join(f"{points(metric, *where, reading=reading, **which):.2f}" for metric in AT_20)


def own_of(data: str) -> Settings:
    """SAHC-NS with what validation chose."""
    return own_settings(evidence().chosen, SETS[data].folder)


def as_published(data: str, label: str) -> Settings:
    """The paper's settings, and those of SAHC-NS that validation chose."""
    return nine(SETS[data].like, own_of(data))[label]


def as_tuned(data: str, label: str) -> Settings | None:
    """What validation chose for each, with one pool."""
    return equal(evidence().chosen[SETS[data].folder], PAPER.pool)[label]


def untuned(data: str, label: str) -> Settings:
    """As published; of SAHC-NS nothing is."""
    return sampler("sahc") if label == METHOD else as_published(data, label)


def in_parts(data: str) -> Settings:
    """SAHC-NS with both of its parts at work."""
    return at_work(evidence().chosen, SETS[data].folder)


def strengths(own: Settings) -> str:
    return f"α = {own['alpha']:g}, λmax = {own['lambda_max']:g}"


def variant(data: str, label: str) -> Settings:
    """DNS(M,N), MixGCF or one of Table III."""
    return {**nine(SETS[data].like, in_parts(data)), **variants(in_parts(data))}[label]
