"""A search as tables, figures and a report: what was chosen, how it went, and files that are none."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sahcns.errors import DataError
from sahcns.lab.report.parts import Cell, Figure, Table
from sahcns.lab.tune.report import (
    best_so_far,
    chosen_table,
    early_correlation,
    search_report,
    search_table,
    setting_figures,
    trial_table,
)
from sahcns.lab.tune.search import Search, Trial, Tuned, read_search
from sahcns.settings import Between

POINTS = [(0.3, 0.5, 0.20), (0.0, 0.5, 0.10), (0.3, 1.0, 0.30), (1.0, 1.0, 0.25)]
STORED = Path(__file__).parents[3] / "reproduction" / "results" / "tuning"


def sahc(number: int, alpha: float, lambda_max: float, value: float | None, state: str = "complete") -> Trial:
    point = {"alpha": alpha, "lambda_max": lambda_max}
    looks = {} if value is None else {0: 0.01, 5 * number: value, 5 * number + 10: 0.01}
    settings = {**point, "pool": 10}
    ran = 0 if value is None else 5 * number + 11
    return Trial("sahc", number, state, point, settings, value, looks, epoch=5 * number, epochs_run=ran, seconds=2.5)


def other(sampler: str, number: int, point: dict[str, Any], value: float | None, state: str = "complete") -> Trial:
    return Trial(sampler, number, state, point, {**point, "pool": 10}, value, epoch=15)


SEARCH = Search(
    data={"name": "films", "fingerprint": "abcdef"},
    backbone={"name": "lightgcn", "dim": 64},
    protocol={"monitor": "recall@20", "l2": 0.0001},
    seed=7,
    pruning={"rule": "median", "on": True, "after_trials": 5, "after_epochs": 25},
    budget={"dns": 6, "sahc": 6, "ahns": 6, "dens": 6},
    sizes={"dns": 1, "sahc": 9, "ahns": None, "dens": None},
    fixed={"dns": {}, "sahc": {}, "ahns": {}, "dens": {"warmup": 50}},
    spaces={
        "dns": {},
        "sahc": {"alpha": [0.0, 0.3, 1.0], "lambda_max": [0.0, 0.5, 1.0]},
        "ahns": {"beta": Between(0.1, 50.0, log=True)},
        "dens": {"alpha": [0.0, 1.0], "schedule": ["fixed", "warmup"]},
    },
    trials=[
        replace(other("dns", 0, {}, 0.28), epochs_run=40),
        *(sahc(number, *point) for number, point in enumerate(POINTS)),
        sahc(4, 1.0, 0.0, 0.9, "lost"),
        sahc(5, 0.0, 0.0, 0.05, "pruned"),
        sahc(6, 0.0, 1.0, None, "running"),
        replace(other("ahns", 0, {"beta": 0.1}, None, "failed"), error="the loss became nan"),
        other("dens", 0, {"alpha": 1.0, "schedule": "fixed"}, 0.1),
        other("dens", 1, {"schedule": "warmup"}, 0.11),  # α does not count here
    ],
)
ENDED = replace(
    SEARCH, trials=[one for one in SEARCH.trials if one.state != "running"], budget={**SEARCH.budget, "sahc": 5}
)


def figure(name: str) -> Figure:
    return next(one for key in SEARCH.samplers for one in setting_figures(SEARCH, key) if one.name == name)


def text(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def cells(table: Table) -> dict[str, list[str]]:
    return {text(row[0]): [text(cell) for cell in row[1:]] for row in table.rows}


def test_what_is_best_and_what_is_finished() -> None:
    best = SEARCH.best("sahc")
    assert best is not None
    assert (best.number, best.value) == (2, 0.30)  # not the one that was lost at 0.9
    assert SEARCH.best("ahns") is None
    assert [SEARCH.wanted(name) for name in SEARCH.samplers] == [1, 6, 6, 6]
    assert [SEARCH.state(name) for name in SEARCH.samplers] == [
        "finished",
        *("5 of 6 trials", "1 of 6 trials", "2 of 6 trials"),
    ]
    assert SEARCH.chosen == {"dns": {"pool": 10}}
    ended = replace(SEARCH, budget={"dns": 1, "sahc": 4, "ahns": 1, "dens": 2})
    assert ended.finished("ahns")
    assert not ended.finished("sahc")  # one is running
    assert ended.chosen["dens"] == {"warmup": 50, "schedule": "warmup", "pool": 10}
    twins = replace(SEARCH, trials=[sahc(0, 0.0, 0.0, 0.1), sahc(1, 0.3, 0.0, 0.2), sahc(2, 1.0, 0.0, 0.2)])
    assert [trial.number for trial in twins.complete("sahc")] == [1, 2, 0]  # of equals the earliest is first


def test_the_table_of_what_was_chosen() -> None:
    rows = cells(search_table(SEARCH))
    assert rows["dns"] == ["nothing to tune", "28.00", "15", "", "", "1", "40"]
    assert rows["sahc"] == [
        "not finished; so far alpha=0.3, lambda_max=1",
        *("30.00", "10", "20.00", "10.00 – 30.00", "5 of 6, 1 cut off, 1 not ended", "110"),
    ]
    assert rows["ahns"] == ["none", "", "", "", "", "1 of 6, 1 failed", "0"]
    table = search_table(ENDED)
    assert cells(table)["sahc"][0] == "alpha=0.3, lambda_max=1"
    marks = {text(row[0]): row[2].mark for row in table.rows if isinstance(row[2], Cell)}
    assert marks == {"dns": "second", "sahc": "best", "dens": ""}  # what is not finished has no place


def test_the_first_value_is_that_of_the_trial_that_took_the_place_of_a_lost_one() -> None:
    lost, *rest = (trial for trial in SEARCH.trials if trial.sampler == "sahc" and trial.state == "complete")
    moved = [replace(lost, state="lost"), *rest, replace(lost, number=9, value=0.123)]
    assert cells(search_table(replace(SEARCH, trials=moved)))["sahc"][3] == "12.30"


@pytest.mark.parametrize(("beta", "end"), [(0.13, "low"), (0.14, None), (36.5, None), (36.7, "high")])
def test_a_choice_at_an_end_of_its_range_is_named(beta: float, end: str | None) -> None:
    """Log 50/0.1 is 6.2, and a twentieth of it a factor of 1.36."""
    trials = [other("ahns", 0, {"beta": 2.0}, 0.1), other("ahns", 1, {"beta": beta}, 0.2)]
    midway = replace(SEARCH, trials=trials)
    finished = replace(midway, budget={**SEARCH.budget, "ahns": 2})
    assert "beta of ahns" not in search_table(midway).caption  # more may come
    assert (f"beta of ahns is at the {end} end" in search_table(finished).caption) == (end is not None)
    (table,) = chosen_table(finished)
    assert [text(cell) for cell in table.rows[-1]] == [
        *("ahns", "beta", f"{beta:g}", "beta from 0.1 to 50 (logarithmic)", f"the {end} end" if end else "no")
    ]
    assert finished.tuned()["ends"]["ahns"] == {"beta": end or ""}


def test_the_values_chosen_are_listed_with_what_was_tried_and_where_they_sit() -> None:
    assert chosen_table(SEARCH) == []  # dns has nothing to tune, the others are not finished
    (table,) = chosen_table(ENDED)
    assert [[text(cell) for cell in row[1:]] for row in table.rows] == [
        ["alpha", "0.3", "alpha in {0, 0.3, 1}", "no"],
        ["lambda_max", "1", "lambda_max in {0, 0.5, 1}", "the high end"],
    ]
    assert ENDED.tuned()["ends"] == {"dns": {}, "sahc": {"alpha": "", "lambda_max": "high"}}
    assert "lambda_max of sahc is at the high end (1)" in search_table(ENDED).caption


def test_both_budgets_are_reported_and_who_came_to_the_end_of_which() -> None:
    told = search_table(ENDED).caption
    assert "Budget of each: trials: dns 6, sahc 5, ahns 6, dens 6. " in told
    assert "Spent: all trials: sahc; all points of a smaller space: dns; not finished: ahns, dens." in told
    trials, epochs = (dict.fromkeys(ENDED.samplers, most) for most in (9, 110))
    spent = replace(ENDED, budget=trials, epoch_budget=epochs)
    assert [spent.epochs(name) for name in ("dns", "sahc")] == [40, 110]
    assert [spent.spent(name) for name in spent.samplers] == ["points", "epochs", "", ""]
    assert spent.finished("sahc")
    assert "Budget of each: 9 trials or 110 epochs, whichever is spent first." in search_table(spent).caption
    one_more = replace(spent, epoch_budget=dict.fromkeys(ENDED.samplers, 111))
    assert not one_more.finished("sahc")
    assert spent.tuned() | {"epoch_budget": 110, "epochs": {"dns": 40, "sahc": 110}} == spent.tuned()
    assert spent.tuned()["spent"] == {"dns": "points", "sahc": "epochs"}


def test_how_each_search_went() -> None:
    """Where trials were cut off, and how far the best of a finished search are apart."""

    def details(search: Search) -> dict[str, list[str]]:
        return {name: row[7:] for name, row in cells(search_table(search, details=True)).items()}

    assert details(SEARCH)["dns"] == ["", "", "", ""]
    assert details(SEARCH)["sahc"] == ["35", "", "", ""]
    assert details(ENDED)["sahc"][2:] == ["5.00", ""]  # four are complete
    more = replace(ENDED, trials=[*ENDED.trials, sahc(7, 1.0, 0.5, 0.29)], budget={**SEARCH.budget, "sahc": 6})
    assert details(more)["sahc"][2:] == ["1.00", "20.00"]


def test_whether_the_first_epochs_tell_the_end() -> None:
    """What comes after half the patience is not early."""
    early, late = [0.30, 0.10, 0.20, 0.25, 0.05], [0.31, 0.50, 0.40, 0.35, 0.60]  # exactly the wrong way round
    trials = [
        replace(sahc(at, 0.0, at / 10, end), looks={0: 0.01, 25: begin, 30: end})
        for at, (begin, end) in enumerate(zip(early, late, strict=True))
    ]
    search = replace(SEARCH, protocol={**SEARCH.protocol, "patience": 10, "evaluate_every": 5}, trials=trials)
    assert early_correlation(search, "sahc") == pytest.approx(-1)
    assert early_correlation(replace(search, trials=trials[:4]), "sahc") is None


def test_the_table_of_every_trial() -> None:
    rows = cells(trial_table(SEARCH, "sahc"))
    assert list(rows) == ["0", "1", "2", "3", "5", "6"]
    assert rows["2"] == ["0.3", "1", "30.00", "10", "complete", "20", "2.5"]
    assert rows["5"][2:6] == ["5.00", "25", "cut off", "35"]
    assert rows["6"][4] == "not ended"
    assert cells(trial_table(SEARCH, "dens"))["1"][:2] == ["–", "warmup"]


def test_the_best_so_far() -> None:
    assert not list(best_so_far(replace(SEARCH, trials=SEARCH.trials[:2])))  # nothing was searched yet
    near = replace(ENDED, trials=[trial for trial in ENDED.trials if trial.sampler == "sahc"])
    (race,) = best_so_far(near)
    assert [(series.name, series.role) for series in race.series] == [("sahc", "sahc")]
    assert list(race.series[0].x) == [1, 2, 3, 4, 5]
    assert race.series[0].y[2:] == pytest.approx([30, 30, 30])  # one that was cut off never counts
    assert [math.isnan(value) for value in race.series[0].y[:2]] == [True, True]  # 20, more than a tenth below


def test_value_against_a_setting() -> None:
    alpha = figure("search-sahc-of-alpha")
    whole, cut = alpha.series
    assert (alpha.kind, alpha.x_log, whole.role, list(whole.x)) == ("scatter", False, "sahc", [0.3, 0.0, 0.3, 1.0])
    assert whole.y == pytest.approx([20, 10, 30, 25])
    assert (cut.name, list(cut.x), cut.hints[0]) == ("cut off", [0.0], "alpha=0, lambda_max=0, cut off at epoch 35")
    assert list(figure("search-dens-of-alpha").series[0].x) == [1.0]  # only where it counts
    assert list(figure("search-dens-of-schedule").series[0].x) == ["fixed", "warmup"]
    more = [other("ahns", 1, {"beta": 1.0}, 0.1), other("ahns", 2, {"beta": 20.0}, 0.2)]
    (beta,) = setting_figures(replace(SEARCH, trials=[*SEARCH.trials, *more]), "ahns")
    assert (beta.name, beta.x_log) == ("search-ahns-of-beta", True)


def test_the_map_of_two_grids() -> None:
    heat = figure("search-sahc-of-both")
    assert (heat.kind, heat.x_label, heat.y_label) == ("heat", "alpha", "lambda_max")
    values = {(x, one.name): y for one in heat.series for x, y in zip(one.x, one.y, strict=True) if not math.isnan(y)}
    expected = {("0.3", "1"): 30, ("0.3", "0.5"): 20, ("1", "1"): 25, ("0", "0"): 5, ("0", "0.5"): 10}
    assert values == pytest.approx(expected)  # without the one that was lost
    assert [list(series.partial) for series in heat.series] == [[True, False, False], [False] * 3, [False] * 3]
    fixed, warmup = figure("search-dens-of-both").series  # α makes no difference with the second
    assert math.isnan(fixed.y[0])
    assert fixed.y[1] == pytest.approx(10)
    assert warmup.y == pytest.approx([11, 11])


def saved(folder: Path, search: Search = SEARCH) -> Path:
    folder.mkdir()
    replace(search, folder=folder).save()
    return folder


def test_a_report_opens_with_the_answer(tmp_path: Path) -> None:
    report = search_report(saved(tmp_path / "out"))
    assert report.summary[0] == (
        "sahc is ahead: recall@20 30.00 % on validation with alpha=0.3, lambda_max=1; next is dns with 28.00 %."
    )
    assert [section.title for section in report.sections] == ["Chosen", "dns", "sahc", "ahns", "dens"]
    blocks = [block for section in report.sections for block in section.blocks]
    names = [block.name for block in blocks if isinstance(block, Table | Figure)]
    assert names[:2] == ["tuned", "search"]
    assert len(names) == len(set(names))
    assert {"search-sahc-of-alpha", "search-sahc-of-both", "trials-sahc"} <= set(names)
    assert dict(report.facts)["data"] == "films, fingerprint abcdef"
    empty = saved(tmp_path / "empty", replace(SEARCH, trials=[]))
    assert search_report(empty).summary[0] == "No trial is complete yet."


def test_a_search_is_read_back_as_it_was(tmp_path: Path) -> None:
    folder = saved(tmp_path / "out")
    assert read_search(folder) == replace(SEARCH, folder=folder)
    assert Tuned.read(folder).content == Tuned.read(folder / "tuned.json").content
    assert Tuned.read(folder).content["samplers"] == SEARCH.chosen


@pytest.mark.parametrize(
    "folder", sorted(path for path in STORED.glob("*") if path.is_dir()), ids=lambda path: path.name
)
def test_the_study_s_searches_are_read(folder: Path) -> None:
    search = read_search(folder)
    assert all(map(search.finished, search.samplers))
    assert search.chosen == Tuned.read(folder).content["samplers"]
    assert search_report(folder).summary


@pytest.mark.parametrize(
    "content",
    [
        None,
        "{",
        "[]",
        '{"format": "sahcns-tuned"}',
        '{"format": "sahcns-trials", "format_version": 9}',
        json.dumps({"format": "sahcns-trials", "format_version": 1, "trials": []}),
    ],
)
def test_what_is_no_search_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "trials.json").write_text(content)
    with pytest.raises(DataError, match=r"trials\.json"):
        read_search(tmp_path)
    with pytest.raises(DataError, match=r"tuned\.json"):
        Tuned.read(tmp_path)
