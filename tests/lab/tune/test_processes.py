"""Searches that are killed, side by side, or lose their GPU: the same trials in the end, as many as were asked for."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sahcns.data import save_split
from sahcns.errors import DeviceError
from sahcns.importing import import_files
from sahcns.lab.tune.search import Search, Tuned, read_search
from sahcns.lab.tune.tune import SearchProgress
from sahcns.samplers import Sampler
from sahcns.settings import Between, class_named
from tests.lab.killing import children, ended
from tests.lab.played_gpu import SENTENCE, PlayedGpu, played_gpu
from tests.lab.tune.process import dying_searcher, essence, quick, searcher
from tests.model.films import films

OWN = """
from dataclasses import dataclass
import sahcns

@dataclass(frozen=True)
class OfMyOwn(sahcns.Sampler):
    name = 'of-my-own'
    a: float = sahcns.setting(0.5, 'anything', low=0)
    b: int = sahcns.setting(1, 'anything', low=0)
    c: int = sahcns.setting(1, 'anything', low=0)

    def choose(self, match, rng):
        return match.pick(match.scores.argmax(1))
"""


def takers(out: Path) -> set[str]:
    """Processes that have taken trials."""
    return {trial.worker for trial in read_search(out).trials}


def states(search: Search) -> list[str]:
    return [trial.state for trial in search.trials]


def helping() -> list[int]:
    return children(os.getpid(), "sahcns.lab.places.processes")


def test_killed_wherever_it_writes_it_comes_to_the_same(tmp_path: Path) -> None:
    """Killed as it brings something to the disk, each time at another piece; each time it goes on from there."""
    whole = quick(tmp_path / "undisturbed", trials=3)
    out, killed = tmp_path / "out", 0
    for at in (1, 2, 3, 5, 8, 11, 15, 19):
        killed += ended(dying_searcher(out, at, trials=3)) == -signal.SIGKILL
        for name, read in (("trials.json", read_search), ("tuned.json", Tuned.read)):
            if (out / name).exists():
                read(out)  # never torn
    assert killed >= 6
    assert ended(searcher(out, trials=3)) == 0
    found = read_search(out)
    assert essence(found) == essence(whole)
    assert found.chosen == whole.chosen == Tuned.read(out).content["samplers"]
    assert "lost" in states(found)
    files = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
    assert files == ["claims", "trials.json", "tuned.json"]
    assert list((out / "claims").iterdir()) == []


def test_two_processes_share_one_budget(tmp_path: Path) -> None:
    out = tmp_path / "out"
    processes = [searcher(out, trials=8) for _ in range(2)]
    assert [ended(process) for process in processes] == [0, 0]
    search = read_search(out)
    assert {name: len(search.of(name)) for name in search.samplers} == {"sahc": 8, "dns-mn": 4}
    for name in search.samplers:
        assert len({tuple(trial.point.values()) for trial in search.of(name)}) == len(search.of(name))
        assert {trial.state for trial in search.of(name)} == {"complete"}
    assert len(takers(out)) == 2
    alone = {trial.point["top_k"]: trial.value for trial in quick(tmp_path / "alone", trials=8).of("dns-mn")}
    assert {trial.point["top_k"]: trial.value for trial in search.of("dns-mn")} == alone


def test_workers_share_the_folder_and_know_all_that_was_asked(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    import_files([tmp_path / "own.py"])
    kind, at_once = class_named(Sampler, "of-my-own"), set[int]()

    try:
        search = quick(
            tmp_path / "out",
            kind,
            data=save_split(films(), tmp_path / "films"),
            trials=5,
            workers=2,
            imports=[tmp_path / "own.py"],
            fixed={kind.name: {"c": 3}},
            search={kind.name: {"a": Between(1, 2), "b": (4,)}, "protocol.l2": (1e-4, 0.1)},
            first={kind.name: {"a": 1.25}},
            watch=lambda progress: at_once.add(len(helping())),
        )
    finally:
        kind.name = ""
    assert max(at_once) == 2
    assert helping() == []
    assert len(search.of("of-my-own")) == 5
    assert search.trials[0].settings["a"] == 1.25
    for trial in search.trials:
        assert 1 <= trial.settings["a"] <= 2
        assert (trial.settings["b"], trial.settings["c"]) == (4, 3)
        assert trial.settings["protocol.l2"] in (1e-4, 0.1)


def arming(gpu: PlayedGpu, after: int) -> Callable[[SearchProgress], None]:
    """Once so many trials are complete."""

    def watch(progress: SearchProgress) -> None:
        if states(progress.search).count("complete") == after:
            gpu.arm("parent")

    return watch


def test_a_process_whose_gpu_died_ends_and_a_second_call_comes_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu, out = played_gpu(tmp_path, monkeypatch), tmp_path / "out"
    whole = quick(tmp_path / "undisturbed", gpu.deadly)
    with pytest.raises(DeviceError):
        quick(out, gpu.deadly, watch=arming(gpu, after=2))
    assert states(read_search(out)) == ["complete", "complete", "lost"]
    gpu.begin_anew()
    found = quick(out, gpu.deadly)
    assert states(found) == ["complete", "complete", "lost", "complete", "complete"]
    assert essence(found) == essence(whole)


def test_the_others_go_on_with_the_trial_of_a_worker_that_lost_its_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    gpu, data, out = played_gpu(tmp_path, monkeypatch), save_split(films(), tmp_path / "films"), tmp_path / "out"
    gpu.arm("child")

    def mend(progress: SearchProgress) -> None:
        if progress.trial is not None and progress.trial.state == "lost":
            gpu.disarm("child")

    found = quick(out, gpu.deadly, data=data, workers=2, imports=[gpu.file], watch=mend)
    lost = [trial for trial in found.trials if trial.state == "lost"]
    assert states(found).count("complete") == len(found.trials) - len(lost) == 4
    assert len(lost) == len(gpu.dead) in (1, 2)  # the other may have begun before
    for trial in lost:
        assert trial.error == SENTENCE
        assert trial.point in [one.point for one in found.trials if one.state == "complete"]
    assert "Traceback" not in capfd.readouterr().err


def test_a_point_at_which_every_process_is_lost_has_failed_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu, data = played_gpu(tmp_path, monkeypatch), save_split(films(), tmp_path / "films")
    gpu.arm("child")
    found = quick(tmp_path / "out", gpu.deadly, data=data, workers=2, imports=[gpu.file], trials=2)
    assert sorted(states(found)) == [*["failed"] * 2, *["lost"] * 4]


def test_a_trial_that_was_stopped_goes_on_within_its_training(tmp_path: Path) -> None:
    def stop_once(progress: SearchProgress) -> None:
        if progress.entry is not None:
            epochs.append(progress.entry["epoch"])
            if len(epochs) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    epochs: list[int] = []
    whole = quick(tmp_path / "undisturbed", trials=2)
    with pytest.raises(KeyboardInterrupt):
        quick(tmp_path / "out", trials=2, watch=stop_once)
    (kept,) = (tmp_path / "out" / "unfinished").iterdir()
    before = (kept / "0" / "a" / "values.json").read_bytes()
    assert b'"epoch": 2' in before  # both epochs are behind it
    epochs += [0] * 2
    assert essence(quick(tmp_path / "out", trials=2, watch=stop_once)) == essence(whole)
    assert not kept.exists()
