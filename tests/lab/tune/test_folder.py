"""Trials that processes share: the budget is kept, dead ones are made again, other terms are refused. Nothing is trained."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sahcns.errors import DataError
from sahcns.lab.tune.folder import SearchFolder, open_folder
from sahcns.lab.tune.search import TRIALS, Trial, read_search
from sahcns.lab.tune.space import Space
from sahcns.samplers import AHNS, DNS, DNSMN, SAHC

TERMS: dict[str, Any] = {
    "data": {"name": "films", "fingerprint": "abc123def456789"},
    "backbone": {"name": "lightgcn", "dim": 64},
    "objective": {"name": "bpr"},
    "protocol": {"monitor": "recall@20", "epochs": 10},
    "seed": 0,
    "trial_seeds": 1,
    "kernels": "auto",
    "pruning": {"rule": "median", "on": True, "after_trials": 5, "after_epochs": 2},
}
STORED = Path(__file__).parents[3] / "reproduction" / "results" / "tuning" / "amazon-toys"
WHOLE = {**TERMS, "pruning": {"on": False}}
SMALL = Space.of(DNSMN, search={"pool": (4,)})  # top_k 1, 2, 3, 4


@contextlib.contextmanager
def process(folder: Path, *spaces: Space, terms: dict[str, Any] = TERMS) -> Iterator[SearchFolder]:
    """A process at work, as far as the folder can tell; when it is left it is dead."""
    with open_folder(folder, terms) as shared:
        shared.enrol(spaces or (SMALL,), 4)
        yield shared


def take(folder: SearchFolder, space: Space = SMALL) -> Trial:
    trial = folder.take(space)
    assert trial is not None
    return trial


def finish(folder: SearchFolder, trial: Trial, value: float = 0.1, state: str = "complete") -> dict[str, Any]:
    folder.end(replace(trial, state=state, value=value, looks={0: value}, epoch=0))
    return trial.point


def states(folder: SearchFolder) -> list[str]:
    return [trial.state for trial in folder.state().trials]


def test_two_processes_share_the_budget_and_never_a_point(tmp_path: Path) -> None:
    with process(tmp_path / "out") as one, process(tmp_path / "out") as other:
        trials = [take(one), take(other), take(other), take(one)]
        assert sorted(trial.point["top_k"] for trial in trials) == [1, 2, 3, 4]
        assert one.take(SMALL) is other.take(SMALL) is None
        for at, trial in enumerate(trials):
            finish(one, trial, at / 10)
        search = other.state()
    assert search.chosen == {"dns-mn": {"top_k": trials[3].point["top_k"], "pool": 4}}
    assert [trial.number for trial in search.trials] == [0, 1, 2, 3]
    assert read_search(tmp_path / "out") == search


def test_the_trial_of_a_dead_process_is_made_again_by_another(tmp_path: Path) -> None:
    with process(tmp_path / "out") as other:
        with process(tmp_path / "out") as first:
            finish(first, take(first))
            lost = take(first).point
            assert finish(other, take(other)) != lost  # it is alive
            assert states(other) == ["complete", "running", "complete"]
        assert states(other) == ["complete", "lost", "complete"]
        assert finish(other, take(other)) == lost
        finish(other, take(other))
        assert other.take(SMALL) is None
        search = other.state()
    assert [trial.state for trial in search.trials] == ["complete", "lost", "complete", "complete", "complete"]
    assert search.finished("dns-mn")


def test_a_failed_trial_counts_and_one_that_was_abandoned_does_not(tmp_path: Path) -> None:
    with process(tmp_path / "out") as folder:
        failed = finish(folder, take(folder), state="failed")
        abandoned = finish(folder, take(folder), state="lost")
        points = [finish(folder, take(folder)) for _ in range(3)]
        assert points[0] == abandoned
        assert failed not in points
        assert folder.take(SMALL) is None
        assert states(folder) == ["failed", "lost", "complete", "complete", "complete"]


def test_a_search_without_pruning_makes_pruned_trials_again(tmp_path: Path) -> None:
    with process(tmp_path / "out") as folder:
        finish(folder, take(folder), 0.2)
        cut = [finish(folder, take(folder), state="pruned") for _ in range(2)]
    with process(tmp_path / "out", terms=WHOLE) as folder:
        assert states(folder) == ["complete", "replaced", "replaced"]
        again = [finish(folder, take(folder), 0.3) for _ in range(2)]
        assert again == cut
        finish(folder, take(folder))
        assert folder.take(SMALL) is None
        search = folder.state()
    assert [trial.number for trial in search.of("dns-mn")] == [0, 3, 4, 5]
    assert search.chosen["dns-mn"]["top_k"] == again[0]["top_k"]
    with pytest.raises(DataError, match="--pruning"), process(tmp_path / "out"):
        pass


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"data": {"name": "books", "fingerprint": "999"}}, "abc123def456, not 999"),
        ({"backbone": {"name": "lightgcn", "dim": 8}}, "backbone dim = 64, not 8"),
        ({"protocol": {"monitor": "ndcg@20", "epochs": 10}}, "protocol monitor = recall@20, not ndcg@20"),
        ({"objective": {"name": "bsl"}}, "objective name = bpr, not bsl"),
        ({"seed": 1}, "seed = 0, not 1"),
        ({"pruning": {**TERMS["pruning"], "after_epochs": 3}}, "pruning after_epochs = 2, not 3"),
    ],
)
def test_trials_under_other_terms_are_refused(tmp_path: Path, change: dict[str, Any], difference: str) -> None:
    with process(tmp_path / "out") as folder:
        finish(folder, take(folder))
    for space in (SMALL, Space.of(SAHC)):  # also for a sampler that was not there before
        with pytest.raises(DataError, match=difference), process(tmp_path / "out", space, terms={**TERMS, **change}):
            pass
    newer = {**TERMS, "protocol": {**TERMS["protocol"], "warmup": 0}}  # a setting that an old folder does not know
    with process(tmp_path / "out", terms=newer) as folder:
        assert states(folder) == ["complete"]


def test_another_search_space_or_another_file_of_the_sampler_is_refused(tmp_path: Path) -> None:
    with open_folder(tmp_path / "out", TERMS) as folder:
        folder.enrol([SMALL], 4, {"dns-mn": "1f3a"})
        finish(folder, take(folder))
        folder.enrol([Space.of(SAHC)], 4, {"sahc": "other"})
        other_pool = Space.of(DNSMN, search={"pool": (5,), "top_k": (1, 2, 3, 4, 5, 10, 20)})  # which is not searched
        for space, code in ((SMALL, "9999"), (Space.of(DNSMN), "1f3a"), (other_pool, "1f3a")):
            with pytest.raises(DataError, match="dns-mn"):
                folder.enrol([space], 4, {"dns-mn": code})


def test_a_search_of_which_nothing_came_stands_in_nobody_s_way(tmp_path: Path) -> None:
    with process(tmp_path / "out", Space.of(DNS), terms={**TERMS, "seed": 5}) as folder:
        take(folder, Space.of(DNS))  # and is killed
    with process(tmp_path / "out", SMALL, Space.of(SAHC)) as folder:
        assert states(folder) == []
        assert folder.state().samplers == ["dns-mn", "sahc"]


@pytest.mark.parametrize(("file", "content"), [("thesis.tex", "…"), (TRIALS, "not json"), (TRIALS, '{"trials": 1}')])
def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path, file: str, content: str) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(DataError, match=file), process(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir() if path.name != "claims"] == [file]
    assert (tmp_path / file).read_text() == content


def test_a_folder_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    shutil.copy(STORED / TRIALS, tmp_path)
    old = read_search(tmp_path)
    ahns = Space.of(AHNS, search={"pool": (10,)})
    with open_folder(tmp_path, {name: getattr(old, name) for name in TERMS}) as folder:
        assert folder.enrol([ahns], 50).trials == old.trials
        taken = take(folder, ahns)
    assert taken.point not in [trial.point for trial in old.of("ahns")]
    assert taken.number == sum(trial.sampler == "ahns" for trial in old.trials)


def test_a_search_may_stand_beside_a_comparison(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "report.html").write_text("…")
    with process(tmp_path) as folder:
        finish(folder, take(folder))
