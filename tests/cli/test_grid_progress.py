"""What is said of a grid in progress is true: what is done, what runs, and how long it will take."""

from pathlib import Path
from typing import Any

import pytest

from sahcns.cli.grid_progress import GridStanding, grid_progress
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.run import Event
from sahcns.samplers import DNS, RNS
from tests.lab.grid.jobs import job, prepared
from tests.lab.grid.test_result import result


@pytest.fixture
def jobs(tmp_path: Path) -> list[Job]:
    """Four seeds of RNS, then four of DNS."""
    data = prepared(tmp_path)
    return [job(data, sampler, seed) for sampler in (RNS(), DNS()) for seed in range(4)]


def ended(job: Job, seconds: float, kind: Any = "finished") -> Event:
    return Event(kind, job, result(seconds={"total": seconds}))


def test_nothing_is_known_at_first(jobs: list[Job]) -> None:
    standing = GridStanding(jobs)
    standing.update(Event("started", jobs[0]), 10.0)
    assert standing.left(11.0) is None
    assert standing.line(11.0) == "0 of 8 runs"


def test_the_time_left_is_that_of_the_same_row_or_else_of_all(jobs: list[Job]) -> None:
    standing = GridStanding(jobs)
    standing.update(ended(jobs[0], 10.0), 0.0)
    assert standing.left(0.0) == 70.0  # all that is known
    standing.update(ended(jobs[4], 30.0), 0.0)
    assert standing.left(0.0) == 3 * 10.0 + 3 * 30.0
    standing.update(Event("started", jobs[1]), 100.0)
    assert standing.left(104.0) == 2 * 10.0 + 3 * 30.0 + 6.0
    assert standing.left(150.0) == 2 * 10.0 + 3 * 30.0  # it takes longer than thought
    standing.workers = 2
    assert standing.left(150.0) == 55.0
    assert standing.line(150.0) == "2 of 8 runs, 0:55 left"


def test_what_was_there_counts_and_tells_how_long_it_takes(jobs: list[Job]) -> None:
    standing = GridStanding(jobs)
    for one in jobs[:4]:
        standing.update(ended(one, 5.0, "skipped"), 0.0)
    assert standing.line(0.0) == "4 of 8 runs, 0:20 left"


def test_failures_and_jobs_elsewhere(jobs: list[Job]) -> None:
    standing = GridStanding(jobs)
    standing.update(Event("elsewhere", jobs[0]), 0.0)
    standing.update(Event("failed", jobs[1], error="broken"), 0.0)
    assert standing.line(0.0) == "1 of 8 runs, 1 failed, 1 in other processes"
    standing.update(ended(jobs[0], 5.0), 0.0)
    assert standing.line(0.0) == "2 of 8 runs, 1 failed, 0:30 left"
    for one in jobs[2:]:
        standing.update(ended(one, 5.0), 0.0)
    assert standing.line(0.0) == "8 of 8 runs, 1 failed"


def test_a_run_in_progress_says_its_best_look(jobs: list[Job]) -> None:
    standing = GridStanding(jobs)
    standing.update(Event("started", jobs[2]), 0.0)
    for epoch, recall in ((0, 0.1), (1, 0.3), (2, 0.2)):
        standing.update(Event("epoch", jobs[2], entry={"epoch": epoch, "valid": {"recall@20": recall}}), 1.0)
    standing.update(Event("epoch", jobs[2], entry={"epoch": 3}), 1.0)
    (run,) = standing.running.values()
    assert str(run) == "films mf rns seed 2 · epoch 3 · best recall@20 30.00% at epoch 1"
    standing.update(ended(jobs[2], 1.0), 2.0)
    assert standing.running == {}


def test_without_a_terminal_each_end_is_a_line(jobs: list[Job], capsys: pytest.CaptureFixture[str]) -> None:
    with grid_progress(jobs[:2]) as told:
        assert told is not None
        told(Event("started", jobs[0]))
        told(ended(jobs[0], 4.0))
        told(Event("failed", jobs[1], error="it is broken"))
    assert capsys.readouterr().err.splitlines() == [
        "films mf rns seed 0: recall@20 50.00% on validation at epoch 5, 4.0 s; 1 of 2 runs, 0:04 left",
        "films mf rns seed 1 failed: it is broken; 2 of 2 runs, 1 failed",
    ]
    with grid_progress(jobs, quiet=True) as told:
        assert told is None


def test_on_a_terminal_the_view_is_live(
    jobs: list[Job], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with grid_progress(jobs) as told:
        assert told is not None
        told(Event("started", jobs[0]))
        told(Event("epoch", jobs[0], entry={"epoch": 7}))
        told(Event("failed", jobs[1], error="[broken]"))
        told(ended(jobs[0], 4.0))
    shown = capsys.readouterr().err
    assert "films mf rns seed 1 failed: [broken]" in shown
    assert "2 of 8 runs, 1 failed, 0:24 left" in shown
