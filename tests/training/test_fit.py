"""The loop: which batches, when it looks, when it stops, and what it hands back."""

import sys
from typing import Any

import pytest
import torch
from torch import Tensor

from sahcns.backbones import MF, LightGCN
from sahcns.data.split import Split
from sahcns.errors import DataError
from sahcns.kernels import build_graph
from sahcns.model import fit
from sahcns.objectives import BPR
from sahcns.ranking import Truth, evaluate
from sahcns.samplers import DNS, RNS, SAHC
from sahcns.training import Protocol, train
from sahcns.training.epochs import Epochs
from sahcns.training.profiler import Profiler
from sahcns.training.step import Streams, TrainingStep, initial_parameters
from sahcns.training.stopping import EarlyStopping
from tests.model.films import films
from tests.splits import random_split
from tests.training.spying import spying

SPLIT = random_split(24, 40, each=8, seed=2)  # 192 training pairs
SMALL = MF(dim=4)


def protocol(**values: Any) -> Protocol:
    return Protocol.from_dict({"batch": 64, "learning_rate": 0.02, "epochs": 3, "evaluate_every": 1, **values})


@pytest.mark.parametrize(
    ("batch", "drop_last", "sizes"),
    [
        (64, True, [64, 64, 64]),
        (64, False, [64, 64, 64]),
        (80, True, [80, 80]),
        (80, False, [80, 80, 32]),
        (192, True, [192]),
        (5000, True, [192]),  # a batch larger than the data is the data
        (5000, False, [192]),
    ],
)
def test_batches_of_an_epoch(batch: int, drop_last: bool, sizes: list[int]) -> None:
    sampler, notes = spying(RNS())
    run = fit(SPLIT, SMALL, sampler, protocol=protocol(batch=batch, drop_last=drop_last, epochs=2), device="cpu")
    assert [len(seen.pairs) for seen in notes] == sizes * 2
    assert [seen.epoch for seen in notes] == [0] * len(sizes) + [1] * len(sizes)
    for epoch in range(2):
        visited = [pair for seen in notes if seen.epoch == epoch for pair in seen.pairs]
        assert len(set(visited)) == len(visited) == sum(sizes)  # each pair once, and all of them unless dropped
        assert set(visited) <= set(range(192))
    assert len(run.record.history) == 2


def test_each_epoch_is_shuffled_anew_and_pairs_keep_their_user_and_item() -> None:
    sampler, notes = spying(RNS())
    fit(SPLIT, SMALL, sampler, protocol=protocol(batch=192), device="cpu")
    orders = [tuple(seen.pairs) for seen in notes]
    assert len(set(orders)) == 3
    assert tuple(range(192)) not in orders
    train = sorted(zip(SPLIT.train.users.tolist(), SPLIT.train.items.tolist(), strict=True))
    for seen in notes:
        assert [train[pair] for pair in seen.pairs] == list(zip(seen.users, seen.positives, strict=True))
    dropped = [set(range(192)) - {p for seen in part for p in seen.pairs} for part in (notes[:1], notes[1:2])]
    assert dropped == [set(), set()]


def test_what_is_dropped_changes_from_epoch_to_epoch() -> None:
    sampler, notes = spying(RNS())
    fit(SPLIT, SMALL, sampler, protocol=protocol(batch=100, epochs=3), device="cpu")
    left_out = [frozenset(range(192)) - frozenset(seen.pairs) for seen in notes]
    assert len(set(left_out)) == 3


@pytest.mark.parametrize(
    ("epochs", "every", "looks"),
    [(13, 5, [0, 5, 10, 12]), (11, 5, [0, 5, 10]), (3, 1, [0, 1, 2]), (4, 100, [0, 3]), (1, 5, [0])],
)
def test_it_looks_at_epoch_0_then_regularly_and_at_the_last(epochs: int, every: int, looks: list[int]) -> None:
    told: list[dict[str, Any]] = []
    rules = protocol(epochs=epochs, evaluate_every=every, batch=192)
    run = fit(SPLIT, SMALL, RNS(), protocol=rules, device="cpu", on_epoch=told.append)
    assert [entry["epoch"] for entry in run.record.history] == list(range(epochs))
    assert [entry["epoch"] for entry in run.record.history if "valid" in entry] == looks
    assert told == run.record.history
    assert run.record.epochs_run == epochs
    assert run.record.stopped == "epochs"


