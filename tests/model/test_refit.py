"""Trained anew on training and validation pairs, for as many epochs as were best on the one when the other was trained on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sahcns.backbones import MF
from sahcns.data import Pairs, Split
from sahcns.data.splitting import hold_out
from sahcns.errors import SettingError
from sahcns.model import Recommender, Run, fit
from sahcns.ranking import Truth, evaluate
from sahcns.samplers import DNS
from sahcns.training import Protocol
from sahcns.training.checkpoint import Checkpoints
from tests.model.films import films

PROTOCOL = Protocol(batch=32, learning_rate=0.1, epochs=9, evaluate_every=2, patience=1, monitor="ndcg@10")
PARTS: Any = (MF(dim=4), DNS(pool=3))
HOW: dict[str, Any] = {"seed": 1, "device": "cpu"}


def pairs(part: Pairs) -> set[tuple[int, int]]:
    return set(zip(part.users.tolist(), part.items.tolist(), strict=True))


def refitted(split: Split, **more: Any) -> Run:
    arguments: dict[str, Any] = {"protocol": PROTOCOL, "refit": True, **HOW, **more}
    return fit(split, *PARTS, **arguments)


def test_it_is_the_two_trainings_one_after_the_other() -> None:
    split = films()
    run, picked = refitted(split), fit(split, *PARTS, protocol=PROTOCOL, **HOW)
    epochs = picked.record.best_epoch + 1
    assert 1 < epochs < picked.record.epochs_run < 9  # or the test would not see which epoch is taken
    more = Split(split.with_valid().train, Pairs.none(), Pairs.none(), split.user_ids, split.item_ids)
    assert pairs(more.train) == pairs(split.train) | pairs(split.valid)
    twin = fit(more, *PARTS, protocol=replace(PROTOCOL, epochs=epochs), whole=True, **HOW).recommender
    vectors = run.recommender.user_vectors, run.recommender.item_vectors
    assert torch.equal(vectors[0], twin.user_vectors)
    assert torch.equal(vectors[1], twin.item_vectors)
    assert run.test == evaluate(*vectors, Truth.of(split.with_valid(), "test"), (10, 20), metrics_of(run))
    assert run.test != picked.test
    assert run.recommender.split().with_valid().fingerprint == split.with_valid().fingerprint


def metrics_of(run: Run) -> list[str]:
    return list(dict.fromkeys(name.partition("@")[0] for name in run.test))


def test_the_record_says_how_the_epoch_was_found_and_what_was_trained_on(tmp_path: Path) -> None:
    split = films()
    run, picked = refitted(split).record, fit(split, *PARTS, protocol=PROTOCOL, **HOW).record
    for name in ("valid", "best_epoch", "epochs_run", "stopped", "protocol", "backbone", "sampler"):
        assert getattr(run, name) == getattr(picked, name)
    assert [entry["loss"] for entry in run.history] == [entry["loss"] for entry in picked.history]
    both = len(split.train) + len(split.valid)
    assert (run.data["train"], run.data["valid"], run.data["test"]) == (both, 0, len(split.test))
    assert run.data["refit"] == {
        "of": split.fingerprint,
        "epochs": picked.best_epoch + 1,
        "monitor": "ndcg@10",
        "held_out": len(split.valid),
    }
    assert set(run.test) == {"best"}
    assert json.loads(json.dumps(run.to_dict()))["data"]["refit"]["epochs"] == picked.best_epoch + 1


def test_the_test_part_is_not_seen_before_the_second_training(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[tuple[str, int]] = []
    of = Truth.of.__func__  # type: ignore[attr-defined]

    def noted(cls: type[Truth], split: Split, part: Any, *rest: Any) -> Truth:
        looked.append((part, len(split.train)))
        return of(cls, split, part, *rest)  # type: ignore[no-any-return]

    monkeypatch.setattr(Truth, "of", classmethod(noted))
    split = films()
    refitted(split)
    assert looked == [("valid", len(split.train)), ("test", len(split.train) + len(split.valid))]


def test_without_a_validation_part_a_tenth_of_training_picks_the_epoch() -> None:
    given = replace(films(), valid=Pairs.none())
    held = hold_out(given)
    assert len(held.valid) == round(len(given.train) / 10)
    assert pairs(held.train) | pairs(held.valid) == pairs(given.train)
    assert not pairs(held.train) & pairs(held.valid)
    assert pairs(hold_out(given).valid) == pairs(held.valid)
    run = refitted(given)
    assert run.record.valid == fit(held, *PARTS, protocol=PROTOCOL, **HOW).record.valid
    assert run.record.data["refit"]["held_out"] == len(held.valid)
    assert run.record.data["train"] == len(given.train)


def test_held_out_pairs_keep_their_weights() -> None:
    split = films()
    weights = np.arange(len(split.train), dtype=np.float32)
    train = Pairs(split.train.users, split.train.items, weights)
    held = hold_out(replace(split, train=train, valid=Pairs.none()))
    of = dict(zip(zip(train.users.tolist(), train.items.tolist(), strict=True), weights.tolist(), strict=True))
    for part in (held.train, held.valid):
        assert part.weights is not None
        assert [
            of[pair] for pair in zip(part.users.tolist(), part.items.tolist(), strict=True)
        ] == part.weights.tolist()


def test_who_follows_it_is_told_which_epochs_are_of_the_second_training() -> None:
    told: list[dict[str, Any]] = []
    run = refitted(films(), on_epoch=told.append)
    first, epochs = run.record.epochs_run, run.record.best_epoch + 1
    assert [entry["epoch"] for entry in told] == [*range(first), *range(epochs)]
    assert [entry.get("refit") for entry in told] == [None] * first + [epochs] * epochs


class Killed(Exception):
    """Stands for a SIGKILL."""


def test_killed_in_either_training_it_goes_on_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = refitted(films())
    written: list[str] = []
    write, limit = Checkpoints.write, 2

    def write_and_die(self: Checkpoints, tensors: Any, values: Any, wait: bool = False) -> None:
        write(self, tensors, values, wait=True)
        written.append(self.folder.name)
        if len(written) % limit == 0:
            raise Killed

    monkeypatch.setattr(Checkpoints, "due", lambda self: True)
    monkeypatch.setattr(Checkpoints, "write", write_and_die)
    for _ in range(100):
        try:
            run = refitted(films(), checkpoint=tmp_path / "kept")
            break
        except Killed:
            limit += 1  # or it would never get through the second training's first epochs again
    assert set(written) == {"found", f"again-{run.record.best_epoch + 1}"}
    assert torch.equal(run.recommender.item_vectors, expected.recommender.item_vectors)
    assert (run.test, run.record.best_epoch) == (expected.test, expected.record.best_epoch)


def test_it_is_saved_and_loaded_as_what_it_was_trained_on(tmp_path: Path) -> None:
    split = films()
    model = Recommender.load(refitted(split).recommender.save(tmp_path / "model"))
    user = int(split.valid.users[0])
    trained = set(model.known(user, "train").tolist())
    assert {item for who, item in pairs(split.train) | pairs(split.valid) if who == user} == trained


def test_what_cannot_be_refitted_is_told() -> None:
    folder: Any = "films"
    with pytest.raises(SettingError, match="split='films' must be a Split"):
        refitted(folder)
    with pytest.raises(SettingError, match="whole=True"):
        refitted(films(), whole=True)
