"""A GPU that dies costs the job it was at; its process takes no further one, and of several another comes in its place."""

import shutil
import sys
from pathlib import Path

import pytest

from sahcns.errors import DeviceError
from sahcns.lab.grid.run import Event, run_grid
from sahcns.samplers import DNS, RNS
from sahcns.training import Protocol
from tests.lab.grid.jobs import expected, files, job, prepared
from tests.lab.killing import wait_until
from tests.lab.played_gpu import SENTENCE, leaving_together, played_gpu


def test_one_process_ends_and_the_next_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, data, out, events = played_gpu(tmp_path, monkeypatch), prepared(tmp_path), tmp_path / "out", list[Event]()
    jobs = [job(data, one, imports=[gpu.file]) for one in (RNS(), gpu.deadly(), DNS())]
    first, deadly, last = jobs
    gpu.arm("parent")
    with pytest.raises(DeviceError) as told:
        run_grid(jobs, out, device="cpu", on_event=events.append)
    assert str(told.value) == SENTENCE
    assert [(event.kind, event.job) for event in events if event.kind != "epoch"] == [
        *((kind, first) for kind in ("started", "finished")),
        *((kind, deadly) for kind in ("started", "failed")),
    ]
    assert events[-1].error == SENTENCE
    assert files(out) == {**expected([first]), "failed": [f"{deadly.key}.json"]}

    gpu.begin_anew(armed=True)  # whatever is deadly is so again, and keeps nothing else from being run
    with pytest.raises(DeviceError):
        run_grid(jobs, out, device="cpu")
    assert files(out) == {**expected([first, last]), "failed": [f"{deadly.key}.json"]}

    gpu.begin_anew()
    outcome = run_grid(jobs, out, device="cpu")
    assert [result.key for result in outcome.results] == [one.key for one in jobs]
    assert outcome.failures == []
    assert files(out) == {**expected(jobs), "failed": []}


def test_of_several_processes_one_that_lost_its_gpu_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    gpu, data, out, events = played_gpu(tmp_path, monkeypatch), prepared(tmp_path), tmp_path / "out", list[Event]()
    deadly = [job(data, gpu.deadly(), seed, imports=[gpu.file]) for seed in range(2)]
    good = [job(data, gpu.working(), seed, imports=[gpu.file]) for seed in range(2)]
    gpu.arm("child")
    outcome = run_grid([*deadly, *good], out, workers=2, device="cpu", on_event=events.append)
    assert [result.key for result in outcome.results] == [one.key for one in good]
    assert [(failure.key, failure.error) for failure in outcome.failures] == [(one.key, SENTENCE) for one in deadly]
    assert "and so says every later call" in outcome.failures[0].traceback
    assert len(gpu.dead) == 2  # processes, one for each that died
    for one in (*deadly, *good):
        assert [event.kind for event in events if event.job == one].count("started") == 1
    assert "Traceback" not in capfd.readouterr().err


def test_what_cannot_begin_is_not_replaced_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, data = played_gpu(tmp_path, monkeypatch), prepared(tmp_path)
    jobs = [job(data, kind(), seed, imports=[gpu.file]) for kind in (gpu.deadly, gpu.working) for seed in range(2)]
    nothing = shutil.which("false")
    assert nothing is not None
    gpu.arm("child")

    def no_more(event: Event) -> None:
        if event.kind == "failed":
            monkeypatch.setattr(sys, "executable", nothing)

    outcome = run_grid(jobs, tmp_path / "out", workers=2, device="cpu", on_event=no_more)
    assert len(outcome.failures) == 4
    assert all("code 1;" in failure.error for failure in outcome.failures if failure.error != SENTENCE)
    assert 1 <= len(gpu.dead) <= 2


def test_all_are_told_to_end_before_any_is_waited_for(tmp_path: Path) -> None:
    """The end of one can break the GPU that the others are still at."""
    endless = Protocol(epochs=10**6, patience=10**6, batch=16)
    own = leaving_together(tmp_path)
    jobs = [job(prepared(tmp_path), one, protocol=endless, imports=[own]) for one in (RNS(), DNS())]

    def interrupt(event: Event) -> None:
        wait_until(lambda: len(list(own.parent.glob("ready-*"))) == 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_grid(jobs, tmp_path / "out", workers=2, device="cpu", on_event=interrupt)
    assert len(list(own.parent.glob("told-*"))) == 2
    assert not (own.parent / "alone").exists()
