"""A search as tables, figures and a report: what was chosen, how it went, and files that are none."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sahcns.errors import DataError
from sahcns.lab.report.parts import Cell, Figure, Table
from sahcns.lab.tuning.ends import end_of
from sahcns.lab.tuning.figures import search_figures
from sahcns.lab.tuning.going import epochs_in_words, foretold, going_table
from sahcns.lab.tuning.report import search_report
from sahcns.lab.tuning.tables import search_tables, trial_table
from sahcns.lab.tuning.trials import Search, Trial, read_search, read_tuned

POINTS = [(0.3, 0.5, 0.20), (0.0, 0.5, 0.10), (0.3, 1.0, 0.30), (1.0, 1.0, 0.25)]


def sahc(number: int, alpha: float, lambda_max: float, value: float | None, state: str = "complete") -> Trial:
    point = {"alpha": alpha, "lambda_max": lambda_max}
    looks = {} if value is None else {0: 0.01, 5 * number: value, 5 * number + 10: 0.01}
    return Trial("sahc", number, state, point, {**point, "pool": 10}, value, looks, epoch=5 * number, seconds=2.5)


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
        "ahns": {"beta": {"low": 0.1, "high": 50.0, "log": True}},
        "dens": {"alpha": [0.0, 1.0], "schedule": ["fixed", "warmup"]},
    },
    trials=[
        other("dns", 0, {}, 0.28),
        *(sahc(number, *point) for number, point in enumerate(POINTS)),
        sahc(4, 1.0, 0.0, 0.9, "lost"),
        sahc(5, 0.0, 0.0, 0.05, "pruned"),
        sahc(6, 0.0, 1.0, None, "running"),
        replace(other("ahns", 0, {"beta": 0.1}, None, "failed"), error="the loss became nan"),
        other("dens", 0, {"alpha": 1.0, "schedule": "fixed"}, 0.1),
        other("dens", 1, {"schedule": "warmup"}, 0.11),  # α does not count here
    ],
)


def figure(name: str) -> Figure:
    return next(one for one in search_figures(SEARCH) if one.name == name)


def text(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def test_a_search_shows_what_it_is_in_a_line() -> None:
    assert repr(SEARCH) == "Search('films', lightgcn, trials: 1 of dns, 6 of sahc, 1 of ahns, 2 of dens)"


def test_what_is_best_and_what_is_finished() -> None:
    best = SEARCH.best("sahc")
    assert best is not None
    assert (best.number, best.value) == (2, 0.30)  # not the one that was lost at 0.9
    assert SEARCH.best("ahns") is None
    assert [SEARCH.wanted(name) for name in SEARCH.samplers] == [1, 6, 6, 6]
    assert [SEARCH.finished(name) for name in SEARCH.samplers] == [True, False, False, False]
    assert SEARCH.chosen == {"dns": {"pool": 10}}
    ended = replace(SEARCH, budget={"dns": 1, "sahc": 4, "ahns": 1, "dens": 2})
    assert ended.finished("ahns")
    assert not ended.finished("sahc")  # one is running
    assert ended.chosen["dens"] == {"warmup": 50, "schedule": "warmup", "pool": 10}


def test_of_equals_the_earliest_is_chosen() -> None:
    twins = replace(SEARCH, trials=[sahc(0, 0.0, 0.0, 0.1), sahc(1, 0.3, 0.0, 0.2), sahc(2, 1.0, 0.0, 0.2)])
    best = twins.best("sahc")
    assert best is not None
    assert best.number == 1


def test_the_table_of_what_was_chosen() -> None:
    (table,) = search_tables(SEARCH)
    assert table.title == "Tuned on films, lightgcn"
    assert list(table.columns) == ["sampler", "chosen", ">recall@20", ">epoch", ">first", ">spread", ">trials"]
    rows = {text(row[0]): [text(cell) for cell in row[1:]] for row in table.rows}
    assert rows["dns"] == ["nothing to tune", "28.00", "15", "", "", "1"]
    assert rows["sahc"] == [
        "not finished; so far alpha=0.3, lambda_max=1",
        *("30.00", "10", "20.00", "10.00 – 30.00", "5 of 6, 1 cut off, 1 not ended"),
    ]
    assert rows["ahns"] == ["none", "", "", "", "", "1 of 6, 1 failed"]
    marks = {text(row[0]): row[2].mark for row in table.rows if isinstance(row[2], Cell)}
    assert marks == {"dns": "best", "sahc": "", "dens": ""}  # what is not finished has no place
    (failed,) = (row[1] for row in table.rows if row[0] == "ahns")
    assert isinstance(failed, Cell)
    assert failed.hint == "the loss became nan"


ENDED = replace(
    SEARCH, trials=[one for one in SEARCH.trials if one.state != "running"], budget={**SEARCH.budget, "sahc": 5}
)


def test_what_is_finished_is_chosen_and_ranked() -> None:
    (table,) = search_tables(ENDED)
    rows = {text(row[0]): row for row in table.rows}
    assert [text(rows["sahc"][at]) for at in (1, 6)] == ["alpha=0.3, lambda_max=1", "5, 1 cut off"]
    assert [row[2].mark for name in ("sahc", "dns") if isinstance((row := rows[name])[2], Cell)] == ["best", "second"]


@pytest.mark.parametrize(
    ("beta", "end"),
    [(0.1, "low"), (0.13, "low"), (0.14, None), (1.0, None), (36.5, None), (36.7, "high"), (50.0, "high")],
)
def test_a_choice_at_an_end_of_its_range_is_told(beta: float, end: str | None) -> None:
    """Log 50/0.1 is 6.2, and a twentieth of it a factor of 1.36."""
    told = f"Beyond an end nothing was tried: beta of ahns is at the {end} end of what was searched (0.1 to 50)."
    trials = [other("ahns", 0, {"beta": 2.0}, 0.1), other("ahns", 1, {"beta": beta}, 0.2)]
    (midway,) = search_tables(replace(SEARCH, trials=trials))
    (table,) = search_tables(replace(SEARCH, trials=trials, budget={**SEARCH.budget, "ahns": 2}))
    assert "Beyond" not in midway.caption  # more may come
    assert table.caption.endswith(told) if end else "Beyond" not in table.caption


def test_the_end_of_a_range_that_is_not_logarithmic() -> None:
    space = {"low": 0.0, "high": 2.0, "log": False}
    assert [end_of(space, value) for value in (0.0, 0.1, 0.11, 1.89, 1.9)] == ["low", "low", None, None, "high"]


def test_a_search_that_has_not_begun_says_so(tmp_path: Path) -> None:
    bare = replace(SEARCH, trials=[trial for trial in SEARCH.trials if trial.sampler != "ahns"])
    (row,) = (row for row in search_tables(bare)[0].rows if row[0] == "ahns")
    assert [text(cell) for cell in row] == ["ahns", "not begun", "", "", "", "", "0 of 6"]
    assert "ahns: not begun." in search_report(saved(tmp_path / "out", bare)).summary


def test_how_each_search_went() -> None:
    rows = {text(row[0]): [text(cell) for cell in row[1:]] for row in going_table(SEARCH).rows}
    assert "dns" not in rows  # nothing to tune
    assert rows["sahc"] == ["5 of 6 trials", "4", "1", "35", "", "", ""]  # distances are for what is finished
    assert rows["ahns"] == ["1 of 6 trials", "0", "0", "", "", "", ""]
    assert [text(cell) for cell in going_table(ENDED).rows[0]][-2:] == ["5.00", ""]  # four of them came to their end
    more = replace(ENDED, trials=[*ENDED.trials, sahc(7, 1.0, 0.5, 0.29)], budget={**SEARCH.budget, "sahc": 6})
    assert [text(cell) for cell in going_table(more).rows[0]][-2:] == ["1.00", "20.00"]


def test_what_the_defaults_came_to_when_their_first_trial_was_lost() -> None:
    lost, *rest = (trial for trial in SEARCH.trials if trial.sampler == "sahc" and trial.state == "complete")
    again = replace(lost, number=9, value=0.123)
    moved = [replace(lost, state="lost"), *rest, again]
    search = replace(SEARCH, trials=[trial for trial in SEARCH.trials if trial.sampler != "sahc"] + moved)
    (row,) = (row for row in search_tables(search)[0].rows if row[0] == "sahc")
    assert text(row[4]) == "12.30"


def test_whether_the_first_epochs_foretell_the_end() -> None:
    """Against scipy's, ties included; looks after half the patience say nothing of the beginning."""
    from scipy.stats import spearmanr

    early, late = [0.30, 0.10, 0.20, 0.20, 0.05], [0.31, 0.50, 0.40, 0.45, 0.60]
    trials = [
        replace(sahc(at, 0.0, at / 10, end), looks={0: 0.01, 25: begun, 30: end})
        for at, (begun, end) in enumerate(zip(early, late, strict=True))
    ]
    search = replace(SEARCH, protocol={**SEARCH.protocol, "patience": 10, "evaluate_every": 5}, trials=trials)
    found = foretold(search, "sahc")
    assert found == pytest.approx(float(spearmanr(early, late)[0]))
    assert found is not None
    assert found < -0.9
    assert text(going_table(search).rows[0][5]) == f"{found:+.2f}"
    assert foretold(replace(search, trials=trials[:4]), "sahc") is None


