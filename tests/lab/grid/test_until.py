"""A grid with a time after which nothing is begun: what is missing stays missing, and nothing is broken."""

import time
from pathlib import Path

import pytest

from sahcns.lab.grid.running import Event, run_grid
from tests.lab.grid.jobs import prepared, several


@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_is_begun_when_it_is_late(tmp_path: Path, workers: int) -> None:
    jobs = several(prepared(tmp_path))
    outcome = run_grid(jobs, tmp_path / "grid", workers=workers, device="cpu", until=time.time() - 1)
    assert (outcome.results, outcome.failures) == ([], [])


def test_what_is_under_way_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, now = several(prepared(tmp_path)), [0.0]
    monkeypatch.setattr("sahcns.lab.grid.running.time.time", lambda: now[0])

    def told(event: Event) -> None:
        now[0] += event.kind == "started"

    outcome = run_grid(jobs, tmp_path / "grid", device="cpu", on_event=told, until=2.0)
    assert [one.key for one in outcome.results] == [job.key for job in jobs[:2]]
    rest = run_grid(jobs, tmp_path / "grid", device="cpu", until=100.0)
    assert len(rest.results) == len(jobs)
