"""A Ray cluster of three nodes on this machine: what is lost is made again, what is there is not, all as it is here."""

import math
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sahcns.errors import SettingError
from sahcns.importing import import_files
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.run import Event, run_grid
from sahcns.lab.places.ray_cluster import RayCluster, share
from sahcns.samplers import RNS, Sampler
from sahcns.settings import class_named
from sahcns.training import Protocol
from tests.lab.grid.jobs import expected, files, job, prepared, several
from tests.lab.grid.process import runner
from tests.lab.killing import PATIENCE, ended, forked, wait_until
from tests.own_samplers import RAISING, write_samplers

SOFTEST = """
from ray_beside import softest
print("a sampler may print")
return match.pick(softest(match.scores))
"""
DIED = """
with open("{died}", "a") as file:
    file.write(".")
os.kill(os.getpid(), signal.SIGKILL)
"""
PATIENT = """
open(f"{go}-{os.getpid()}", "w").close()
while not os.path.exists("{go}"):
    time.sleep(0.01)
return match.pick(match.scores.argmax(1))
"""
BESIDE = "def softest(scores):\n    return scores.argmin(1)\n"


@pytest.fixture
def cluster() -> Iterator[Any]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 << 20}
    # A killed node refuses at once; one on a busy machine may take its time to answer.
    soon = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
    lean = {"enable_worker_prestart": False, "prestart_worker_first_driver": False, "health_check_timeout_ms": 60_000}
    head = {**node, "include_dashboard": False, "_system_config": {**soon, **lean}}
    former = signal.getsignal(signal.SIGTERM)
    made = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        made.add_node(wait=False, **node)
    made.wait_for_nodes()
    signal.signal(signal.SIGTERM, former)  # Ray's own would end this process with its nodes, in whatever test
    yield made
    made.shutdown()  # type: ignore[no-untyped-call]


def drive(jobs: list[Job], out: Path, on: str, own: Path, printed: Path, line: Any) -> None:
    """A driver in a process of its own, which Ray ends where it loses sight of its node. It names its node first."""
    import ray

    os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT), 1)
    import_files([own])
    RayCluster.tries = 2
    events = list[tuple[str, str]]()

    def hear(event: Event) -> None:
        if not events:
            line.send(ray.get_runtime_context().get_node_id())
        events.append((event.job.key, event.kind))

    outcome = run_grid(jobs, out, device="cpu", on=on, on_event=hear)
    begun = Counter(key for key, kind in events if kind == "started")
    line.send((begun, [one.test for one in outcome.results], outcome.failures))


def test_a_killed_driver_a_killed_node_and_jobs_that_fail(cluster: Any, tmp_path: Path) -> None:
    """The first driver is killed in the middle; under the second a node is. Every result is there once, as it is here."""
    data, out, on = prepared(tmp_path), tmp_path / "out", f"ray:{cluster.address}"
    died, patient_one = DIED.replace("{died}", str(tmp_path / "died")), PATIENT.replace("{go}", str(tmp_path / "go"))
    chosen = {"raising": RAISING, "deadly": died, "softest": SOFTEST, "patient": patient_one}
    own = write_samplers(tmp_path / "ray_own.py", {f"{name}-on-ray": lines for name, lines in chosen.items()})
    (tmp_path / "ray_beside.py").write_text(BESIDE)
    import_files([own])
    raising, deadly, softest, patient = (class_named(Sampler, f"{name}-on-ray") for name in chosen)
    good = several(data, 4, Protocol(epochs=40, batch=16, evaluate_every=10))
    first = runner(good, out, None, on=on)
    wait_until(lambda: any((out / "runs").glob("[!.]*")))
    first.kill()
    ended(first)
    before = {path.stem: path.read_bytes() for path in (out / "runs").glob("[!.]*")}
    assert 1 <= len(before) <= 5

    bad = [job(data, one(), imports=[own]) for one in (raising, deadly)]
    waiting = [job(data, patient(), seed, imports=[own]) for seed in range(3)]  # till a node is killed: one on each
    good = [*waiting, *good, job(data, softest(), imports=[own])]
    here, there = multiprocessing.Pipe()
    second = forked([__name__], drive, [*good, *bad], out, on, own, tmp_path / "printed", there)
    there.close()  # so that a driver that was lost is an error, and not waited for
    assert here.poll(PATIENCE)
    ours = here.recv()
    wait_until(lambda: len([*tmp_path.glob("go-*")]) == 3)  # each node is at one
    cluster.remove_node(next(one for one in cluster.worker_nodes if one.node_id != ours), allow_graceful=False)
    wait_until(lambda: any(not Path(f"/proc/{one.name[3:]}").exists() for one in tmp_path.glob("go-*")))
    (tmp_path / "go").touch()
    assert here.poll(PATIENCE)
    begun, tests, (broken, lost) = here.recv()
    assert ended(second) == 0
    assert "a sampler may print" not in (tmp_path / "printed").read_text()
    assert set(begun) == {one.key for one in [*good, *bad]} - set(before)
    del begun[bad[1].key]  # it dies before all of its reports are sent
    assert (tmp_path / "died").read_text() == ".."
    assert {one.key for one in waiting if begun[one.key] == 2} == {key for key, times in begun.items() if times != 1}
    assert sorted(begun[one.key] for one in waiting) == [1, 1, 2]  # what was at the node that was killed
    assert {path.stem: path.read_bytes() for path in (out / "runs").iterdir() if path.stem in before} == before
    done = files(out)
    assert {name: done[name] for name in ("runs", "users", "claims")} == expected(good)
    assert done["failed"] == sorted(f"{one.key}.json" for one in bad)
    assert tests == [one.test for one in run_grid(good, tmp_path / "here", device="cpu").results]
    assert broken.error == "RuntimeError: it is broken (ray_own.py, line 14)"
    assert 'ray_own.py", line 14, in choose' in broken.traceback
    assert "was lost" in lost.error


@pytest.mark.parametrize("on", ["ray://10.0.0.1:10001", "ray:ray://10.0.0.1:10001", "ray:127.0.0.1:1", "ray:head"])
def test_what_is_no_cluster_of_this_machine_is_a_sentence(tmp_path: Path, on: str) -> None:
    with pytest.raises(SettingError, match="ray"):
        run_grid([job(prepared(tmp_path), RNS())], tmp_path / "out", device="cpu", on=on)


@pytest.mark.parametrize(
    ("workers", "gpu", "ask", "together"),
    [
        (None, True, {"num_gpus": 1.0, "num_cpus": 4}, 1),
        (6, True, {"num_gpus": 0.5, "num_cpus": 2}, 2),
        (9, True, {"num_gpus": 0.3333, "num_cpus": 1}, 3),
        (2, True, {"num_gpus": 1.0, "num_cpus": 8}, 1),
        (None, False, {"num_cpus": 1}, 8),
        (4, False, {"num_cpus": 4}, 2),
        (5, False, {"num_cpus": 2}, 4),
        (100, False, {"num_cpus": 1}, 8),
    ],
)
def test_so_many_at_once_share_the_gpus_or_the_cores(
    workers: int | None, gpu: bool, ask: dict[str, float], together: int
) -> None:
    nodes = [{"CPU": 8.0, "GPU": 2.0}, {"CPU": 8.0, "GPU": 1.0}, {"memory": 1e9}]
    assert share(nodes, workers, gpu) == (ask, together)
    if gpu:
        assert math.floor(1 / ask["num_gpus"]) * 3 >= (workers or 3)