def test_the_epochs_of_what_was_cut_off() -> None:
    cut = [replace(SEARCH.trials[1], looks={0: 0.1, epoch: 0.1}) for epoch in (40, 25, 25, 95)]
    assert epochs_in_words(cut) == "25 (2), 40, 95"
    assert epochs_in_words([]) == ""


def test_the_table_of_every_trial() -> None:
    table = trial_table(SEARCH, "sahc")
    assert list(table.columns) == [
        *(">trial", ">alpha", ">lambda_max", ">recall@20", ">epoch", "state", ">until", ">seconds"),
    ]
    assert [text(row[0]) for row in table.rows] == ["0", "1", "2", "3", "5", "6"]
    assert [text(cell) for cell in table.rows[2]] == ["2", "0.3", "1", "30.00", "10", "complete", "20", "2.5"]
    assert [text(cell) for cell in table.rows[4]][3:7] == ["5.00", "25", "cut off", "35"]
    assert text(table.rows[5][5]) == "not ended"
    assert table.caption.endswith("A trial that was cut off, or has not ended, stands with the best up to there.")
    assert "cut off" not in trial_table(SEARCH, "dens").caption
    assert [row[3].mark for row in table.rows if isinstance(row[3], Cell)] == ["", "", "best", "", "", ""]
    assert [text(cell) for cell in trial_table(SEARCH, "dens").rows[1]][1:3] == ["–", "warmup"]


