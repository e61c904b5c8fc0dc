"""Trials that processes share: the budget is kept, dead ones are made again, other terms are refused. Nothing is trained."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sahcns.errors import DataError
from sahcns.lab.tune.journal import JOURNAL, RECORD, Journal, RunningTrial, open_journal
from sahcns.lab.tune.search import read_search
from sahcns.lab.tune.space import Space
from sahcns.samplers import AHNS, DNS, DNSMN, SAHC

TERMS: dict[str, Any] = {
    "data": {"name": "films", "fingerprint": "abc123def456789"},
    "backbone": {"name": "lightgcn", "dim": 64},
    "protocol": {"monitor": "recall@20", "epochs": 10},
    "seed": 0,
    "kernels": "auto",
    "pruning": {"rule": "median", "on": True, "after_trials": 5, "after_epochs": 2},
}
WHOLE = {**TERMS, "pruning": {"on": False}}
SMALL = Space.of(DNSMN, search={"pool": (4,)})  # top_k 1, 2, 3, 4


@contextlib.contextmanager
def process(folder: Path, *spaces: Space, trials: int = 4, terms: dict[str, Any] = TERMS) -> Iterator[Journal]:
    """A process at work, as far as the folder can tell; when it is left it is dead."""
    with open_journal(folder, terms) as journal:
        for space in spaces or (SMALL,):
            journal.enrol(space, trials)
        yield journal


def take(journal: Journal, name: str = "dns-mn") -> RunningTrial:
    trial = journal.take(name)
    assert trial is not None
    return trial


def finish(trial: RunningTrial, value: float = 0.1) -> RunningTrial:
    trial.report(0, value)
    trial.finish("complete", {"epoch": 0}, value)
    return trial


def states(journal: Journal) -> list[str]:
    return [trial.state for trial in journal.save().trials]


def test_two_processes_share_the_budget_and_never_a_point(tmp_path: Path) -> None:
    with process(tmp_path / "out") as one, process(tmp_path / "out") as other:
        trials = [take(one), take(other), take(other), take(one)]
        assert sorted(trial.point["top_k"] for trial in trials) == [1, 2, 3, 4]
        assert one.take("dns-mn") is other.take("dns-mn") is None
        assert one.busy()
        for at, trial in enumerate(trials):
            finish(trial, at / 10)
        assert not one.busy()
        search = other.save()
    assert search.chosen == {"dns-mn": {"top_k": trials[3].point["top_k"], "pool": 4}}
    assert [trial.number for trial in search.trials] == [0, 1, 2, 3]
    assert read_search(tmp_path / "out") == search


def test_the_trial_of_a_dead_process_is_made_again_by_another(tmp_path: Path) -> None:
    with process(tmp_path / "out") as other:
        with process(tmp_path / "out") as first:
            finish(take(first))
            lost = take(first)
            assert finish(take(other)).point != lost.point  # it is alive
            assert other.busy()
        assert not other.busy()
        assert finish(take(other)).point == lost.point
        finish(take(other))
        assert other.take("dns-mn") is None
        search = other.save()
    assert [trial.state for trial in search.trials] == ["complete", "lost", "complete", "complete", "complete"]
    assert search.finished("dns-mn")


def test_a_failed_trial_counts_and_one_that_was_abandoned_does_not(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        failed = take(journal)
        failed.finish("failed", {"error": "the loss became nan"})
        abandoned = take(journal)
        abandoned.finish("lost")
        points = [finish(take(journal)).point for _ in range(3)]
        assert points[0] == abandoned.point
        assert failed.point not in points
        assert journal.take("dns-mn") is None
        search = journal.save()
    assert [trial.state for trial in search.trials] == ["failed", "lost", "complete", "complete", "complete"]
    assert (search.trials[0].error, search.trials[0].value) == ("the loss became nan", None)


def test_dead_between_the_record_and_the_end(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        trial = take(journal)
        trial._trial.set_user_attr(RECORD, {"state": "complete", "point": trial.point})
    with process(tmp_path / "out") as journal:
        assert finish(take(journal)).point == trial.point
        assert states(journal) == ["lost", "complete"]


def test_a_trial_is_pruned_below_the_median_of_others(tmp_path: Path) -> None:
    for terms, pruned in ((TERMS, True), (WHOLE, False)):
        with process(tmp_path / str(pruned), Space.of(AHNS), trials=9, terms=terms) as journal:
            for value in (0.3, 0.4, 0.5, 0.6, 0.7):
                trial = take(journal, "ahns")
                assert not any(trial.report(epoch, value) for epoch in range(4))
                trial.finish("complete", {"epoch": 3}, value)
            bad = take(journal, "ahns")
            assert [bad.report(epoch, 0.45) for epoch in range(3)] == [False, False, pruned]  # two epochs of warm-up
            bad.finish("pruned", {"epoch": 0})
            good = take(journal, "ahns")
            assert not any(good.report(epoch, 0.55) for epoch in range(9))  # nobody came to epoch 4 and beyond
            last = journal.save().trials[5]
    assert (last.value, last.looks) == (0.45, {0: 0.45, 1: 0.45, 2: 0.45})


def test_a_search_without_pruning_makes_pruned_trials_again(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        finish(take(journal), 0.2)
        cut = [take(journal), take(journal)]
        for trial in cut:
            trial.report(0, 0.1)
            trial.finish("pruned", {"epoch": 0})
    with process(tmp_path / "out", terms=WHOLE) as journal:
        assert states(journal) == ["complete", "replaced", "replaced"]
        again = [finish(take(journal), 0.3).point for _ in range(2)]
        assert again == [trial.point for trial in cut]
        finish(take(journal))
        assert journal.take("dns-mn") is None
        search = journal.save()
    assert [trial.number for trial in search.of("dns-mn")] == [0, 3, 4, 5]
    assert search.chosen["dns-mn"]["top_k"] == again[0]["top_k"]
    with open_journal(tmp_path / "out", TERMS) as journal, pytest.raises(DataError, match="--pruning"):
        journal.enrol(SMALL, 4)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"data": {"name": "books", "fingerprint": "999"}}, "abc123def456, not 999"),
        ({"backbone": {"name": "lightgcn", "dim": 8}}, "backbone dim = 64, not 8"),
        ({"backbone": {"name": "mf"}}, "backbone name = lightgcn, not mf"),
        ({"protocol": {"monitor": "ndcg@20", "epochs": 10}}, "protocol monitor = recall@20, not ndcg@20"),
        ({"seed": 1}, "seed = 0, not 1"),
        ({"kernels": "reference"}, "kernels = auto, not reference"),
        ({"pruning": {**TERMS["pruning"], "after_epochs": 3}}, "pruning after_epochs = 2, not 3"),
    ],
)
def test_trials_under_other_terms_are_refused(tmp_path: Path, change: dict[str, Any], difference: str) -> None:
    with process(tmp_path / "out") as journal:
        finish(take(journal))
    for space in (SMALL, Space.of(SAHC)):  # also for a sampler that was not there before
        with open_journal(tmp_path / "out", {**TERMS, **change}) as journal, pytest.raises(DataError, match=difference):
            journal.enrol(space, 4)
    newer = {**TERMS, "protocol": {**TERMS["protocol"], "warmup": 0}}  # a setting that an old folder does not know
    with process(tmp_path / "out", terms=newer) as journal:
        assert states(journal) == ["complete"]


def test_another_search_space_or_another_file_of_the_sampler_is_refused(tmp_path: Path) -> None:
    with open_journal(tmp_path / "out", TERMS) as journal:
        journal.enrol(SMALL, 4, code="1f3a")
        finish(take(journal))
        journal.enrol(Space.of(SAHC), 4, code="other")
        for space, code in ((SMALL, "9999"), (Space.of(DNSMN), "1f3a")):
            with pytest.raises(DataError, match="dns-mn"):
                journal.enrol(space, 4, code=code)


def test_a_search_of_which_nothing_came_stands_in_nobody_s_way(tmp_path: Path) -> None:
    with process(tmp_path / "out", Space.of(DNS), terms={**TERMS, "seed": 5}) as journal:
        take(journal, "dns")  # and is killed
    with process(tmp_path / "out", SMALL, Space.of(SAHC)) as journal:
        assert states(journal) == []
        assert journal.save().samplers == ["dns-mn", "sahc"]


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"thesis.tex": "…"}, "thesis.tex"),
        ({JOURNAL: "not json\nat all\n"}, r"journal\.log"),
        ({JOURNAL: '{"op_code": 5}\n{"op_code": 5}\n'}, r"journal\.log"),
    ],
)
def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path, files: dict[str, str], place: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=place), process(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir() if path.name != "claims"] == list(files)


def test_a_search_may_stand_beside_a_comparison(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "report.html").write_text("…")
    with process(tmp_path) as journal:
        finish(take(journal))
