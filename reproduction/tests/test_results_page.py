"""Every table of ours in docs/results.md is what the runs in results/ give."""

import re
from functools import cache
from typing import Any

import pytest

from reproduction.design import PAPER
from reproduction.experiments import HARD
from reproduction.leading import AT_20
from reproduction.methods import METHOD, NINE, TUNABLE, sampler, variants
from reproduction.published import TABLE_2, TABLE_3, TABLE_4
from reproduction.tests.results_page import (
    ML1M,
    SETS,
    TOYS,
    YELP,
    as_published,
    as_tuned,
    between,
    evidence,
    in_parts,
    ours,
    runs,
    sections,
    seeds_of,
    strengths,
    tables,
    untuned,
    variant,
)
from sahcns.lab.comparison.contrasts import ALPHA
from sahcns.lab.comparison.naming import long_name, number
from sahcns.ranking.significance import Paired, holm

LOOKED = ("epoch", "recall@20")
STAR = r"\*"  # as Markdown writes it
POWERED = ("DNS(M,N)", "MixGCF", *(one for one in variants(sampler("sahc")) if one != "SAHC w/o Discrepancy"))


def recall(*where: Any, reading: str = "best", **which: Any) -> str:
    return ours(*where, reading=reading, **which).split()[0]


def printed(data: str, label: str) -> str:
    numbers = TABLE_2[SETS[data].like][label]
    return f"{numbers['recall@20'][0]:.2f} / {numbers['ndcg@20'][0]:.2f}"


def test_nine_methods() -> None:
    section = "Nine methods on three sets"
    best, last = tables(section)
    seeds = seeds_of(section)
    assert [row[0] for row in best[1:]] == [row[0] for row in last[1:]] == [*NINE]
    for label, toys, paper_toys, yelp, ml1m, paper_ml1m in best[1:]:
        assert [toys, yelp, ml1m] == [ours(data, as_published(data, label), seeds) for data in SETS]
        assert [paper_toys, paper_ml1m] == [printed(data, label) for data in (TOYS, ML1M)]
    for label, *cells in last[1:]:
        assert cells == [ours(data, as_published(data, label), seeds, reading="last") for data in SETS]


def test_what_tuning_chose() -> None:
    (head, *rows), *_ = tables("Equal tuning, equal pools")
    assert head[1:] == [*SETS]
    assert [NINE[label] for label, *_ in rows] == [name for name in NINE.values() if name in TUNABLE]
    for label, *cells in rows:
        for data, cell in zip(head[1:], cells, strict=True):
            chosen = dict(evidence().chosen[SETS[data].folder][NINE[label]])
            assert chosen.pop("pool") == PAPER.pool
            told = [
                f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in chosen.items()
            ]
            assert cell == ", ".join(told), (label, data)


def test_equal_tuning() -> None:
    """Columns are a set, then the same untuned; below it the tuned ones where they stopped."""
    section = "Equal tuning, equal pools"
    _, (head, *rows), (below, *stopped) = tables(section)
    seeds = seeds_of(section)
    assert [label for label, *_ in rows] == [label for label, *_ in stopped] == [*NINE]
    assert (head, below) == ([""] + [column for data in SETS for column in (data, "untuned")], ["", *SETS])
    for label, *cells in rows:
        found = []
        for data in SETS:
            ps = {metric: p for (where, whose, metric), p in moved(seeds).items() if (where, whose) == (data, label)}
            found.append(marked(ours(data, as_tuned(data, label), seeds), ps))
            found.append(ours(data, untuned(data, label), seeds) if NINE[label] in TUNABLE else "")
        assert cells == found, label
    for label, *cells in stopped:
        assert cells == [ours(data, as_tuned(data, label), seeds, reading="last") for data in SETS], label


@cache
def moved(seeds: int) -> dict[tuple[str, str, str], float]:
    """(set, method, metric) → p of tuned against untuned, after Holm over all of the table, whatever the set."""
    tests = {
        (data, label, metric): between(metric, data, as_tuned(data, label), untuned(data, label), seeds).p
        for data in SETS
        for label, name in NINE.items()
        if name in TUNABLE
        for metric in AT_20
    }
    return dict(zip(tests, holm([*tests.values()]), strict=True))


def marked(text: str, ps: dict[str, float]) -> str:
    """`13.54* / 7.73*`."""
    pairs = zip(text.split(" / "), AT_20, strict=True)
    return " / ".join(value + STAR * (ps.get(metric, 1.0) < ALPHA) for value, metric in pairs)


def test_pools() -> None:
    section = "The size of the pool"
    ((head, *rows),) = tables(section)
    assert [label for label, *_ in rows] == [*HARD]
    settings = {(row.label, f"N = {row.group}"): row.sampler for row in evidence().rows("pools")}
    for label, *cells in rows:
        assert cells == [ours(TOYS, settings[label, size], seeds_of(section)) for size in head[1:]]
    bns, divns = (as_published(TOYS, label)["lam"] for label in ("BNS", "DivNS"))
    assert all(settings[label, "N = 10"] == as_published(TOYS, label) for label in ("BNS", "DivNS"))
    assert f"BNS and DivNS are as the paper has them (λ = {bns:g}, λ = {divns:g})" in sections()[section]
    assert all(settings[label, "N = 10"] == as_tuned(TOYS, label) for label in ("DENS", "AHNS"))