def test_the_loss_of_an_epoch_is_the_mean_over_its_steps() -> None:
    run = fit(SPLIT, SMALL, RNS(), protocol=protocol(epochs=1), device="cpu")
    where = torch.device("cpu")
    graph, streams = build_graph(SPLIT, where), Streams.of(0, where)
    parameters = initial_parameters(SMALL, RNS(), graph, streams)
    step = TrainingStep(graph, SMALL, RNS(), BPR(), protocol(), parameters, streams, Profiler(where))
    losses = Epochs(step, capture=False).run(0)
    assert len(set(losses.tolist())) == 3
    assert run.record.history[0]["loss"] == pytest.approx(losses.double().mean().item(), rel=1e-12)


def overfitted(**values: Any) -> Protocol:
    """Random pairs cannot be predicted: validation wanders, and patience soon runs out."""
    return protocol(learning_rate=0.1, epochs=200, monitor="ndcg@20", **values)


def test_the_best_weights_are_restored_and_both_readings_are_kept() -> None:
    run = fit(SPLIT, SMALL, DNS(pool=4), protocol=overfitted(patience=4, evaluate_every=2), device="cpu")
    record = run.record
    looks = {entry["epoch"]: entry["valid"]["ndcg@20"] for entry in record.history if "valid" in entry}
    best = max(looks.values())
    assert record.stopped == "patience"
    assert record.best_epoch == max(epoch for epoch, value in looks.items() if value == best)
    assert record.epochs_run == record.best_epoch + 4 * 2 + 1  # four looks, two epochs apart, and epoch 0
    assert record.valid["best"]["ndcg@20"] == best
    assert record.valid["last"]["ndcg@20"] == looks[record.epochs_run - 1] < best
    # What is handed back is the model of the best epoch, measured again from its vectors.
    users, items = run.recommender.user_vectors, run.recommender.item_vectors
    for part, kept in (("valid", record.valid["best"]), ("test", record.test["best"])):
        truth = Truth.of(SPLIT, "valid" if part == "valid" else "test", "train")
        again = evaluate(users, items, truth, (10, 20), ("recall", "ndcg", "mrr"))
        assert again == {name: kept[name] for name in again}
    assert torch.equal(torch.cat([users, items]), run.recommender.weights["ego"])
    assert run.test == record.test["best"] != record.test["last"]


def test_the_epoch_is_picked_by_the_metric_that_is_monitored() -> None:
    """The same training each time, looked at in four ways, and they do not agree."""
    best = {}
    for monitor in ("recall@10", "recall@20", "ndcg@10", "ndcg@20"):
        rules = protocol(learning_rate=0.1, epochs=16, patience=16, monitor=monitor)
        record = fit(SPLIT, SMALL, DNS(pool=4), protocol=rules, device="cpu").record
        looks = [entry["valid"][monitor] for entry in record.history]
        best[monitor] = max(epoch for epoch, value in enumerate(looks) if value == max(looks))
        assert record.best_epoch == best[monitor]
    assert len(set(best.values())) > 1


