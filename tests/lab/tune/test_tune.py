"""Tuning: repeatable, fair, on validation alone, and in words where something is wrong."""

import dataclasses
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from sahcns.backbones import MF
from sahcns.data.split import Pairs
from sahcns.errors import DataError, SettingError
from sahcns.lab.places.place import Hear, Here, Report, Task
from sahcns.lab.tune.attempt import without_test
from sahcns.lab.tune.search import Tuned, read_search
from sahcns.lab.tune.space import spaces_of
from sahcns.lab.tune.tune import SearchProgress, tune
from sahcns.model import fit
from sahcns.rng import Rng
from sahcns.samplers import DNS, DNSMN, RNS, SAHC, Matching, Mixture, Sampler
from sahcns.settings import setting
from tests.lab.tune.process import MODEL, QUICK, essence, quick
from tests.model.films import films


@dataclass(frozen=True)
class Moody(Sampler):
    """Takes the softest candidate where it is bad, and breaks down where it is broken."""

    name: ClassVar[str] = "moody"

    bad: float = setting(0.0, "how often the softest is taken", low=0, high=1)
    broken: bool = setting(False, "divides by zero", search=())

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        if self.broken:
            raise ZeroDivisionError("by   zero,\nof course")
        soft = rng.uniform(len(match.users)) < self.bad
        hardest, softest = match.scores.argmax(1), match.scores.argmin(1)
        return match.pick(hardest + soft * (softest - hardest))


@pytest.fixture(autouse=True, scope="module")
def no_names() -> Iterator[None]:
    """The sampler of this file is found by no other test."""
    yield
    Moody.name = ""


def test_the_same_seed_gives_the_same_trials_and_another_seed_others(tmp_path: Path) -> None:
    one, again = quick(tmp_path / "one"), quick(tmp_path / "again")
    assert essence(one) == essence(again)
    assert one.chosen == again.chosen
    other = quick(tmp_path / "other", seed=1)
    assert [trial.value for trial in one.trials] != [trial.value for trial in other.trials]
    assert [trial.point for trial in one.trials] != [trial.point for trial in other.trials]


