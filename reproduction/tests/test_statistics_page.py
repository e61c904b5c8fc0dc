"""docs/statistics.md says what `benchmarks/false_alarms.py --results results` says: tables of real runs are made again."""

import importlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sahcns.lab.grid.result import results_in
from sahcns.lab.report.as_markdown import to_markdown

ROOT = Path(__file__).parents[2]
DATA = "Amazon-toys"


@pytest.fixture
def thirty_seeds(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("thirty_seeds")


@pytest.fixture
def false_alarms(thirty_seeds: ModuleType) -> ModuleType:
    return importlib.import_module("false_alarms")


@pytest.fixture
def each(thirty_seeds: ModuleType) -> list[dict[str, Any]]:
    """The methods' values over seeds, for each metric."""
    return [thirty_seeds.near(runs(), DATA, metric) for metric in thirty_seeds.METRICS]


@cache
def runs() -> list[Any]:
    return results_in(ROOT / "reproduction" / "results")


@cache
def page() -> list[str]:
    return (ROOT / "docs" / "statistics.md").read_text("utf-8").splitlines()


def test_the_spread_of_real_runs(thirty_seeds: ModuleType, each: list[dict[str, Any]]) -> None:
    recall, ndcg = map(thirty_seeds.spread, each)
    assert len(recall) == 10
    for name, value in recall.items():
        assert f"| {name} | {value} | {ndcg[name]} |" in page()


def test_what_the_study_can_resolve(thirty_seeds: ModuleType, each: list[dict[str, Any]]) -> None:
    rows = to_markdown(thirty_seeds.resolvable(each), title=False).splitlines()
    assert len(rows) == 6
    assert set(rows) <= set(page())


def test_how_far_five_seeds_agree_with_thirty(thirty_seeds: ModuleType, each: list[dict[str, Any]]) -> None:
    found = thirty_seeds.agreement(each[0])
    assert len(found) == 13
    for name, value in found.items():
        assert sum(line.startswith(f"| {name} | {value} | ") for line in page()) == 1


def test_simulated_studies_tell_luck_that_users_share_from_luck_that_they_do_not(false_alarms: ModuleType) -> None:
    """So the tables of the page can be made again: one method under two names, through the library's own tables."""
    rng = np.random.default_rng(0)

    def found(shared: float) -> dict[str, float]:
        made = [false_alarms.flags(false_alarms.equals(("a", "b"), rng, shared), ("t", "wilcoxon")) for _ in range(40)]
        return {test: float(np.mean([one[test, "recall@20"] for one in made])) for test in ("t", "wilcoxon")}

    assert max(found(0.0).values()) < 0.2
    with_luck = found(0.02)
    assert with_luck["t"] < 0.2 < 0.4 < with_luck["wilcoxon"]