def test_pools_on_yelp_like() -> None:
    section = "The size of the pool"
    sentence = re.search(
        r"^SAHC-NS on Yelp-like .* with ([\d, and]+): ([\d., ]+)\.$", sections()[section], re.MULTILINE
    )
    assert sentence is not None
    sizes = [int(size) for size in re.findall(r"\d+", sentence[1])]
    found = [recall(YELP, {**in_parts(YELP), "pool": size}, seeds_of(section)) for size in sizes]
    assert sentence[2].split(", ") == found


def test_parts() -> None:
    ((head, *rows),) = tables("SAHC-NS without one of its parts")
    where = re.findall(r"([\w-]+), (\d+) seeds", " ".join(head))
    assert [data for data, _ in where] == [TOYS, YELP, ML1M]
    for name, toys, paper, yelp, ml1m, *stopped in rows:
        label = name.split(",")[0]
        for reading, cells in (("best", [toys, yelp, ml1m]), ("last", stopped)):
            assert cells == [ours(data, variant(data, label), int(seeds), reading=reading) for data, seeds in where]
        assert paper == "{:.2f} / {:.2f}".format(*TABLE_3["amazon-toys"][label])


@pytest.mark.parametrize("section", ["Thirty seeds on Amazon-toys", "Thirty seeds on ML-1m"])
def test_intervals(section: str) -> None:
    data = section.split()[-1]
    assert section.split()[0] == sections()[section].split()[0]
    assert f"each minus SAHC-NS ({strengths(in_parts(data))}) in points" in sections()[section]
    ((head, *rows),) = tables(section)
    assert head[1:] == [long_name(metric) for metric in AT_20]
    labels = [label for label, *_ in rows]
    assert {*labels, METHOD} == {*POWERED}
    tests = {
        (label, metric): between(metric, data, variant(data, label), variant(data, METHOD), seeds_of(section))
        for label in labels
        for metric in AT_20
    }
    ps = dict(zip(tests, holm([one.p for one in tests.values()]), strict=True))
    for label, *cells in rows:
        assert cells == [interval(tests[label, metric], ps[label, metric]) for metric in AT_20], label


def interval(paired: Paired, p: float) -> str:
    """`+0.30* (+0.24 to +0.35)`."""
    by, low, high = (number(100 * value, sign=True) for value in (paired.difference, paired.low, paired.high))
    return f"{by}{STAR * (p < ALPHA)} ({low} to {high})"


def test_strengths() -> None:
    section = "How much of each part"
    ((head, *rows),) = tables(section)
    data, varied = "", ""
    for name, *cells in rows:
        if not name.startswith("…"):
            data = TOYS if TOYS in name else YELP
            alpha, most = (f"{in_parts(data)[setting]:g}" for setting in ("alpha", "lambda_max"))
            varied = "alpha" if name.startswith("α") else "lambda_max"
            assert name == (f"α, {data} (λmax = {most})" if varied == "alpha" else f"λmax, {data} (α = {alpha})")
        reading = "last" if name.startswith("…") else "best"
        settings = [{**in_parts(data), varied: float(value)} for value in head[1:]]
        assert cells == [recall(data, one, seeds_of(section), reading=reading) for one in settings]


@pytest.mark.parametrize(("backbone", "first"), [("ngcf", 1), ("simgcl", 4)])
def test_other_backbones(backbone: str, first: int) -> None:
    ((_, *rows),) = tables("Other backbones")
    seeds = seeds_of("Other backbones")
    for label, *cells in rows:
        toys, paper, yelp = cells[first - 1 : first + 2]
        assert [toys, yelp] == [
            ours(data, as_published(data, label), seeds, backbone=backbone) for data in (TOYS, YELP)
        ]
        assert paper == "{:.2f} / {:.2f}".format(*TABLE_4[backbone][label][:2])


def test_dens_on_ml_1m() -> None:
    ((head, *rows),) = tables("DENS on ML-1m")
    for name, label in (("γ = 0.01 (the paper's)", "DENS"), ("DNS", "DNS")):
        looks = dict(
            zip(*(runs(ML1M, as_published(ML1M, label), 1)[0].history["looks"][key] for key in LOOKED), strict=True)
        )
        assert [name, *(f"{100 * looks[int(epoch)]:.2f}" for epoch in head[1:])] in rows
    losses = runs(ML1M, as_published(ML1M, "DENS"), 1)[0].history["loss"]
    assert f"to {losses[30]:.2f} at epoch 30" in sections()["DENS on ML-1m"]