def test_every_sampler_has_the_same_number_of_trials_as_far_as_there_are_points(tmp_path: Path) -> None:
    search = quick(tmp_path / "out", SAHC, "ahns", RNS, "hc-only", trials=8)
    assert {name: len(search.of(name)) for name in search.samplers} == {"sahc": 8, "ahns": 8, "rns": 1, "hc-only": 7}
    assert {trial.state for trial in search.trials} == {"complete"}
    assert search.of("sahc")[0].settings == {"pool": 4, "alpha": 0.3, "lambda_max": 0.5}  # the defaults first
    tried = [trial.point["lambda_max"] for trial in search.of("hc-only")]
    assert sorted(tried) == [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    assert search.chosen["rns"] == {"pool": 1}


def test_a_trial_is_a_run_like_any_other(tmp_path: Path) -> None:
    split = films()
    search = quick(tmp_path / "out", SAHC, data=split, trials=2)
    for trial in search.trials:
        run = fit(split, MODEL, SAHC(**trial.settings), protocol=QUICK, seed=0, device="cpu").record
        assert trial.value == run.valid["best"]["ndcg@10"]
        assert trial.valid["recall@10"] == run.valid["best"]["recall@10"]
        assert trial.epoch == run.best_epoch
        assert trial.epochs_run == run.epochs_run
        assert trial.looks == {entry["epoch"]: entry["valid"]["ndcg@10"] for entry in run.history}
        assert trial.machine["torch"] == run.machine["torch"]


def test_the_test_part_is_out_of_reach(tmp_path: Path) -> None:
    """With any other test part, an empty one or one that cannot be ranked at all, the trials are the same."""
    split = films()
    plain = quick(tmp_path / "plain", data=split)
    turned = dataclasses.replace(split, test=Pairs(split.test.users[::-1].copy(), split.test.items))
    beyond = np.full_like(split.test.users, split.n_users + 7)
    unrankable = dataclasses.replace(split, test=Pairs(beyond, split.test.items))
    with pytest.raises(IndexError):
        fit(unrankable, MODEL, DNS(), protocol=QUICK, device="cpu")
    for name, other in (("turned", turned), ("unrankable", unrankable), ("none", without_test(split))):
        found = quick(tmp_path / name, data=other)
        assert found.data["fingerprint"] != plain.data["fingerprint"]
        assert essence(found) == essence(plain)
        assert found.chosen == plain.chosen


def test_without_a_validation_part_there_is_nothing_to_tune_on(tmp_path: Path) -> None:
    nobody = np.zeros(0, np.int32)
    with pytest.raises(DataError, match="valid"):
        quick(tmp_path / "out", data=dataclasses.replace(films(), valid=Pairs(nobody, nobody)))
    assert not (tmp_path / "out").exists()


def test_bad_trials_are_cut_off_and_made_again_without_pruning(tmp_path: Path) -> None:
    longer = dataclasses.replace(QUICK, epochs=10, batch=32, patience=10)
    cut = quick(tmp_path / "cut", Moody, trials=12, protocol=longer, prune=True)
    pruned = [trial for trial in cut.trials if trial.state == "pruned"]
    assert pruned
    assert all(5 < trial.epochs_run < 10 and trial.value == max(trial.looks.values()) for trial in pruned)
    best = cut.best("moody")
    assert best is not None
    assert best.state == "complete"
    whole = quick(tmp_path / "cut", Moody, trials=12, protocol=longer)
    assert {trial.state for trial in whole.of("moody")} == {"complete"}
    assert len(whole.of("moody")) == 12
    again = {trial.point["bad"]: trial for trial in whole.of("moody")}
    assert all(trial.looks.items() < again[trial.point["bad"]].looks.items() for trial in pruned)  # the same run


def test_a_trial_that_fails_does_not_stop_the_rest(tmp_path: Path) -> None:
    search = quick(tmp_path / "out", Moody, DNS, search={"moody": {"broken": (False, True), "bad": (0.0,)}})
    first, second = search.of("moody")
    assert (first.state, first.point) == ("complete", {"broken": False})
    assert (second.state, second.point, second.value) == ("failed", {"broken": True}, None)
    assert re.fullmatch(r"ZeroDivisionError: by zero, of course \(\w+\.py, line \d+\)", second.error)
    assert search.chosen["moody"] == {"broken": False, "pool": 4}
    none = quick(tmp_path / "none", Moody, DNS, fixed={"moody": {"broken": True}}, trials=2)
    assert [trial.state for trial in none.of("moody")] == ["failed", "failed"]
    assert list(Tuned.read(tmp_path / "none").content["samplers"]) == ["dns"]


def test_the_files_hold_the_search(tmp_path: Path) -> None:
    search = quick(tmp_path / "out", SAHC, trials=3)
    assert read_search(tmp_path / "out") == search
    tuned = Tuned.read(tmp_path / "out").content
    assert tuned["data"]["fingerprint"] == films().fingerprint
    assert (tuned["protocol"], tuned["backbone"]["name"], tuned["seed"]) == (QUICK.to_dict(), "mf", 0)
    best = max(search.trials, key=lambda trial: trial.value or 0)
    assert tuned["samplers"] == {"sahc": {**best.point, "pool": 4}} == search.chosen
    assert tuned["valid"] == {"sahc": best.valid}
    assert best.value == best.valid["ndcg@10"]


def test_more_trials_and_more_samplers_go_into_the_same_folder(tmp_path: Path) -> None:
    few = quick(tmp_path / "out", SAHC, trials=2)
    more = quick(tmp_path / "out", SAHC, trials=4)
    assert essence(more)[:2] == essence(few)
    assert essence(more) == essence(quick(tmp_path / "at once", SAHC, trials=4))
    both = quick(tmp_path / "out", DNSMN, trials=2)
    assert both.samplers == ["sahc", "dns-mn"]
    assert Tuned.read(tmp_path / "out").content["tried"] == {"sahc": 4, "dns-mn": 2}


@pytest.mark.parametrize("epoch", [0, 1])
def test_after_ctrl_c_it_goes_on_where_it_was(tmp_path: Path, epoch: int) -> None:
    def stop(progress: SearchProgress) -> None:
        ended = sum(one.has_ended for one in progress.search.trials)
        if ended == 2 and progress.entry is not None and progress.entry["epoch"] == epoch:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(tmp_path / "out", watch=stop)
    left = read_search(tmp_path / "out")
    assert [trial.state for trial in left.trials] == ["complete", "complete", "lost"]
    assert Tuned.read(tmp_path / "out").content["samplers"] == {}  # the search is not finished
    assert essence(quick(tmp_path / "out")) == essence(quick(tmp_path / "undisturbed"))


def test_a_mistake_for_every_trial_is_raised_and_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    wrong = dataclasses.replace(QUICK, monitor="recall@21")
    with pytest.raises(SettingError, match="recall@21"):
        quick(tmp_path / "out", protocol=wrong)
    assert quick(tmp_path / "out", DNS).finished("dns")


@pytest.mark.parametrize(
    ("samplers", "arguments", "place"),
    [
        (["shac"], {}, "shac.*sahc"),
        ([], {"trials": 0}, "trials=0"),
        ([], {"workers": 0}, "workers=0"),
        ([], {"trial_seeds": 0}, "trial_seeds=0"),
        ([], {"epoch_budget": 0}, "epoch_budget=0"),
        ([], {"workers": 2}, "workers=2"),
        ([SAHC], {"fixed": {"dns": {}}}, "dns"),
        ([SAHC], {"first": {"sahc": {"aplha": 1}}}, "aplha.*alpha"),
        ([SAHC], {"search": {"protocl.l2": (1,)}}, "protocl.*protocol"),
        ([SAHC, DNS], {"search": {"aplha": (1,)}}, "aplha.*alpha"),
        ([], {"device": "tpu"}, "tpu"),
    ],
)
def test_mistakes_name_the_argument(tmp_path: Path, samplers: list[Any], arguments: dict[str, Any], place: str) -> None:
    with pytest.raises(SettingError, match=place):
        quick(tmp_path / "out", *samplers, **arguments)
    assert not (tmp_path / "out").exists()


def test_the_protocol_and_the_backbone_are_searched_like_a_sampler(tmp_path: Path) -> None:
    wide = {"protocol.l2": (0.0, 0.1), "backbone.dim": (2, 4), "alpha": (0.3,), "sahc.lambda_max": (0.5,)}
    assert [list(space.to_plain()) for space in spaces_of(["rns", "dns"], search={"pool": (5, 10)})] == [[], ["pool"]]
    assert list(spaces_of("rns", search={"rns.pool": (5, 10)})[0].to_plain()) == ["pool"]
    search = quick(tmp_path / "out", SAHC, DNS, search=wide, trials=4)
    for name in ("sahc", "dns"):
        trials = {tuple(trial.point.values()): trial for trial in search.of(name)}
        assert trials.keys() == {(2, 0.0), (2, 0.1), (4, 0.0), (4, 0.1)}
        assert len({trial.value for trial in trials.values()}) > 1
    best = search.best("dns")
    assert best is not None
    protocol, model = (dataclasses.replace(QUICK, l2=best.point["protocol.l2"]), MF(dim=best.point["backbone.dim"]))
    run = fit(films(), model, DNS(pool=4), protocol=protocol, device="cpu").record
    assert best.value == run.valid["best"]["ndcg@10"]
    assert search.chosen["dns"] == {"pool": 4, **best.point}


def test_a_newcomer_s_search_has_l2_and_the_step_size_for_every_sampler(tmp_path: Path) -> None:
    split, out = films(), tmp_path / "out"
    search = tune(split, [RNS, DNS], out, backbone=MODEL, protocol=QUICK, trials=3, device="cpu")
    around = {"protocol.l2", "protocol.learning_rate"}
    assert {name: set(space) for name, space in search.spaces.items()} == {"rns": around, "dns": {"pool", *around}}
    for name in ("rns", "dns"):
        first, *rest = search.of(name)
        assert (first.point["protocol.l2"], first.point["protocol.learning_rate"]) == (1e-4, 3e-3)  # 0.05 is beyond
        assert len({trial.point["protocol.l2"] for trial in (first, *rest)}) == 3


def test_a_trial_of_several_seeds_is_their_mean(tmp_path: Path) -> None:
    split = films()
    search = quick(tmp_path / "out", SAHC, data=split, trials=2, seed=5, trial_seeds=2)
    for trial in search.trials:
        runs = [fit(split, MODEL, SAHC(**trial.settings), protocol=QUICK, seed=seed, device="cpu") for seed in (5, 6)]
        values = [run.record.valid["best"]["ndcg@10"] for run in runs]
        assert trial.by_seed == dict(zip((5, 6), values, strict=True))
        assert trial.value == trial.valid["ndcg@10"] == pytest.approx(sum(values) / 2, rel=1e-12)
        assert trial.epochs_run == sum(run.record.epochs_run for run in runs)
        assert trial.looks == {entry["epoch"]: entry["valid"]["ndcg@10"] for entry in runs[0].record.history}
    with pytest.raises(DataError, match="trial_seeds = 2, not 1"):
        quick(tmp_path / "out", SAHC, data=split, trials=2, seed=5)


def test_a_trial_that_was_stopped_at_its_second_seed_comes_to_the_same(tmp_path: Path) -> None:
    def stop(progress: SearchProgress) -> None:
        epochs.append(progress.entry)
        if len([entry for entry in epochs if entry]) == QUICK.epochs + 2:
            raise KeyboardInterrupt

    epochs = list[Any]()
    with pytest.raises(KeyboardInterrupt):
        quick(tmp_path / "out", SAHC, trials=1, trial_seeds=2, watch=stop)
    found, whole = (quick(tmp_path / name, SAHC, trials=1, trial_seeds=2) for name in ("out", "undisturbed"))
    assert [trial.state for trial in found.trials] == ["lost", "complete"]
    assert essence(found) == essence(whole)
    assert found.trials[1].by_seed == whole.trials[0].by_seed
    assert not (tmp_path / "out" / "unfinished").exists() or not list((tmp_path / "out" / "unfinished").iterdir())


def test_a_search_ends_when_its_epochs_are_spent_and_goes_on_with_more(tmp_path: Path) -> None:
    """Of three epochs a trial: five epochs are spent in the second trial, which is finished."""
    search = quick(tmp_path / "out", SAHC, DNSMN, trials=3, epoch_budget=5)
    assert {name: (len(search.of(name)), search.epochs(name)) for name in search.samplers} == {
        "sahc": (2, 6),
        "dns-mn": (2, 6),
    }
    assert {name: search.spent(name) for name in search.samplers} == {"sahc": "epochs", "dns-mn": "epochs"}
    assert search.chosen.keys() == {"sahc", "dns-mn"}
    tuned = Tuned.read(tmp_path / "out").content
    assert (tuned["epoch_budget"], tuned["epochs"]) == (5, {"sahc": 6, "dns-mn": 6})
    more = quick(tmp_path / "out", SAHC, trials=3)
    assert (len(more.of("sahc")), more.spent("sahc")) == (3, "trials")
    assert essence(more)[:2] == essence(search)[:2]


def test_no_trial_is_begun_after_the_time_and_what_is_left_is_made_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trial that is under way when the time is up comes to its end."""
    now = [0.0]
    monkeypatch.setattr(time, "time", lambda: now[0])

    def pass_time(progress: SearchProgress) -> None:
        if progress.entry is not None and len(progress.search.trials) == 3:
            now[0] = 60.0

    cut = quick(tmp_path / "out", until=60.0, watch=pass_time)
    assert [trial.state for trial in cut.trials] == ["complete"] * 3
    assert cut.chosen == {}
    assert len(quick(tmp_path / "out", until=60.0).trials) == 3
    assert essence(quick(tmp_path / "out")) == essence(quick(tmp_path / "whole"))


def test_of_several_trials_at_once_each_is_of_another_sampler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is proposed knows more; within a sampler the trials come in their order."""
    begun = []

    class Two(Here):
        """Room for two, the first of which ends first."""

        tasks: ClassVar[list[tuple[Task, Path]]] = []

        @property
        def room(self) -> int:
            return 2 - len(self.tasks)

        def start(self, task: Task, checkpoint: Path) -> None:
            begun.append(task.key)
            self.tasks.append((task, checkpoint))

        def wait(self, hear: Hear) -> None:
            super().start(*self.tasks[0])
            super().wait(partial(self.pass_on, hear))

        def pass_on(self, hear: Hear, report: Report) -> None:
            if report.kind == "done":
                self.tasks.pop(0)
            hear(report)

    monkeypatch.setattr("sahcns.lab.tune.tune.place_named", lambda *_: Two("cpu"))
    search = quick(tmp_path / "out", SAHC, DNSMN, "moody", trials=2)
    assert begun == ["sahc-0", "dns-mn-0", "moody-0", "sahc-1", "dns-mn-1", "moody-1"]
    assert all(search.finished(name) for name in search.samplers)
