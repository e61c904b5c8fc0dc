"""Runners that are killed, and runners side by side: each result once, whole, and nothing left behind."""

import os
import random
import signal
from pathlib import Path

import pytest

from sahcns.lab.grid.job import Job
from sahcns.lab.grid.result import results_in
from sahcns.lab.grid.run import run_grid
from sahcns.training import Protocol
from tests.lab.grid.jobs import expected, files, prepared, several
from tests.lab.grid.process import dying_runner, epochs, runner, started
from tests.lab.killing import ended, wait_until

LONGER = Protocol(epochs=20, batch=16, evaluate_every=4)


def killed_after(count: int, jobs: list[Job], out: Path) -> int | None:
    """The exit code of a runner that is killed when so many epochs are trained, unless it ends before."""
    moment = epochs(out) + count
    process = runner(jobs, out)
    wait_until(lambda: epochs(out) >= moment or not process.is_alive())
    process.kill()
    return ended(process)


def test_killed_at_ten_random_moments_and_started_again(tmp_path: Path) -> None:
    """Moments are counted in epochs, so that they are the same on a fast machine and on a busy one."""
    jobs, out = several(prepared(tmp_path), 4, LONGER), tmp_path / "out"
    assert ended(runner(jobs, tmp_path / "undisturbed")) == 0
    rng, killed = random.Random(7), 0
    for _ in range(10):
        killed += killed_after(rng.randrange(30), jobs, out) == -signal.SIGKILL
        if (out / "runs").exists():
            assert all(result.test for result in results_in(out))  # none torn at any time
    assert killed >= 5
    assert ended(runner(jobs, out)) == 0
    assert files(out) == expected(jobs)
    assert len(started(out)) > len(jobs)  # some were cut in the middle
    undisturbed = results_in(tmp_path / "undisturbed")
    assert [one.test for one in results_in(out)] == [one.test for one in undisturbed]
    for one in results_in(out):
        users = one.users()
        assert users is not None
        assert users["ndcg@20"].mean() == pytest.approx(one.metric("ndcg@20"), abs=1e-6)


def test_killed_in_the_middle_of_every_file(tmp_path: Path) -> None:
    """A job writes two files, users first: between them it is not done."""
    jobs, out = several(prepared(tmp_path), 1), tmp_path / "out"
    first = jobs[0].key
    for at, whole, done in ((1, [], []), (2, [f"{first}.npz"], []), (3, [f"{first}.npz"], [first])):
        assert ended(dying_runner(jobs, out, at)) == -signal.SIGKILL
        left = [path.name for home in ("users", "runs") for path in (out / home).glob(".*")]
        assert len(left) == 1  # the half file, which the next runner sweeps up
        assert sorted(path.name for path in (out / "users").glob("[!.]*")) == whole
        assert [one.key for one in results_in(out)] == done if (out / "runs").exists() else done == []
        assert len(list((out / "claims").iterdir())) == 1
    run_grid(jobs, out, device="cpu")
    assert files(out) == expected(jobs)


def test_three_runners_on_one_folder_share_the_work(tmp_path: Path) -> None:
    jobs, out = several(prepared(tmp_path), 5), tmp_path / "out"
    three = [runner(jobs, out), runner(jobs[::-1], out), runner(jobs, out)]
    assert [ended(process) for process in three] == [0, 0, 0]  # each saw all of the results
    assert sorted(started(out)) == sorted(job.key for job in jobs)
    assert files(out) == expected(jobs)


def test_the_lock_of_a_living_runner_is_left_alone_and_a_dead_one_s_is_swept_up(tmp_path: Path) -> None:
    endless = Protocol(epochs=10**6, patience=10**6, batch=16)
    data = prepared(tmp_path)
    jobs, out = several(data, 1), tmp_path / "out"
    first = runner(several(data, 1, endless), out)
    wait_until(lambda: bool(started(out)))
    assert first.pid is not None
    os.kill(first.pid, signal.SIGSTOP)  # alive, and so its lock holds
    (locked,) = (out / "claims").iterdir()
    run_grid(jobs, out, device="cpu")
    assert locked.exists()
    first.kill()
    ended(first)
    run_grid(jobs, out, device="cpu")
    assert not locked.exists()
    assert files(out) == expected(jobs)
