"""Where a search stands: trials done, the best so far, the time left; live on a terminal, else a line a trial."""

import io
from typing import Any

import pytest
from rich.console import Console

from sahcns.cli import tune_progress
from sahcns.cli.tune_progress import done, ended, lines, made_again, seconds_left
from sahcns.lab.tuning.trials import Search, Trial
from sahcns.lab.tuning.tune import Standing


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


def test_how_many_are_done() -> None:
    found = search(trial(0), trial(1, "lost"), trial(2, "pruned"), trial(3, "failed", None), trial(4, "running", None))
    assert done(found) == (3, 6)  # one of DNS, which has nothing to tune


def test_what_was_cut_off_and_is_made_again_is_told() -> None:
    cut = [trial(number, "replaced", 0.05) for number in (1, 2, 3)]
    assert made_again(search(trial(0), *cut)) == ["3 trials that were cut off before are made again, to their end"]
    assert made_again(search(*cut, trial(1), trial(2), trial(3, "running", None))) == []
    assert made_again(search(trial(0), trial(1, "pruned"))) == []


def test_the_time_left_is_that_of_trials_so_far() -> None:
    assert seconds_left(search()) is None
    assert seconds_left(search(trial(0, seconds=2), trial(1, seconds=4))) == pytest.approx(3 * 3 + 3)
    both = search(trial(0, seconds=2), trial(0, sampler="dns", seconds=10))
    assert seconds_left(both) == pytest.approx(4 * 2)  # DNS is done
    shared = search(trial(0, seconds=2), trial(1, "running", None), trial(2, "running", None))
    assert seconds_left(shared) == pytest.approx((4 * 2 + 2) / 2)


def test_a_line_for_each_trial() -> None:
    first, last = trial(0, value=0.1234), trial(1, value=0.12)
    assert ended(Standing(search(first, last), "sahc", ended=last)) == (
        "sahc 2 of 5: alpha=0.1: recall@20 12.00% at epoch 5; best 12.34% with alpha=0; 2 of 6 trials, about 0:16 left"
    )
    cut = trial(1, "pruned", 0.05)
    assert "alpha=0.1: recall@20 5.00% at epoch 5, then cut off; best 12.34%" in ended(
        Standing(search(first, cut), "sahc", ended=cut)
    )
    failed = trial(1, "failed", None, error="the loss became nan")
    assert "alpha=0.1: failed: the loss became nan; best" in ended(
        Standing(search(first, failed), "sahc", ended=failed)
    )
    alone = trial(0, sampler="dns", value=0.2)
    everything = search(*(trial(at) for at in range(5)), alone)
    assert ended(Standing(everything, "dns", ended=alone)) == ("dns 1 of 1: recall@20 20.00% at epoch 5; 6 of 6 trials")


def test_the_live_view_in_three_lines() -> None:
    standing = Standing(search(trial(0, value=0.3)), "sahc", {"alpha": 0.7}, {"epoch": 35})
    assert lines(standing) == (
        "sahc 2 of 5 · 1 of 6 trials, about 0:20 left",
        "best 30.00% with alpha=0",
        "now alpha=0.7 · epoch 35",
    )
    assert lines(Standing(search())) == ("sahc 1 of 5 · 0 of 6 trials", "no recall@20 yet", "now as it is")


def test_on_a_terminal_it_is_live_and_elsewhere_it_is_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    last = trial(1)
    standings = [
        Standing(search()),
        Standing(search(), "sahc", {}, {"epoch": 0}),
        Standing(search(last), "sahc", ended=last),
    ]
    shown = {}
    for terminal in (True, False):
        screen = io.StringIO()
        console = Console(file=screen, force_terminal=terminal, width=90, color_system=None)
        monkeypatch.setattr(tune_progress, "err", lambda console=console: console)
        monkeypatch.setattr(tune_progress, "tell", lambda text, console=console: console.print(text, soft_wrap=True))
        with tune_progress.tune_progress(["sahc: 49 points"]) as watch:
            assert watch is not None
            assert screen.getvalue() == ""
            for standing in standings:
                watch(standing)
        shown[terminal] = screen.getvalue()
    assert shown[False].splitlines() == ["sahc: 49 points", ended(standings[-1])]
    assert shown[True].startswith("sahc: 49 points\n")
    assert "sahc 2 of 5 · 1 of 6 trials" in shown[True]
    with tune_progress.tune_progress(["sahc: 49 points"], quiet=True) as nothing:
        assert nothing is None
