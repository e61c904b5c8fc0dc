"""Searches that are killed, and searches side by side: the same trials in the end, as many as were asked for."""

import json
import os
import signal
from pathlib import Path

import pytest

from sahcns.data import save_split
from sahcns.lab.tuning.trials import read_search, read_tuned
from sahcns.lab.tuning.tune import Standing
from sahcns.samplers import SAHC
from sahcns.settings import Between
from tests.lab.killing import children, ended, wait_until
from tests.lab.tuning.process import QUICK, dying_searcher, essence, quick, searcher
from tests.model.films import films


def takers(out: Path) -> set[str]:
    """Processes that have taken trials, by what they wrote."""
    lines = (out / "journal.log").read_bytes().split(b"\n")[:-1]
    return {line["worker_id"] for line in map(json.loads, lines) if line["op_code"] == 5}


def test_killed_wherever_it_writes_it_comes_to_the_same(tmp_path: Path) -> None:
    """Killed as it brings something to the disk, each time at another piece; each time it goes on from there."""
    whole = quick(tmp_path / "undisturbed", trials=3)
    out, killed = tmp_path / "out", 0
    for at in (1, 2, 4, 7, 11, 16, 22, 29):
        killed += ended(dying_searcher(out, at, trials=3)) == -signal.SIGKILL
        for name, read in (("trials.json", read_search), ("tuned.json", read_tuned)):
            if (out / name).exists():
                read(out)  # never torn
    assert killed >= 6
    assert ended(searcher(out, trials=3)) == 0
    found = read_search(out)
    assert essence(found) == essence(whole)
    assert found.chosen == whole.chosen == read_tuned(out)["samplers"]
    assert "lost" in {trial.state for trial in found.trials}
    assert sorted(path.name for path in out.iterdir()) == ["claims", "journal.log", "trials.json", "tuned.json"]
    assert list((out / "claims").iterdir()) == []


def test_killed_in_the_middle_of_a_trial(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = searcher(out, trials=3, protocol=QUICK)
    wait_until(lambda: (out / "trials.json").exists() and any(trial.ended for trial in read_search(out).trials))
    process.kill()
    assert ended(process) == -signal.SIGKILL
    finished = [trial for trial in read_search(out).trials if trial.ended]
    found = quick(out, trials=3)
    assert [trial for trial in found.trials if trial.number < len(finished) and trial.sampler == "sahc"] == finished
    assert essence(found) == essence(quick(tmp_path / "undisturbed", trials=3))


def test_two_processes_share_one_budget(tmp_path: Path) -> None:
    out = tmp_path / "out"
    processes = [searcher(out, trials=8) for _ in range(2)]
    assert [ended(process) for process in processes] == [0, 0]
    search = read_search(out)
    assert {name: len(search.of(name)) for name in search.samplers} == {"sahc": 8, "dns-mn": 4}
    for name in search.samplers:
        points = [tuple(trial.point.values()) for trial in search.of(name)]
        assert len(set(points)) == len(points)
        assert {trial.state for trial in search.of(name)} == {"complete"}
    assert len(takers(out)) == 2
    assert read_tuned(out)["samplers"] == search.chosen
    alone = {trial.point["top_k"]: trial.value for trial in quick(tmp_path / "alone", trials=8).of("dns-mn")}
    assert {trial.point["top_k"]: trial.value for trial in search.of("dns-mn")} == alone


def test_workers_are_processes_that_share_the_folder(tmp_path: Path) -> None:
    """Also a file of one's own, values held and values told reach them."""
    (tmp_path / "own.py").write_text(
        "from dataclasses import dataclass\nimport sahcns\n\n\n@dataclass(frozen=True)\n"
        "class OfMyOwn(sahcns.Sampler):\n    name = 'of-my-own'\n"
        "    a: float = sahcns.setting(0.5, 'anything', low=0)\n    b: int = sahcns.setting(1, 'anything', low=0)\n"
        "    c: int = sahcns.setting(1, 'anything', low=0)\n\n    def choose(self, match, rng):\n"
        "        return match.pick(match.scores.argmax(1))\n"
    )
    from sahcns.importing import import_files
    from sahcns.samplers import Sampler
    from sahcns.settings import class_named

    import_files([tmp_path / "own.py"])
    kind = class_named(Sampler, "of-my-own")

    def wait(standing: Standing) -> None:
        """Until the other has taken a trial too."""
        wait_until(lambda: standing.entry is None or len(takers(tmp_path / "out")) == 2)

    try:
        search = quick(
            tmp_path / "out",
            kind,
            data=save_split(films(), tmp_path / "films"),
            trials=5,
            workers=2,
            imports=[tmp_path / "own.py"],
            fixed={kind.name: {"c": 3}},
            search={kind.name: {"a": Between(1, 2), "b": (4,)}},
            watch=wait,
        )
    finally:
        kind.name = ""
    assert len(search.of("of-my-own")) == 5
    assert len(takers(tmp_path / "out")) == 2
    for trial in search.trials:
        assert 1 <= trial.settings["a"] <= 2
        assert (trial.settings["b"], trial.settings["c"]) == (4, 3)


def test_workers_go_when_the_search_is_interrupted(tmp_path: Path) -> None:
    there: list[int] = []

    def helping() -> list[int]:
        return children(os.getpid(), "sahcns.lab.tuning.worker")

    def stop(standing: Standing) -> None:
        if standing.entry is not None:
            there.extend(helping())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(tmp_path / "out", SAHC, data=save_split(films(), tmp_path / "films"), workers=2, watch=stop)
    assert len(there) == 1
    assert helping() == []
    again = quick(tmp_path / "out", SAHC)
    assert len(again.of("sahc")) == 4
