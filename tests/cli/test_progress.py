"""What is shown of a grid and of a search in progress is true: what is done, what runs, and the best so far."""

from pathlib import Path
from typing import Any

import pytest

from sahcns.cli.progress import GridProgress, grid_progress, search_words, tune_progress
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.run import Event, Kind
from sahcns.lab.tune.search import Search, Trial
from sahcns.lab.tune.tune import SearchProgress
from sahcns.samplers import DNS, RNS
from tests.lab.grid.jobs import job, prepared
from tests.lab.grid.test_result import result


@pytest.fixture
def jobs(tmp_path: Path) -> list[Job]:
    """Four seeds of RNS, then four of DNS."""
    data = prepared(tmp_path)
    return [job(data, sampler, seed) for sampler in (RNS(), DNS()) for seed in range(4)]


def ending(job: Job, seconds: float, kind: Kind = "finished") -> Event:
    return Event(kind, job, result(seconds={"total": seconds}))


def test_failures_and_jobs_elsewhere(jobs: list[Job]) -> None:
    progress = GridProgress(jobs=jobs)
    progress.update(Event("elsewhere", jobs[0]))
    progress.update(Event("failed", jobs[1], error="broken"))
    assert str(progress) == "1 of 8 runs, 1 failed, 1 in other processes"
    for one in (jobs[0], *jobs[2:]):
        progress.update(ending(one, 5.0))
    assert str(progress) == "8 of 8 runs, 1 failed"


def test_a_run_in_progress_says_its_best_look(jobs: list[Job]) -> None:
    progress = GridProgress(jobs=jobs)
    progress.update(Event("started", jobs[2]))
    for epoch, recall in ((0, 0.1), (1, 0.3), (2, 0.2)):
        progress.update(Event("epoch", jobs[2], entry={"epoch": epoch, "valid": {"recall@20": recall}}))
    progress.update(Event("epoch", jobs[2], entry={"epoch": 3}))
    assert list(progress.running.values()) == ["films mf rns seed 2 · epoch 3 · best recall@20 30.00% at epoch 1"]
    progress.update(ending(jobs[2], 1.0))
    assert progress.running == {}


def test_without_a_terminal_each_end_is_a_line_and_with_one_the_view_is_live(
    jobs: list[Job], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(quiet: bool = False) -> str:
        with grid_progress(quiet=quiet) as progress:
            progress.begin(jobs[:2])
            progress.update(Event("started", jobs[0]))
            progress.update(ending(jobs[0], 4.0))
            progress.update(Event("failed", jobs[1], error="[broken]"))
        return capsys.readouterr().err

    assert run().splitlines() == [
        "films mf rns seed 0: recall@20 50.00% on validation at epoch 5, 4.0 s; 1 of 2 runs",
        "films mf rns seed 1 failed: [broken]; 2 of 2 runs, 1 failed",
    ]
    assert run(quiet=True) == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    shown = run()
    assert "films mf rns seed 1 failed: [broken]" in shown
    assert "2 of 2 runs, 1 failed" in shown


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


def test_what_is_said_of_a_trial() -> None:
    first, last = trial(0, value=0.1234), trial(1, value=0.12)
    ended = search_words(SearchProgress(search(first, last), "sahc", trial=last))
    assert ended == ["sahc 2 of 5: alpha=0.1: recall@20 12.00% at epoch 5", "best 12.34% with alpha=0"]
    failed = trial(1, "failed", None, error="the loss became nan")
    assert "failed: the loss became nan" in search_words(SearchProgress(search(first, failed), "sahc", trial=failed))[0]
    now = search_words(SearchProgress(search(first), "sahc", {"alpha": 0.7}, {"epoch": 35}))
    assert now[0] == "sahc 2 of 5: alpha=0.7 · epoch 35"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_search_is_live_on_a_terminal_and_lines_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "100")
    last = trial(1)
    with tune_progress(["sahc: 49 points"]) as watch:
        assert watch is not None
        watch(SearchProgress(search()))
        watch(SearchProgress(search(last), "sahc", trial=last))
    shown = capsys.readouterr().err
    assert shown.count("sahc: 49 points\n") == 1
    assert "1 of 6 trials" in shown
    if not terminal:
        assert [line.partition(";")[0] for line in shown.splitlines()[1:]] == search_words(
            SearchProgress(search(last), "sahc", trial=last)
        )[:1]
