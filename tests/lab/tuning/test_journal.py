"""Trials that processes share: the budget is kept, dead ones are replaced, other terms are refused. Nothing is trained."""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from optuna import Study

from sahcns.errors import DataError
from sahcns.lab.tuning.journal import RECORD, Journal, Taken
from sahcns.lab.tuning.journal_file import JOURNAL
from sahcns.lab.tuning.space import Space
from sahcns.lab.tuning.terms import Pruning, SearchTerms
from sahcns.lab.tuning.trials import read_search
from sahcns.samplers import AHNS, DNS, DNSMN, SAHC

TERMS = SearchTerms(
    data={"name": "films", "fingerprint": "abc123def456789"},
    backbone={"name": "lightgcn", "dim": 64},
    protocol={"monitor": "recall@20", "epochs": 10},
    seed=0,
    kernels="auto",
    pruning=Pruning(after_epochs=2),
)
WHOLE = replace(TERMS, pruning=Pruning(on=False))
SMALL = Space.of(DNSMN, pool=(4,))  # top_k 1, 2, 3, 4


@contextlib.contextmanager
def process(folder: Path, *spaces: Space, trials: int = 4, terms: SearchTerms = TERMS) -> Iterator[Journal]:
    """A process at work, as far as the folder can tell; when it is left it is dead."""
    with Journal(folder, terms) as journal:
        for space in spaces or (SMALL,):
            journal.enrol(space, trials)
        yield journal


def finish(taken: Taken | None, value: float = 0.1) -> Taken:
    assert taken is not None
    taken.look(0, value)
    taken.end("complete", {"epoch": 0}, value)
    return taken


def states(journal: Journal) -> list[str]:
    return [trial.state for trial in journal.save().trials]


def test_two_processes_share_the_budget_and_never_a_point(tmp_path: Path) -> None:
    with process(tmp_path / "out") as one, process(tmp_path / "out") as other:
        taken = [one.take("dns-mn"), other.take("dns-mn"), other.take("dns-mn"), one.take("dns-mn")]
        assert sorted(found.point["top_k"] for found in taken if found) == [1, 2, 3, 4]
        assert one.take("dns-mn") is None
        assert other.take("dns-mn") is None
        assert one.busy()
        for at, found in enumerate(taken):
            finish(found, at / 10)
        assert not one.busy()
        assert not other.busy()
        search = other.save()
    assert search.chosen == {"dns-mn": {"top_k": taken[3].point["top_k"] if taken[3] else None, "pool": 4}}
    assert [trial.number for trial in search.trials] == [0, 1, 2, 3]


def test_the_budget_holds_where_there_are_more_points(tmp_path: Path) -> None:
    with process(tmp_path / "out", Space.of(AHNS), trials=3) as journal:
        for _ in range(3):
            finish(journal.take("ahns"))
        assert journal.take("ahns") is None
    with process(tmp_path / "out", Space.of(AHNS), trials=5) as journal:  # more of the same
        finish(journal.take("ahns"))
        assert states(journal) == ["complete"] * 4
        assert journal.save().chosen == {}  # until the new budget is spent
        finish(journal.take("ahns"))
        assert list(journal.save().chosen) == ["ahns"]
        assert journal.take("ahns") is None


def test_the_trial_of_a_dead_process_is_marked_and_tried_by_another(tmp_path: Path) -> None:
    with process(tmp_path / "out") as first:
        finish(first.take("dns-mn"))
        lost = first.take("dns-mn")
        with process(tmp_path / "out") as other:
            third = other.take("dns-mn")
            assert lost is not None
            assert third is not None
            assert third.point != lost.point  # it is alive
            finish(third)
    with process(tmp_path / "out") as other:
        assert [finish(other.take("dns-mn")).point, finish(other.take("dns-mn")).point][0] == lost.point
        assert other.take("dns-mn") is None
        assert not other.busy()
        search = other.save()
    assert [trial.state for trial in search.trials] == ["complete", "lost", "complete", "complete", "complete"]
    assert search.finished("dns-mn")
    assert len(search.of("dns-mn")) == 4


def test_what_is_running_elsewhere_is_waited_for_only_as_long_as_somebody_is_at_it(tmp_path: Path) -> None:
    with process(tmp_path / "out", Space.of(DNS)) as one:
        with process(tmp_path / "out", Space.of(DNS)) as other:
            assert other.take("dns") is not None
            assert one.take("dns") is None
            assert one.busy()
        assert not one.busy()
        assert one.take("dns") is not None