def test_the_figures_there_are() -> None:
    names = [one.name for one in search_figures(SEARCH)]
    assert names == [
        "search",
        *("search-sahc-of-trials", "search-sahc-of-alpha", "search-sahc-of-lambda_max", "search-sahc-of-both"),
        *("search-dens-of-trials", "search-dens-of-alpha", "search-dens-of-schedule", "search-dens-of-both"),
    ]
    assert search_figures(replace(SEARCH, trials=SEARCH.trials[:2])) == []  # nothing was searched yet


def test_the_best_so_far() -> None:
    near = replace(ENDED, trials=[trial for trial in ENDED.trials if trial.sampler == "sahc"])
    (race,) = (one for one in search_figures(near) if one.name == "search")
    assert [(series.name, series.role) for series in race.series] == [("sahc", "sahc")]
    assert race.series[0].y[2:] == pytest.approx([30, 30, 30])  # one that was cut off never counts
    assert [math.isnan(value) for value in race.series[0].y[:2]] == [True, True]  # 20, more than a tenth below
    assert "not drawn, since it would flatten the rest: sahc (20.00 at first, 2 of 5 trials)" in race.caption
    assert list(race.series[0].x) == [1, 2, 3, 4, 5]
    assert [(series.name, series.role) for series in figure("search").series] == [
        *(("sahc, not finished", "sahc"), ("dens, not finished", "dens")),
    ]


