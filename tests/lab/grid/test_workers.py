"""The grid over processes of its own: a user's file reaches them, one that dies costs one job, none outlives its parent."""

import os
from pathlib import Path

import pytest

from sahcns.importing import import_files
from sahcns.lab.grid.run import Event, run_grid
from sahcns.samplers import DNS, RNS, Sampler
from sahcns.settings import class_named
from sahcns.training import Protocol
from tests.lab.grid.jobs import expected, files, job, prepared, several
from tests.lab.grid.process import epochs, runner, started
from tests.lab.killing import children, ended, wait_until
from tests.own_samplers import DEADLY, RAISING, SOFTEST, write_samplers

OWN = {
    "deadly-over-processes": DEADLY,
    "raising-over-processes": RAISING,
    "softest-over-processes": f"print('a sampler may print')\n{SOFTEST}",
}


def test_two_workers_with_a_user_s_file_in_which_one_sampler_raises_and_one_kills(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, own, out = prepared(tmp_path), write_samplers(tmp_path / "processes_own.py", OWN), tmp_path / "out"
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "random.py").write_text("raise SystemExit('in the current folder, and not the one meant')\n")
    monkeypatch.chdir(tmp_path / "here")
    import_files([own])
    mine = [job(data, class_named(Sampler, name)(), imports=[own]) for name in OWN]
    jobs = [*mine, *several(data, 2)]
    events: list[Event] = []
    outcome = run_grid(jobs, out, workers=2, device="cpu", on_event=events.append)
    good = jobs[2:]
    assert [result.key for result in outcome.results] == [one.key for one in good]
    assert files(out) == {**expected(good), "failed": sorted(f"{one.key}.json" for one in mine[:2])}
    deadly, raising = (failure.error for failure in outcome.failures)
    assert "signal 9 (Killed)" in deadly
    assert raising == "RuntimeError: it is broken (processes_own.py, line 21)"
    for one in jobs:
        kinds = [event.kind for event in events if event.job == one and event.kind != "elsewhere"]
        assert kinds.count("started") == 1
        assert kinds[-1] == ("failed" if one in mine[:2] else "finished")
        assert kinds.count("finished") + kinds.count("failed") == 1
    assert [event.result is not None for event in events if event.kind == "finished"] == [True] * len(good)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "a sampler may print" in shown.err
    here = run_grid(good, tmp_path / "one", device="cpu")
    assert [one.test for one in here.results] == [one.test for one in outcome.results]
    assert {one.processes for one in outcome.results} == {2}
    assert {one.processes for one in here.results} == {1}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sigterm_leaves_the_folder_in_order(tmp_path: Path, workers: int) -> None:
    endless = Protocol(epochs=10**6, patience=10**6, batch=16)
    jobs, out = several(prepared(tmp_path), 1, endless), tmp_path / "out"
    parent = runner(jobs, out, workers)
    wait_until(lambda: len(started(out)) >= workers and epochs(out) > 0)
    below = children(parent.pid, "sahcns.lab.places.processes")
    parent.terminate()
    assert ended(parent) == 1  # by KeyboardInterrupt
    assert files(out)["claims"] == []
    assert len(below) == (workers if workers > 1 else 0)
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)


def test_workers_end_with_their_parent_whether_killed_or_interrupted(tmp_path: Path) -> None:
    endless = Protocol(epochs=10**6, patience=10**6, batch=16)
    data, out = prepared(tmp_path), tmp_path / "out"
    parent = runner(several(data, 1, endless), out, workers=2)
    wait_until(lambda: len(started(out)) == 2)
    workers = children(parent.pid)
    assert len(workers) == 2
    parent.kill()
    ended(parent)
    wait_until(
        lambda: not any(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in workers if Path(f"/proc/{pid}").exists())
    )
    events: list[Event] = []

    def interrupt(event: Event) -> None:
        events.append(event)
        if event.kind == "started":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_grid(
            [job(data, RNS(), protocol=endless), job(data, DNS(), protocol=endless)], out, workers=2, on_event=interrupt
        )
    assert [event.kind for event in events].count("started") == 1
    assert children(os.getpid(), "sahcns.lab.places.processes") == []
    assert files(out) == {"claims": []}