def test_a_failed_trial_counts_and_is_not_repeated(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        first = journal.take("dns-mn")
        assert first is not None
        first.end("failed", {"error": "the loss became nan"})
        others = [finish(journal.take("dns-mn")) for _ in range(3)]
        assert journal.take("dns-mn") is None
        search = journal.save()
    assert first.point not in [other.point for other in others]
    assert search.trials[0].error == "the loss became nan"
    assert (search.trials[0].state, search.trials[0].value) == ("failed", None)
    assert search.finished("dns-mn")


def test_a_trial_that_was_given_back_is_taken_again(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        first = journal.take("dns-mn")
        assert first is not None
        first.give_back()
        again = journal.take("dns-mn")
        assert again is not None
        assert again.point == first.point
        assert states(journal) == ["lost", "running"]


def test_dead_between_the_record_and_the_end(tmp_path: Path) -> None:
    """The record alone does not make a trial."""
    with process(tmp_path / "out") as journal:
        taken = journal.take("dns-mn")
        assert taken is not None
        taken._trial.set_user_attr(RECORD, {"state": "complete", "point": taken.point})
    with process(tmp_path / "out") as journal:
        again = journal.take("dns-mn")
        assert again is not None
        assert again.point == taken.point
        assert states(journal) == ["lost", "running"]


def test_dead_between_proposing_and_taking(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        journal._studies["dns-mn"].enqueue_trial({"top_k": 3})
        assert journal.busy()
        assert states(journal) == []
        taken = journal.take("dns-mn")
        assert taken is not None
        assert taken.point == {"top_k": 3}


def test_dead_between_taking_and_signing(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        journal._studies["dns-mn"].ask()  # running, and nobody's
        finish(journal.take("dns-mn"))
        assert states(journal) == ["lost", "complete"]


def test_half_a_line_at_the_end_is_cut_off(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        first = finish(journal.take("dns-mn"), 0.5)
    whole = (tmp_path / "out" / JOURNAL).read_bytes()
    (tmp_path / "out" / JOURNAL).write_bytes(whole + b'{"op_code":6,"worker')
    with process(tmp_path / "out") as journal:
        assert states(journal) == ["complete"]
        second = finish(journal.take("dns-mn"))
        assert second.point != first.point
    lines = (tmp_path / "out" / JOURNAL).read_text().splitlines()
    assert all(json.loads(line) for line in lines)
    with process(tmp_path / "out") as journal:
        assert states(journal) == ["complete", "complete"]


def test_a_full_disk_is_said_with_the_file_that_it_has_no_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as it comes from a write, without a name

    with process(tmp_path / "out") as journal:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(DataError, match=r"^cannot write .*/out/journal\.log: No space left on device$"):
                journal.take("dns-mn")
        finish(journal.take("dns-mn"))


def test_half_a_file_is_swept_away_and_no_claim_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with process(out) as journal:
        (out / ".trials.json.0badf00d").write_text("{")
        (out / "claims" / "worker-dead").write_text("")
        journal.save()
    with process(out) as journal:
        assert [path.name for path in (out / "claims").iterdir()] == [journal.me]
    assert sorted(path.name for path in out.iterdir()) == ["claims", JOURNAL, "trials.json", "tuned.json"]
    assert list((out / "claims").iterdir()) == []


def test_a_trial_is_cut_off_when_it_is_below_the_median_of_others(tmp_path: Path) -> None:
    with process(tmp_path / "out", Space.of(AHNS), trials=9) as journal:
        for value in (0.3, 0.4, 0.5, 0.6, 0.7):
            taken = journal.take("ahns")
            assert taken is not None
            assert not any(taken.look(epoch, value) for epoch in range(4))
            taken.end("complete", {"epoch": 3}, value)
        bad = journal.take("ahns")
        assert bad is not None
        assert [bad.look(epoch, 0.45) for epoch in range(3)] == [False, False, True]  # two epochs of warm-up
        bad.end("pruned", {"epoch": 0})
        good = journal.take("ahns")
        assert good is not None
        assert not any(good.look(epoch, 0.55) for epoch in range(9))  # nobody came to epoch 4 and beyond
        trial = journal.save().trials[5]
    assert (trial.state, trial.value, trial.looks) == ("pruned", 0.45, {0: 0.45, 1: 0.45, 2: 0.45})
    with process(tmp_path / "never", Space.of(AHNS), trials=6, terms=WHOLE) as journal:
        for value in (0.5, 0.5, 0.5, 0.5, 0.5, 0.0):
            taken = journal.take("ahns")
            assert taken is not None
            assert not any(taken.look(epoch, value) for epoch in range(4))
            taken.end("complete", {"epoch": 3}, value)


def test_a_search_without_pruning_makes_those_again_that_were_cut_off(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        finish(journal.take("dns-mn"), 0.2)
        cut = []
        for _ in range(2):
            taken = journal.take("dns-mn")
            assert taken is not None
            taken.look(0, 0.1)
            taken.end("pruned", {"epoch": 0})
            cut.append(taken.point)
        with (
            Journal(tmp_path / "out", WHOLE) as other,
            pytest.raises(
                DataError,
                match="is being searched with pruning by other processes, and now it is to be searched without; wait",
            ),
        ):
            other.enrol(SMALL, 4)
    with process(tmp_path / "out", terms=WHOLE) as journal:
        assert states(journal) == ["complete", "replaced", "replaced"]
        assert not journal.save().finished("dns-mn")
        again = [finish(journal.take("dns-mn"), 0.3).point for _ in range(2)]
        assert again == cut
        assert finish(journal.take("dns-mn"), 0.1).point not in cut
        assert journal.take("dns-mn") is None
        search = journal.save()
    assert [trial.number for trial in search.of("dns-mn")] == [0, 3, 4, 5]
    assert search.finished("dns-mn")
    assert search.chosen["dns-mn"]["top_k"] == cut[0]["top_k"]
    sentence = r"was searched without pruning, every trial to its end, and now .* leave out --pruning \(prune=True\), or choose"
    with Journal(tmp_path / "out", TERMS) as journal, pytest.raises(DataError, match=sentence):
        journal.enrol(SMALL, 4)


def test_a_choice_stands_until_all_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    """Of the sampler whose search goes on, and of the others, whose trials are made again when their own does."""
    with process(tmp_path / "out", SMALL, Space.of(SAHC)) as journal:
        for name in ("dns-mn", "sahc"):
            finish(journal.take(name), 0.2)
            finish(journal.take(name), 0.1)
            for _ in range(2):
                taken = journal.take(name)
                assert taken is not None
                taken.end("pruned", {"epoch": 0})
        before = journal.save().chosen
    with process(tmp_path / "out", terms=WHOLE) as journal, process(tmp_path / "out", terms=WHOLE) as helper:
        assert states(helper) == ["complete", "complete", "replaced", "replaced", *["complete"] * 2, *["pruned"] * 2]
        assert journal.save().chosen == before
        better = finish(helper.take("dns-mn"), 0.3).point
        assert better["top_k"] != before["dns-mn"]["top_k"]
        assert journal.save().chosen == before
        finish(journal.take("dns-mn"), 0.1)
        after = journal.save().chosen
        assert after == {**before, "dns-mn": {**before["dns-mn"], **better}}
    with process(tmp_path / "out", Space.of(SAHC), terms=WHOLE) as journal:
        assert states(journal)[-2:] == ["replaced", "replaced"]
        assert journal.save().chosen == after


def test_a_search_that_was_never_finished_has_no_choice_that_could_stand(tmp_path: Path) -> None:
    with process(tmp_path / "out") as journal:
        finish(journal.take("dns-mn"), 0.2)
        taken = journal.take("dns-mn")
        assert taken is not None
        taken.end("pruned", {"epoch": 0})
    with process(tmp_path / "out", terms=WHOLE) as journal:
        assert journal.save().chosen == {}


def test_whoever_died_in_enrolling_stands_in_nobody_s_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for notes in range(3):
        with monkeypatch.context() as patch:
            patch.setattr("optuna.Study.set_user_attr", _dying_after(notes))
            with pytest.raises(KeyboardInterrupt), process(tmp_path / str(notes), Space.of(SAHC)):
                pass
        with process(tmp_path / str(notes)) as journal:
            finish(journal.take("dns-mn"))
            assert journal.save().samplers == ["dns-mn"]
        with process(tmp_path / str(notes), Space.of(SAHC)) as journal:
            finish(journal.take("sahc"))
            assert sorted(journal.save().samplers) == ["dns-mn", "sahc"]


def _dying_after(notes: int) -> Callable[[Study, str, Any], None]:
    real, left = Study.set_user_attr, [None] * notes

    def dying(study: Study, key: str, value: Any) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        real(study, key, value)

    return dying


OTHER: list[tuple[dict[str, Any], str]] = [
    (
        {"data": {"name": "books", "fingerprint": "999"}},
        r"holds trials on other data \(fingerprint abc123def456…, not 999…\); choose another folder",
    ),
    (
        {"backbone": {"name": "lightgcn", "dim": 8}},
        r"holds trials with backbone dim = 64, not 8; choose another folder",
    ),
    ({"backbone": {"name": "mf"}}, r"holds trials with backbone dim = 64, not none; choose another folder"),
    ({"protocol": {"monitor": "ndcg@20", "epochs": 10}}, r"protocol monitor = recall@20, not ndcg@20; choose another"),
    ({"seed": 1}, r"holds trials with seed = 0, not 1; choose another folder"),
    ({"kernels": "reference"}, r"holds trials with kernels = auto, not reference"),
    ({"pruning": Pruning(after_epochs=3)}, r"holds trials with pruning after_epochs = 2, not 3; choose another folder"),
]


@pytest.mark.parametrize(("change", "sentence"), OTHER, ids=lambda value: next(iter(value), "") if value else "")
def test_trials_under_other_terms_are_refused(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    with process(tmp_path / "out") as journal:
        finish(journal.take("dns-mn"))
    other = Space.of(SAHC)  # also for a sampler that was not there before
    for space in (SMALL, other):
        with Journal(tmp_path / "out", replace(TERMS, **change)) as journal, pytest.raises(DataError, match=sentence):
            journal.enrol(space, 4)
    with process(tmp_path / "out") as journal:
        assert states(journal) == ["complete"]


def test_another_search_space_or_another_file_of_the_sampler_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "out", TERMS) as journal:
        journal.enrol(SMALL, 4, code="1f3a")
        finish(journal.take("dns-mn"))
        journal.enrol(SMALL, 4, code="1f3a")
        journal.enrol(Space.of(SAHC), 4, code="other")
        with pytest.raises(
            DataError, match="holds trials of dns-mn before its file was changed; choose another folder"
        ):
            journal.enrol(SMALL, 4, code="9999")
        for space in (Space.of(DNSMN), Space.of(DNSMN, pool=(4,), fixed={"pick": "all"})):
            with pytest.raises(
                DataError, match="holds trials of dns-mn in another search space; choose another folder"
            ):
                journal.enrol(space, 4, code="1f3a")


def test_a_search_of_which_nothing_came_stands_in_nobody_s_way(tmp_path: Path) -> None:
    wrong = replace(TERMS, protocol={"monitor": "recal@20", "epochs": 10})
    with Journal(tmp_path / "out", wrong) as journal:
        journal.enrol(Space.of(DNSMN), 4)
        taken = journal.take("dns-mn")
        assert taken is not None
        taken.give_back()
    with process(tmp_path / "out", SMALL, Space.of(SAHC)) as journal:
        assert states(journal) == []
        with Journal(tmp_path / "out", wrong) as other, pytest.raises(DataError, match="protocol monitor = recall@20"):
            other.enrol(Space.of(DNSMN), 4)  # somebody is about to begin
        finish(journal.take("dns-mn"))


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("…")
    (tmp_path / "file").write_text("…")
    for name, sentence in (
        ("taken", r"holds 'thesis.tex' and no search; choose another folder"),
        ("file", r"is a file, not a folder; choose another place for the search"),
    ):
        with pytest.raises(DataError, match=sentence), process(tmp_path / name):
            pass
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["thesis.tex"]


def test_a_search_may_stand_beside_a_comparison(tmp_path: Path) -> None:
    (tmp_path / "out" / "runs").mkdir(parents=True)
    (tmp_path / "out" / "report.html").write_text("…")
    with process(tmp_path / "out") as journal:
        finish(journal.take("dns-mn"))


@pytest.mark.parametrize("content", ["not json\nat all\n", '{"op_code": 5}\n{"op_code": 5}\n'])
def test_a_journal_that_cannot_be_read_is_told_so(tmp_path: Path, content: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / JOURNAL).write_text(content)
    sentence = r"journal\.log is no journal that can be read .*; choose another folder"
    with pytest.raises(DataError, match=sentence), process(tmp_path / "out"):
        pass
    assert list((tmp_path / "out" / "claims").iterdir()) == []


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    with process(tmp_path / "out", SMALL, Space.of(SAHC), trials=2) as journal:
        for name in ("dns-mn", "sahc"):
            finish(journal.take(name), 0.25)
        found = journal.save()
    assert read_search(tmp_path / "out") == found
    assert found.samplers == ["dns-mn", "sahc"]
    assert found.budget == {"dns-mn": 2, "sahc": 2}
    assert found.sizes == {"dns-mn": 4, "sahc": 49}