def test_trial_by_trial() -> None:
    course = figure("search-sahc-of-trials")
    whole, cut = course.series
    assert (course.kind, whole.role, cut.role) == ("scatter", "sahc", "")
    assert (list(whole.x), list(cut.x)) == ([1, 2, 3, 4], [5])  # without a gap for what was lost
    assert whole.y == pytest.approx([20, 10, 30, 25])
    assert cut.y == pytest.approx([5])
    assert (whole.hints[2], cut.hints[0]) == ("alpha=0.3, lambda_max=1", "alpha=0, lambda_max=0, cut off at epoch 35")
    assert "not at what it would have reached" in course.caption
    assert figure("search-dens-of-trials").caption == ""


def test_value_against_a_setting() -> None:
    alpha = figure("search-sahc-of-alpha")
    assert (alpha.kind, alpha.x_log) == ("scatter", False)
    whole, cut = alpha.series
    assert (list(whole.x), whole.role) == ([0.3, 0.0, 0.3, 1.0], "sahc")
    assert whole.y == pytest.approx([20, 10, 30, 25])
    assert (cut.name, list(cut.x)) == ("cut off", [0.0])
    assert list(figure("search-dens-of-alpha").series[0].x) == [1.0]  # only where it counts
    assert list(figure("search-dens-of-schedule").series[0].x) == ["fixed", "warmup"]
    more = [other("ahns", 1, {"beta": 1.0}, 0.1), other("ahns", 2, {"beta": 20.0}, 0.2)]
    ranged = search_figures(replace(SEARCH, trials=[*SEARCH.trials, *more]))
    beta = next(one for one in ranged if one.name == "search-ahns-of-beta")
    assert beta.x_log
    assert not any(one.name == "search-ahns-of-both" for one in ranged)


def test_the_map_of_two_grids() -> None:
    heat = figure("search-sahc-of-both")
    assert (heat.kind, heat.x_label, heat.y_label) == ("heat", "alpha", "lambda_max")
    assert [series.name for series in heat.series] == ["0", "0.5", "1"]
    cells = {
        (column, series.name): value for series in heat.series for column, value in zip(series.x, series.y, strict=True)
    }
    assert len(cells) == 9
    assert cells["0.3", "1"] == pytest.approx(30)
    assert cells["0.3", "0.5"] == pytest.approx(20)
    assert cells["1", "1"] == pytest.approx(25)
    assert cells["0", "0"] == pytest.approx(5)
    assert math.isnan(cells["0.3", "0"])
    assert math.isnan(cells["1", "0"])  # the one that was lost
    assert heat.series[0].hints[0] == "cut off at epoch 35"
    assert [list(series.partial) for series in heat.series] == [[True, False, False], [False] * 3, [False] * 3]
    assert heat.partial_label.startswith("cut off: the best up to there")


def test_a_setting_that_makes_no_difference_is_one_trial_in_many_cells() -> None:
    fixed, warmup = figure("search-dens-of-both").series
    assert (fixed.name, warmup.name) == ("fixed", "warmup")
    assert math.isnan(fixed.y[0])
    assert fixed.y[1] == pytest.approx(10)
    assert warmup.y == pytest.approx([11, 11])
    assert list(warmup.hints) == ["alpha makes no difference"] * 2


def saved(folder: Path, search: Search = SEARCH) -> Path:
    folder.mkdir()
    replace(search, folder=folder).save()
    return folder


def test_a_whole_report_from_the_folder(tmp_path: Path) -> None:
    report = search_report(saved(tmp_path / "out"))
    assert report.title == "Tuning on films"
    assert report.summary[0] == "dns: nothing to tune, recall@20 28.00 % on validation."
    assert report.summary[1] == (
        "sahc: alpha=0.3, lambda_max=1, recall@20 30.00 % on validation so far, after 5 of 6 trials."
    )
    assert report.summary[2] == "ahns: no trial has come to its end so far, after 1 of 6 trials."
    assert [section.title for section in report.sections] == ["Chosen", "dns", "sahc", "ahns", "dens"]
    blocks = [block for section in report.sections for block in section.blocks]
    names = [block.name for block in blocks if isinstance(block, Table | Figure)]
    assert len(names) == len(set(names))
    assert {one.name for one in search_figures(SEARCH)} <= set(names)
    assert "Searched: beta from 0.1 to 50 (logarithmic)." in blocks
    facts = dict(report.facts)
    assert facts["data"] == "films, fingerprint abcdef"
    assert facts["protocol"] == "monitor recall@20, l2 0.0001"
    assert facts["part"] == "validation; the test part was not there"
    assert facts["seed"] == "7"
    assert facts["lost"].startswith("1 trials, whose process died")
    assert "replaced" not in facts


