"""The grid in one process: what is there is not run again, what fails does not stop the rest."""

import dataclasses
import json
import os
import signal
import time
from pathlib import Path

import pytest

from sahcns.errors import DataError, SettingError
from sahcns.importing import import_files
from sahcns.lab.grid.locks import lock
from sahcns.lab.grid.result import results_in
from sahcns.lab.grid.run import Event, run_grid
from sahcns.samplers import DNS, RNS, Sampler
from sahcns.settings import class_named
from sahcns.training import Protocol
from tests.lab.grid.jobs import expected, files, job, prepared, several
from tests.own_samplers import write_samplers

FRAGILE = """
if Path(__file__).with_name("broken").exists():
    raise IndexError("row 7 is\\n  nowhere")
return match.pick(match.scores.argmin(1))
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def test_each_job_has_its_result_and_a_second_call_runs_nothing(data: Path, tmp_path: Path) -> None:
    jobs, out, events = several(data, 2), tmp_path / "out", list[Event]()
    outcome = run_grid(jobs, out, device="cpu", on_event=events.append)
    assert files(out) == expected(jobs)
    assert [result.key for result in outcome.results] == [job.key for job in jobs]
    assert outcome.failures == []
    one = [event.kind for event in events if event.job == jobs[1]]
    assert one == ["started", "epoch", "epoch", "finished"]
    assert events[-1].result is not None
    assert events[-1].result.metric("recall@10") == outcome.results[-1].metric("recall@10")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.*")}
    events.clear()
    again = run_grid(jobs, out, device="cpu", on_event=events.append)
    assert [event.kind for event in events] == ["skipped"] * 4
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.*")} == before
    assert [one.to_dict() for one in again.results] == [one.to_dict() for one in outcome.results]


def test_only_what_is_missing_is_run(data: Path, tmp_path: Path) -> None:
    jobs, out, events = several(data, 2), tmp_path / "out", list[Event]()
    run_grid(jobs[:3], out, device="cpu")
    (out / "runs" / f"{jobs[0].key}.json").unlink()  # without this file a job is not done, whatever else is there
    run_grid([*jobs, *jobs], out, device="cpu", on_event=events.append)
    assert [event.job.key for event in events if event.kind == "started"] == [jobs[0].key, jobs[3].key]
    assert files(out) == expected(jobs)


def test_a_result_goes_by_the_label_that_is_asked_for(data: Path, tmp_path: Path) -> None:
    first = job(data, label="first")
    run_grid([first], tmp_path / "out", device="cpu")
    renamed = dataclasses.replace(first, label="second")
    assert run_grid([renamed], tmp_path / "out", device="cpu").results[0].label == "second"
    assert results_in(tmp_path / "out")[0].label == "first"


def test_a_job_that_fails_does_not_stop_the_rest_and_is_tried_again(data: Path, tmp_path: Path) -> None:
    own = write_samplers(tmp_path / "grid_fragile.py", {"fragile-in-grid": FRAGILE})
    (tmp_path / "broken").touch()
    import_files([own])
    fragile = class_named(Sampler, "fragile-in-grid")()
    jobs = [job(data, RNS()), job(data, fragile, imports=[own]), job(data, DNS())]
    out, events = tmp_path / "out", list[Event]()
    outcome = run_grid(jobs, out, device="cpu", on_event=events.append)
    assert [result.label for result in outcome.results] == ["rns", "dns"]
    told = ["IndexError: row 7 is nowhere (grid_fragile.py, line 15)"]
    assert [failure.error for failure in outcome.failures] == told
    assert [event.error for event in events if event.kind == "failed"] == told
    assert files(out) == {**expected([jobs[0], jobs[2]]), "failed": [f"{jobs[1].key}.json"]}
    told = json.loads((out / "failed" / f"{jobs[1].key}.json").read_text())
    assert told["label"] == "fragile-in-grid"
    assert 'grid_fragile.py", line 15, in choose' in told["traceback"]
    again = run_grid(jobs, out, device="cpu")  # still broken: tried, and failed
    assert len(again.failures) == 1
    (tmp_path / "broken").unlink()
    healed = run_grid(jobs, out, device="cpu")
    assert (len(healed.results), healed.failures) == (3, [])
    assert files(out) == {**expected(jobs), "failed": []}


def test_ctrl_c_leaves_the_folder_in_order(data: Path, tmp_path: Path) -> None:
    jobs, out = several(data, 2), tmp_path / "out"

    def stop(event: Event) -> None:
        if event.kind == "epoch" and event.job == jobs[2]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_grid(jobs, out, device="cpu", on_event=stop)
    assert files(out) == expected(jobs[:2])
    run_grid(jobs, out, device="cpu")
    assert files(out) == expected(jobs)


def test_a_job_that_another_process_has_is_waited_for(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, out, events, naps = several(data, 1), tmp_path / "out", list[Event](), list[float]()
    held = lock(out, jobs[0].key)
    assert held.__enter__()

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            held.__exit__(None, None, None)  # and it did not finish it

    monkeypatch.setattr(time, "sleep", nap)
    outcome = run_grid(jobs, out, device="cpu", on_event=events.append)
    assert len(naps) == 3
    kinds = [(event.kind, event.job.key) for event in events if event.kind in ("elsewhere", "started", "finished")]
    first, second = (one.key for one in jobs)
    assert kinds == [
        ("elsewhere", first),
        *((what, key) for key in (second, first) for what in ("started", "finished")),
    ]
    assert len(outcome.results) == 2


def test_what_cannot_be_is_refused_before_anything_runs(data: Path, tmp_path: Path) -> None:
    jobs, events, out = several(data, 1), list[Event](), tmp_path / "out"
    for wrong in ({"workers": 0}, {"device": "gpu"}):
        with pytest.raises(SettingError, match=r"0|gpu"):
            run_grid(jobs, out, **wrong)
    assert not out.exists()
    (out / "runs").mkdir(parents=True)
    (out / "runs" / f"{jobs[1].key}.json").write_text("{")
    with pytest.raises(DataError, match=jobs[1].key):
        run_grid(jobs, out, device="cpu", on_event=events.append)
    assert events == []


def test_when_time_is_up_the_job_at_hand_is_finished(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, now = several(data), [0.0]
    monkeypatch.setattr("sahcns.lab.grid.run.time.time", lambda: now[0])

    def pass_time(event: Event) -> None:
        now[0] += event.kind == "started"

    outcome = run_grid(jobs, tmp_path / "out", device="cpu", on_event=pass_time, until=2.0)
    assert [one.key for one in outcome.results] == [job.key for job in jobs[:2]]
    late = run_grid(jobs, tmp_path / "out", workers=2, device="cpu", until=1.0)
    assert len(late.results) == 2
    assert len(run_grid(jobs, tmp_path / "out", device="cpu", until=100.0).results) == len(jobs)


def test_a_job_that_was_stopped_goes_on_within_its_training(data: Path, tmp_path: Path) -> None:
    long = Protocol(epochs=8, batch=16, evaluate_every=2)
    one, out, epochs = job(data, RNS(), protocol=long), tmp_path / "out", list[int]()
    expected_result = run_grid([one], tmp_path / "undisturbed", device="cpu").results[0]

    def stop_in_epoch_3(event: Event) -> None:
        if event.entry is not None:
            epochs.append(event.entry["epoch"])
            if epochs == [0, 1, 2, 3]:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_grid([one], out, device="cpu", on_event=stop_in_epoch_3)
    assert [path.name for path in (out / "unfinished").iterdir()] == [one.key]
    result = run_grid([one], out, device="cpu", on_event=stop_in_epoch_3).results[0]
    assert epochs == [0, 1, 2, 3, *range(8)]
    assert (result.test, result.history["loss"]) == (expected_result.test, expected_result.history["loss"])
    assert list((out / "unfinished").iterdir()) == []
