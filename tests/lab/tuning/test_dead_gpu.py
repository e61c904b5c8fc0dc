"""A trial whose GPU died is given back and does not count; its process takes no further one, and the others go on."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sahcns.data import save_split
from sahcns.errors import DeviceError
from sahcns.lab.tuning.trials import Search, read_search
from sahcns.lab.tuning.tune import Standing
from sahcns.samplers import SAHC
from tests.lab.killing import children, wait_until
from tests.lab.played_gpu import SENTENCE, PlayedGpu, leaving_together, played_gpu
from tests.lab.tuning.process import essence, quick
from tests.lab.tuning.test_processes import takers
from tests.model.films import films


def states(search: Search) -> list[str]:
    return [trial.state for trial in search.trials]


def helping() -> list[int]:
    return children(os.getpid(), "sahcns.lab.tuning.worker")


def arming(gpu: PlayedGpu, after: int) -> Callable[[Standing], None]:
    """Once so many trials are complete."""

    def watch(standing: Standing) -> None:
        if states(standing.search).count("complete") == after:
            gpu.arm("parent")

    return watch


def test_one_process_ends_and_a_second_call_comes_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, out = played_gpu(tmp_path, monkeypatch), tmp_path / "out"
    whole = quick(tmp_path / "undisturbed", gpu.deadly)
    with pytest.raises(DeviceError) as told:
        quick(out, gpu.deadly, watch=arming(gpu, after=2))
    assert str(told.value) == SENTENCE
    assert states(read_search(out)) == ["complete", "complete", "lost"]
    assert list((out / "claims").iterdir()) == []
    gpu.begin_anew()
    found = quick(out, gpu.deadly)
    assert states(found) == ["complete", "complete", "lost", "complete", "complete"]
    assert found.trials[3].point == found.trials[2].point
    assert essence(found) == essence(whole)


def test_the_others_go_on_with_the_trial_of_a_worker_that_lost_its_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    gpu, data, out = played_gpu(tmp_path, monkeypatch), save_split(films(), tmp_path / "films"), tmp_path / "out"
    gpu.arm("child")

    def wait(standing: Standing) -> None:
        """Until the worker's trial has come to some end."""
        wait_until(lambda: standing.entry is None or not {"lost", "failed"}.isdisjoint(states(read_search(out))))

    found = quick(out, gpu.deadly, data=data, workers=2, imports=[gpu.file], watch=wait)
    assert sorted(states(found)) == [*["complete"] * 4, "lost"]
    assert len(found.of(gpu.deadly.name)) == 4
    (lost,) = (trial for trial in found.trials if trial.state == "lost")
    assert lost.point in [trial.point for trial in found.trials if trial.state == "complete"]
    said = capfd.readouterr().err
    assert said.endswith(f"a worker has ended, the others go on: {SENTENCE}\n")
    assert "Traceback" not in said


def test_with_the_process_that_was_asked_the_search_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, data, out = played_gpu(tmp_path, monkeypatch), save_split(films(), tmp_path / "films"), tmp_path / "out"

    def arm(standing: Standing) -> None:
        """Once the worker is at a trial too."""
        if standing.entry is not None:
            wait_until(lambda: len(takers(out)) == 2)
            gpu.arm("parent")

    with pytest.raises(DeviceError, match="the GPU does not answer"):
        quick(out, gpu.deadly, data=data, trials=12, workers=2, imports=[gpu.file], watch=arm)
    assert helping() == []
    assert set(states(read_search(out))) <= {"complete", "lost", "running"}
    gpu.begin_anew()
    found = quick(out, gpu.deadly, data=data, trials=12)
    assert states(found).count("complete") == len(found.of(gpu.deadly.name)) == 12
    assert set(states(found)) == {"complete", "lost"}
    assert list((out / "claims").iterdir()) == []


def test_all_are_told_to_end_before_any_is_waited_for(tmp_path: Path) -> None:
    """The end of one can break the GPU that the others are still at."""
    own, data = leaving_together(tmp_path), save_split(films(), tmp_path / "films")

    def stop(standing: Standing) -> None:
        if standing.entry is not None:
            wait_until(lambda: len(list(own.parent.glob("ready-*"))) == 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(tmp_path / "out", SAHC, data=data, trials=40, workers=3, imports=[own], watch=stop)
    assert len(list(own.parent.glob("told-*"))) == 2
    assert not (own.parent / "alone").exists()
