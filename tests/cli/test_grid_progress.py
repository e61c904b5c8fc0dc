"""What is shown of a grid in progress is true: what is done, what runs, and how long it will take."""

from pathlib import Path

import pytest

from sahcns.cli.progress import GridProgress, grid_progress
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.run import Event, Kind
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


def test_the_time_left_is_that_of_the_same_row_or_else_of_all(jobs: list[Job]) -> None:
    progress = GridProgress(jobs=jobs)
    progress.update(Event("started", jobs[0]))
    assert str(progress) == "0 of 8 runs"
    progress.update(ending(jobs[0], 10.0, "skipped"))
    assert progress.seconds_left() == 70.0  # all that is known
    progress.update(ending(jobs[4], 30.0))
    assert progress.seconds_left() == 3 * 10.0 + 3 * 30.0
    progress.workers = 2
    assert str(progress) == "2 of 8 runs, 1:00 left"


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
        "films mf rns seed 0: recall@20 50.00% on validation at epoch 5, 4.0 s; 1 of 2 runs, 0:04 left",
        "films mf rns seed 1 failed: [broken]; 2 of 2 runs, 1 failed",
    ]
    assert run(quiet=True) == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    shown = run()
    assert "films mf rns seed 1 failed: [broken]" in shown
    assert "2 of 2 runs, 1 failed" in shown
