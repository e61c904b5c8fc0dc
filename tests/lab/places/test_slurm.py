"""Slurm by submitit's own executor of local processes, which goes the same way but for sbatch."""

from pathlib import Path

import pytest

from sahcns.errors import SettingError
from sahcns.importing import import_files
from sahcns.lab.grid.run import Event, run_grid
from sahcns.samplers import DNS, RNS, Sampler
from sahcns.settings import class_named
from sahcns.training import Protocol
from tests.lab.grid.jobs import expected, files, job, prepared
from tests.lab.killing import wait_until
from tests.own_samplers import RAISING, write_samplers

LOCAL = "slurm:cluster=local,timeout_min=5"

UNLUCKY = """
try:
    Path(__file__).with_name("died").touch(exist_ok=False)
except FileExistsError:
    return match.pick(match.scores.argmin(1))
os.kill(os.getpid(), signal.SIGKILL)  # its first process
"""
OWN = {"raising-in-slurm": RAISING, "unlucky-in-slurm": UNLUCKY}


def at_work(folder: Path) -> bool:
    """Whether any process has the folder in its command line."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().decode())
        except OSError:
            continue
    return any(str(folder) in line for line in lines)


def test_jobs_come_to_what_they_come_to_here_and_one_that_was_lost_is_handed_in_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("submitit.core.core.Job._results_timeout_s", 0)  # of a shared disk that is slow
    data, out, events = prepared(tmp_path), tmp_path / "out", list[Event]()
    own = write_samplers(tmp_path / "slurm_own.py", OWN)
    import_files([own])
    raising, unlucky = (class_named(Sampler, name)() for name in OWN)
    good = [job(data, DNS()), job(data, unlucky, imports=[own])]
    jobs = [job(data, raising, imports=[own]), *good]
    outcome = run_grid(jobs, out, device="cpu", on=LOCAL, on_event=events.append)
    assert files(out) == {**expected(good), "failed": [f"{jobs[0].key}.json"]}
    (failure,) = outcome.failures
    assert failure.error == "RuntimeError: it is broken (slurm_own.py, line 14)"
    assert 'slurm_own.py", line 14, in choose' in failure.traceback
    told = [event.kind for event in events if event.job == good[1]]
    assert told == ["started", "started", "epoch", "epoch", "finished"]
    here = run_grid(good, tmp_path / "here", device="cpu")
    assert [one.test for one in here.results] == [one.test for one in outcome.results]


def test_jobs_end_when_they_are_interrupted(tmp_path: Path) -> None:
    endless = Protocol(epochs=10**6, patience=10**6, batch=16)
    out = tmp_path / "out"

    def interrupt(event: Event) -> None:
        if event.kind == "epoch":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_grid([job(prepared(tmp_path), RNS(), protocol=endless)], out, device="cpu", on=LOCAL, on_event=interrupt)
    wait_until(lambda: not at_work(out))
    assert files(out) == {"claims": []}


@pytest.mark.parametrize("wrong", ["slurm", "slurm:partition", "slurm:cluster=local,no_such=1"])
def test_what_submitit_does_not_know_is_a_sentence(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(SettingError, match=r"srun|partition|no_such"):
        run_grid([job(prepared(tmp_path))], tmp_path / "out", device="cpu", on=wrong)
    assert not (tmp_path / "out" / "slurm").exists()