@pytest.mark.parametrize(("epochs", "every", "rankings"), [(1, 1, 1 + 2), (3, 5, 2 + 2)])
def test_a_last_epoch_that_is_the_best_is_ranked_once(
    epochs: int, every: int, rankings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look, then validation and test: both were ranked twice over, 2 of 5 passes over everybody."""
    split, ranked = films(), list[str]()

    def counted(users: Tensor, items: Tensor, truth: Truth, *told: Any) -> dict[str, float]:
        ranked.append(truth.part)
        return evaluate(users, items, truth, *told)

    monkeypatch.setitem(train.__globals__, "evaluate", counted)
    rules = protocol(epochs=epochs, evaluate_every=every, learning_rate=1e-9)  # nothing changes: equal is a new best
    record = fit(split, LightGCN(dim=4), RNS(), protocol=rules, device="cpu").record
    assert record.best_epoch == epochs - 1
    assert len(ranked) == rankings
    for found in (record.valid, record.test):
        assert found["best"] == found["last"]
        assert found["best"] is not found["last"]


def test_patience_is_counted_in_looks_and_not_in_epochs() -> None:
    often, seldom = (
        fit(SPLIT, SMALL, DNS(pool=4), protocol=overfitted(patience=3, evaluate_every=every), device="cpu").record
        for every in (1, 4)
    )
    for record, every in ((often, 1), (seldom, 4)):
        assert record.stopped == "patience"
        assert record.epochs_run - 1 - record.best_epoch == 3 * every


def test_ctrl_c_keeps_the_best_so_far() -> None:
    def stop(entry: dict[str, Any]) -> None:
        if entry["epoch"] == 3:
            raise KeyboardInterrupt

    run = fit(SPLIT, SMALL, RNS(), protocol=protocol(epochs=50, evaluate_every=2), device="cpu", on_epoch=stop)
    assert run.record.stopped == "interrupted"
    assert run.record.epochs_run == 4
    assert run.record.best_epoch in (0, 2)
    best = run.record.history[run.record.best_epoch]["valid"]
    assert {name: run.record.valid["best"][name] for name in best} == best
    assert run.recommender.recommend([0], k=3)
    whole = fit(SPLIT, SMALL, RNS(), protocol=protocol(epochs=4, evaluate_every=2), device="cpu")
    assert [entry["loss"] for entry in whole.record.history] == [entry["loss"] for entry in run.record.history]


def test_ctrl_c_before_the_first_look_ends_the_program() -> None:
    sampler, notes = spying(RNS())

    class Impatient(type(sampler)):  # type: ignore[misc]
        def choose(self, match: Any, rng: Any) -> Any:
            if len(notes) == 1:
                raise KeyboardInterrupt
            return super().choose(match, rng)

    with pytest.raises(KeyboardInterrupt):
        fit(SPLIT, SMALL, Impatient(), protocol=protocol(), device="cpu")


def interrupt(monkeypatch: pytest.MonkeyPatch, rankings: int) -> None:
    """Ctrl-C within a ranking, after so many of them."""
    done = 0

    def counted(*values: Any) -> dict[str, float]:
        nonlocal done
        done += 1
        if done > rankings:
            raise KeyboardInterrupt
        return evaluate(*values)

    monkeypatch.setattr(sys.modules[train.__module__], "evaluate", counted)


@pytest.mark.parametrize(("beyond", "valid", "test"), [(0, 4, 0), (1, 20, 0), (2, 20, 20), (3, 20, 20)])
def test_ctrl_c_during_the_last_ranking_keeps_the_model(
    monkeypatch: pytest.MonkeyPatch, beyond: int, valid: int, test: int
) -> None:
    """Three looks, then the best on validation and test, then the last on both."""
    update = EarlyStopping.update
    monkeypatch.setattr(EarlyStopping, "update", lambda self, epoch, _, state: update(self, epoch, -epoch, state))
    whole = fit(SPLIT, SMALL, RNS(), protocol=protocol(), device="cpu")
    assert (whole.record.best_epoch, whole.record.epochs_run) == (0, 3)  # so there is a last one to rank
    interrupt(monkeypatch, rankings=3 + beyond)
    run = fit(SPLIT, SMALL, RNS(), protocol=protocol(), device="cpu")
    assert torch.equal(run.recommender.user_vectors, whole.recommender.user_vectors)
    assert torch.equal(run.recommender.weights["ego"], whole.recommender.weights["ego"])
    assert run.recommender.record["stopped"] == run.record.stopped == "interrupted"  # so that studies take it for none
    assert [*run.record.valid] == ["best"]
    assert run.record.valid["best"].items() <= whole.record.valid["best"].items()
    assert (len(run.record.valid["best"]), len(run.test)) == (valid, test)
    assert run.test.items() <= whole.test.items()
    truth = Truth.of(run.recommender.split(), "test", "train")
    found = evaluate(run.recommender.user_vectors, run.recommender.item_vectors, truth)
    assert found == {name: whole.test[name] for name in found}


def test_a_second_ctrl_c_during_the_last_ranking_keeps_the_model_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(entry: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    interrupt(monkeypatch, rankings=1)
    run = fit(SPLIT, SMALL, RNS(), protocol=protocol(), device="cpu", on_epoch=stop)
    assert (run.record.best_epoch, run.record.stopped, run.record.test) == (0, "interrupted", {})
    assert repr(run) == "Run(Recommender(mf, rns, 24 users, 40 items), 1 epochs, best epoch 0)"


@pytest.mark.parametrize("whole", [False, True])
def test_ctrl_c_while_the_vectors_are_made_begins_them_again(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    calls, vectors = [0], MF.vectors

    def third(self: MF, *values: Any) -> Any:
        calls[0] += 1
        if calls[0] == (1 if whole else 4):  # a look after each epoch, where there are any
            raise KeyboardInterrupt
        return vectors(self, *values)

    monkeypatch.setattr(MF, "vectors", third)
    run = fit(SPLIT, SMALL, RNS(), protocol=protocol(), device="cpu", whole=whole)
    assert calls[0] >= (2 if whole else 5)
    assert (run.record.stopped, run.record.epochs_run) == ("interrupted", 3)
    assert run.recommender.recommend([0], k=3)


def test_the_test_mask_is_the_protocols() -> None:
    """Hiding validation items too can only move test items up."""
    train, both = (
        fit(SPLIT, SMALL, RNS(), protocol=protocol(mask=mask), device="cpu").record for mask in ("train", "train+valid")
    )
    assert train.valid == both.valid
    assert both.test["best"]["mrr@20"] > train.test["best"]["mrr@20"]


def test_without_a_test_part_there_are_no_test_numbers_and_without_validation_no_training() -> None:
    nothing = type(SPLIT.test)(SPLIT.test.users[:0], SPLIT.test.items[:0])
    untested = Split(SPLIT.train, SPLIT.valid, nothing, SPLIT.user_ids, SPLIT.item_ids)
    assert fit(untested, SMALL, RNS(), protocol=protocol(), device="cpu").record.test == {}
    unjudged = Split(SPLIT.train, nothing, SPLIT.test, SPLIT.user_ids, SPLIT.item_ids)
    with pytest.raises(DataError, match="no valid pairs to rank against; prepare the data with a valid share"):
        fit(unjudged, SMALL, RNS(), protocol=protocol(), device="cpu")


def test_the_defaults_are_the_papers_method_on_lightgcn() -> None:
    run = fit(SPLIT, protocol=protocol(epochs=1), device="cpu")
    assert run.record.backbone == {"name": "lightgcn", **LightGCN().to_dict()}
    assert run.record.sampler == {"name": "sahc", **SAHC().to_dict()}


def test_every_path_trains_alike() -> None:
    fast, plain = (
        fit(SPLIT, LightGCN(dim=8), SAHC(pool=4), protocol=protocol(), device="cpu", kernels=path)
        for path in ("cpu", "reference")
    )
    assert fast.record.machine["kernels"] == "cpu"
    assert plain.record.machine["kernels"] == "reference"
    for ours, reference in zip(fast.record.history, plain.record.history, strict=True):
        assert ours["loss"] == pytest.approx(reference["loss"], rel=1e-4)
    torch.testing.assert_close(fast.recommender.weights["ego"], plain.recommender.weights["ego"], rtol=0, atol=2e-3)


def test_recommendations_are_in_the_original_ids() -> None:
    split = films()  # people are texts, films are numbers
    model = LightGCN(dim=8, depth=2)
    run = fit(split, model, RNS(), protocol=protocol(epochs=30, learning_rate=0.1, batch=32), device="cpu")
    (odd,) = run.recommender.recommend(["p03"], k=3, exclude="train")
    assert [one.item for one in odd if isinstance(one.item, int) and one.item % 2] == [one.item for one in odd]
    known = split.train.items[split.train.users == split.user_ids.encode(["p03"])[0]]
    assert not {one.item for one in odd} & {split.item_ids[int(item)] for item in known}
    assert all(one.title == f"Film {one.item} ☕" for one in odd)


def test_a_run_and_its_model_show_what_they_are_and_not_their_vectors() -> None:
    split, protocol = films(), Protocol(epochs=1, batch=64)
    run = fit(split, LightGCN(dim=4), DNS(), protocol=protocol, device="cpu")
    model = f"Recommender(lightgcn, dns, {split.n_users} users, {split.n_items} items)"
    assert repr(run.recommender) == model
    numbers = f"test recall@20 {run.test['recall@20']:.2%}, ndcg@20 {run.test['ndcg@20']:.2%}"
    assert repr(run) == f"Run({model}, 1 epochs, best epoch 0, {numbers})"
    live = fit(split, LightGCN(dim=4), DNS(), protocol=protocol, device="cpu", whole=True)
    assert repr(live) == f"Run({model}, 1 epochs)"