def test_what_was_cut_off_before_pruning_was_left_is_told(tmp_path: Path) -> None:
    """By samplers whose own search has not gone on since, and by those whose search has."""
    again = replace(other("dens", 2, {"alpha": 0.0}, 0.01), state="replaced")
    whole = replace(SEARCH, pruning={"on": False}, trials=[*SEARCH.trials, again])
    facts = dict(search_report(saved(tmp_path / "out", whole)).facts)
    assert facts["pruning"] == "off; trials of sahc were cut off before, and still count"
    assert facts["replaced"] == "1 trials, which were cut off before; they count for nothing, others take their place"


def test_a_search_is_read_back_as_it_was(tmp_path: Path) -> None:
    looked = replace(SEARCH.trials[1], looks={0: 0.1, 5: 0.2}, valid={"recall@20": 0.2}, machine={"torch": "2"})
    search = replace(SEARCH, trials=[looked, *SEARCH.trials[2:]])
    folder = saved(tmp_path / "out", search)
    assert read_search(folder) == replace(search, folder=folder)
    assert read_tuned(folder) == read_tuned(folder / "tuned.json")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, r"there is no search in .*out: it has no trials\.json; `sahcns tune` makes one"),
        ("{", r"trials\.json is not readable JSON"),
        ("[]", r"trials\.json holds no search; `sahcns tune` makes one"),
        ('{"format": "sahcns-tuned"}', r"trials\.json holds no search; `sahcns tune` makes one"),
        (
            '{"format": "sahcns-trials", "format_version": 9}',
            r"has format version 9, and this sahcns reads 1; update it",
        ),
        ('{"format": "sahcns-trials", "format_version": 1}', r"trials\.json is broken \('trials'\)"),
        (
            json.dumps({"format": "sahcns-trials", "format_version": 1, "trials": []}),
            r"trials\.json is broken \(.*missing.*; `sahcns tune` writes it again",
        ),
    ],
)
def test_what_is_no_search_is_told_so(tmp_path: Path, content: str | None, sentence: str) -> None:
    (tmp_path / "out").mkdir()
    if content is not None:
        (tmp_path / "out" / "trials.json").write_text(content)
    with pytest.raises(DataError, match=sentence):
        search_report(tmp_path / "out")


def test_what_is_no_tuned_file_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no tuned setting in .*: it has no tuned\.json; `sahcns tune` makes"):
        read_tuned(tmp_path)
    (tmp_path / "other.json").write_text('{"format": "sahcns-run"}')
    with pytest.raises(DataError, match=r"other\.json holds no tuned setting"):
        read_tuned(tmp_path / "other.json")


def test_what_was_chosen_stands_while_trials_are_made_again() -> None:
    cut = [sahc(number, alpha, 0.0, 0.05, "replaced") for number, alpha in ((5, 0.0), (6, 0.3))]
    again = sahc(7, 0.0, 0.0, 0.4)
    midway = replace(SEARCH, trials=[*(sahc(number, *point) for number, point in enumerate(POINTS)), *cut, again])
    assert midway.chosen["sahc"] == {"alpha": 0.3, "lambda_max": 1.0, "pool": 10}
    assert midway.tuned()["samplers"].keys() == {"sahc"}
    rows = {str(row[0]): row[1] for row in search_tables(midway)[0].rows}
    assert rows["sahc"] == "not finished; so far alpha=0, lambda_max=0; until it is, alpha=0.3, lambda_max=1"
    done = replace(midway, trials=[*midway.trials, sahc(8, 0.3, 0.0, 0.35)])
    assert done.chosen["sahc"] == {"alpha": 0.0, "lambda_max": 0.0, "pool": 10}
