"""docs/results.md says what the runs in results/ say: every table of ours is made again from them."""

import re
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from sahcns.studies.grid.result import Result, results_in
from sahcns.studies.paper.design import PAPER
from sahcns.studies.paper.methods import NINE, sampler, variants
from sahcns.studies.paper.published import TABLE_2, TABLE_3, TABLE_4
from sahcns.training import Protocol

ROOT = Path(__file__).parents[1]
TOYS, YELP, ML1M = "Amazon-toys", "Yelp-like", "ML-1m"
TUNED: dict[str, dict[str, Any]] = {
    TOYS: {"alpha": 0.0, "lambda_max": 0.1},
    YELP: {"alpha": 0.1, "lambda_max": 0.9},
    ML1M: {"alpha": 0.3, "lambda_max": 0.5},
}
PARTS: dict[str, dict[str, Any]] = {
    TOYS: {"alpha": 0.3, "lambda_max": 0.1, "high": 0.1},
    YELP: {"alpha": 0.1, "lambda_max": 0.9, "high": 0.9},
}
NAMES = {**NINE, **{label: one["name"] for label, one in variants(sampler("sahc")).items()}}
LIKE = {one.name: one.like for one in PAPER.sets}


@cache
def runs() -> list[Result]:
    """Those of the protocol's defaults."""
    return [one for one in results_in(ROOT / "results") if one.protocol == Protocol().to_dict()]


@cache
def tables() -> list[list[list[str]]]:
    """The tables of the page, each a list of rows of cells, the header first."""
    text = (ROOT / "docs" / "results.md").read_text("utf-8")
    found = re.findall(r"^(\|.*\|)\n\|[-|]+\|\n((?:\|.*\|\n)+)", text, re.MULTILINE)
    return [
        [[cell.strip() for cell in row.split("|")[1:-1]] for row in (head, *rows.splitlines())] for head, rows in found
    ]


def ours(data: str, label: str, seeds: int, reading: str = "best", backbone: str = "lightgcn", **wanted: Any) -> str:
    """`13.30 / 7.51`: Recall@20 and NDCG@20 in percent, means over the first seeds of one setting."""
    chosen = [
        one
        for one in runs()
        if (one.data["name"], one.backbone["name"], one.sampler["name"]) == (data, backbone, NAMES[label])
        and all(one.sampler.get(key, value) == value for key, value in wanted.items())
        and one.seed < 2020 + seeds
    ]
    assert sorted(one.seed for one in chosen) == [*range(2020, 2020 + seeds)]
    return " / ".join(
        f"{100 * mean(one.metric(name, reading) for one in chosen):.2f}" for name in ("recall@20", "ndcg@20")
    )


def usual(data: str, label: str) -> dict[str, Any]:
    """The paper's settings, and those of SAHC-NS that validation chose."""
    pool = {"RNS": 1, "DNS(M,N)": 50 if data == ML1M else 100}.get(label, 10)
    return {"pool": pool, **(TUNED[data] if label == "SAHC-NS" else {})}


def printed(data: str, label: str) -> str:
    numbers = TABLE_2[LIKE[data]][label]
    return f"{numbers['recall@20'][0]:.2f} / {numbers['ndcg@20'][0]:.2f}"


def test_nine_methods() -> None:
    for label, toys, paper_toys, yelp, ml1m, paper_ml1m in tables()[0][1:]:
        assert [toys, yelp, ml1m] == [ours(data, label, 5, **usual(data, label)) for data in TUNED]
        assert [paper_toys, paper_ml1m] == [printed(data, label) for data in (TOYS, ML1M)]
    for label, *cells in tables()[1][1:]:
        assert cells == [ours(data, label, 5, "last", **usual(data, label)) for data in TUNED]


def test_pools() -> None:
    head, *rows = tables()[2]
    assert len(rows) == 4
    for label, *cells in rows:
        settings = PARTS[TOYS] if label == "SAHC-NS" else {}
        sizes = [int(cell.removeprefix("N = ")) for cell in head[1:]]
        assert cells == [ours(TOYS, label, 3, pool=size, top_k=5, **settings) for size in sizes]


def test_pools_on_yelp_like() -> None:
    text = (ROOT / "docs" / "results.md").read_text("utf-8")
    sentence = re.search(r"^SAHC-NS on Yelp-like .* with ([\d, and]+): ([\d., ]+)\.$", text, re.MULTILINE)
    assert sentence is not None
    sizes = [int(size) for size in re.findall(r"\d+", sentence[1])]
    assert sentence[2].split(", ") == [ours(YELP, "SAHC-NS", 3, pool=size, **TUNED[YELP]).split()[0] for size in sizes]


def test_parts() -> None:
    for name, toys, paper, yelp, *stopped in tables()[3][1:]:
        label = name.split(",")[0]
        where = ((TOYS, 13), (YELP, 5))
        assert [toys, yelp] == [ours(data, label, seeds, pool=10, **PARTS[data]) for data, seeds in where]
        assert stopped == [ours(data, label, seeds, "last", pool=10, **PARTS[data]) for data, seeds in where]
        assert paper == "{:.2f} / {:.2f}".format(*TABLE_3["amazon-toys"][label])


def test_strengths() -> None:
    head, *rows = tables()[4]
    data, varied = "", ""
    for name, *cells in rows:
        if not name.startswith("…"):
            data = TOYS if TOYS in name else YELP
            varied = "alpha" if name.startswith("α") else "lambda_max"
        reading = "last" if name.startswith("…") else "best"
        settings = [{**PARTS[data], "pool": 10, varied: float(value)} for value in head[1:]]
        assert cells == [ours(data, "SAHC-NS", 3, reading, **one).split()[0] for one in settings]


@pytest.mark.parametrize(("backbone", "first"), [("ngcf", 1), ("simgcl", 4)])
def test_other_backbones(backbone: str, first: int) -> None:
    for label, *cells in tables()[5][1:]:
        toys, paper, yelp = cells[first - 1 : first + 2]
        assert [toys, yelp] == [ours(data, label, 3, backbone=backbone, **usual(data, label)) for data in (TOYS, YELP)]
        assert paper == "{:.2f} / {:.2f}".format(*TABLE_4[backbone][label][:2])
