"""How far a search is: trials done, the best so far, the time left; live on a terminal, else a line a trial."""

import io
from typing import Any

import pytest
from rich.console import Console

from sahcns.cli import progress as live
from sahcns.cli import tune_progress
from sahcns.cli.tune_progress import live_lines, seconds_left, trial_line
from sahcns.lab.tune.search import Search, Trial
from sahcns.lab.tune.tune import SearchProgress


def trial(number: int, state: str = "complete", value: float | None = 0.1, seconds: float = 4.0, **rest: Any) -> Trial:
    sampler = rest.pop("sampler", "sahc")
    point = {"alpha": number / 10} if sampler == "sahc" else {}
    took = None if state == "running" else seconds
    return Trial(sampler, number, state, point, point, value, epoch=5, seconds=took, **rest)


def search(*trials: Trial, budget: int = 5) -> Search:
    return Search(
        data={"name": "films", "fingerprint": "abc"},
        backbone={"name": "mf"},
        protocol={"monitor": "recall@20"},
        seed=0,
        pruning={"on": False},
        budget={"sahc": budget, "dns": budget},
        sizes={"sahc": 49, "dns": 1},
        fixed={"sahc": {}, "dns": {}},
        spaces={"sahc": {"alpha": [0.0, 1.0]}, "dns": {}},
        trials=list(trials),
    )


def test_the_time_left_is_that_of_trials_so_far() -> None:
    assert seconds_left(search()) is None
    assert seconds_left(search(trial(0, seconds=2), trial(1, seconds=4))) == pytest.approx(3 * 3 + 3)
    both = search(trial(0, seconds=2), trial(0, sampler="dns", seconds=10))
    assert seconds_left(both) == pytest.approx(4 * 2)  # DNS is done
    shared = search(trial(0, seconds=2), trial(1, "running", None), trial(2, "running", None))
    assert seconds_left(shared) == pytest.approx((4 * 2 + 2) / 2)


def test_a_line_for_each_trial() -> None:
    first, last = trial(0, value=0.1234), trial(1, value=0.12)
    assert trial_line(SearchProgress(search(first, last), "sahc", trial=last)) == (
        "sahc 2 of 5: alpha=0.1: recall@20 12.00% at epoch 5; best 12.34% with alpha=0; 2 of 6 trials, about 0:16 left"
    )
    failed = trial(1, "failed", None, error="the loss became nan")
    assert "failed: the loss became nan" in trial_line(SearchProgress(search(first, failed), "sahc", trial=failed))


def test_on_a_terminal_it_is_live_and_elsewhere_it_is_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    last = trial(1)
    steps = [
        SearchProgress(search()),
        SearchProgress(search(trial(0, value=0.3)), "sahc", {"alpha": 0.7}, {"epoch": 35}),
        SearchProgress(search(last), "sahc", trial=last),
    ]
    assert live_lines(steps[1]) == (
        "sahc 2 of 5 · 1 of 6 trials, about 0:20 left",
        "best 30.00% with alpha=0",
        "now alpha=0.7 · epoch 35",
    )
    screens = {}
    for terminal in (True, False):
        screen = io.StringIO()
        console = Console(file=screen, force_terminal=terminal, width=90, color_system=None)
        monkeypatch.setattr(live, "err", lambda console=console: console)
        monkeypatch.setattr(tune_progress, "tell", lambda text, console=console: console.print(text, soft_wrap=True))
        with tune_progress.tune_progress(["sahc: 49 points"]) as watch:
            assert watch is not None
            for step in steps:
                watch(step)
        screens[terminal] = screen.getvalue()
    assert screens[False].splitlines() == ["sahc: 49 points", trial_line(steps[-1])]
    assert "sahc: 49 points\n" in screens[True]
    assert "sahc 2 of 5 · 1 of 6 trials" in screens[True]
