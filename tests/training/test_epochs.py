"""What an epoch leaves behind: numbers that no later draw repeats, and clocks that mean what they say.

There need not be a GPU here, so a capture is played: what is recorded is run anew at each replay.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from sahcns.backbones import MF, NGCF, Backbone
from sahcns.counter import bits, stream_key
from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from sahcns.model import fit
from sahcns.objectives import BPR
from sahcns.rng import Rng
from sahcns.samplers import DNS, RNS, SRNS, DivNS, Matching, Mixture, Sampler
from sahcns.training import Protocol
from sahcns.training.epochs import WARM_UP, Epochs
from sahcns.training.profiler import Profiler
from sahcns.training.step import PARTS, Streams, TrainingStep
from tests.splits import random_split

SPLIT = random_split(12, 20, each=8, seed=3)  # 96 pairs
CPU = torch.device("cpu")
SMALL = MF(dim=4)


@dataclass(frozen=True)
class Drawing(Sampler):
    """Draws in each step and between epochs, and notes what it drew."""

    drawn: list[tuple[int, ...]] = field(default_factory=list)

    def begin(self, graph: Graph) -> Any:
        return "something"

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        self.drawn.append(tuple(rng.bits(3).tolist()))
        return match.pick(torch.zeros_like(match.users))

    def end_epoch(self, state: Any, item_vectors: Tensor, graph: Graph, rng: Rng) -> None:
        self.drawn.append(tuple(rng.bits(3).tolist()))


def epochs_of(sampler: Sampler, backbone: Backbone = SMALL, draw: str = "pairs", split: Split = SPLIT) -> Epochs:
    graph, streams = build_graph(split), Streams.of(0, CPU)
    parameters = {name: value.requires_grad_() for name, value in backbone.initial(graph, streams.start).items()}
    protocol = Protocol(batch=12, draw=draw)
    step = TrainingStep(graph, backbone, sampler, BPR(), protocol, parameters, streams, Profiler(CPU))
    return Epochs(step, capture=False)


UNEVEN = Split.from_pairs(
    [
        [0, 0],
        *([1, item] for item in range(2, 9)),
        *([4, item] for item in range(3)),
        *([5, item] for item in range(12)),
    ],
    n_users=6,
    n_items=12,
)  # users 2 and 3 have nothing, and user 5 everything, so that only three can be drawn


def test_by_users_each_is_drawn_alike_and_then_one_of_their_pairs() -> None:
    epochs = epochs_of(RNS(), draw="users", split=UNEVEN)
    graph, orders = epochs.step.graph, [epochs._order(epoch) for epoch in range(3000)]
    assert {len(order) for order in orders} == {11}
    drawn = torch.cat(orders)
    users = torch.bincount(graph.pair_users[drawn], minlength=6) / len(drawn)
    assert users[[2, 3, 5]].tolist() == [0, 0, 0]
    for user, pairs in ((0, 1), (1, 7), (4, 3)):
        assert users[user].item() == pytest.approx(1 / 3, abs=0.02)
        own = torch.bincount(drawn, minlength=11)[graph.pair_users == user] / len(drawn)
        assert own.tolist() == pytest.approx([1 / 3 / pairs] * pairs, abs=0.01)
    assert torch.equal(orders[7], epochs._order(7))  # whatever was drawn before
    assert not torch.equal(orders[7], orders[8])


@pytest.mark.parametrize("draw", ["pairs", "users"])
def test_an_epoch_is_trained_on_what_is_drawn_from_the_counters(draw: str) -> None:
    """By loops over numpy's numbers: the order of the keys, or a user and the place of one of theirs."""
    epochs = epochs_of(RNS(), draw=draw, split=UNEVEN)
    epochs.run(2)
    base = stream_key(0, "shuffle")
    key = int(bits(base, 1, 2)[0])  # the base of step 2
    numbers = [[int(z) for z in bits(key, 11, call << 40)] for call in range(2)]
    if draw == "pairs":
        signed = [z - (1 << 64) if z >> 63 else z for z in numbers[0]]
        expected = sorted(range(11), key=lambda at: signed[at])
    else:
        begins, counts = [0, 1, 8], [1, 7, 3]
        who = [(z & (1 << 63) - 1) % 3 for z in numbers[0]]
        expected = [begins[w] + (z & (1 << 63) - 1) % counts[w] for w, z in zip(who, numbers[1], strict=True)]
    assert epochs.batches[0].flatten().tolist() == expected


@dataclass(frozen=True)
class Noting(Sampler):
    """Notes the pairs of each batch."""

    pairs: list[Tensor] = field(default_factory=list)

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        self.pairs.append(torch.stack([match.pairs, match.users, match.positives]))
        return match.pick(torch.zeros_like(match.users))


@pytest.mark.parametrize("path", ["cpu", "lean"])
def test_an_order_that_nobody_keeps_has_each_pair_once(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sahcns.training.epochs.STORED", 0)
    sampler, streams, graph = Noting(), Streams.of(0, CPU), build_graph(SPLIT, path=path)
    parameters = {name: value.requires_grad_() for name, value in SMALL.initial(graph, streams.start).items()}
    protocol = Protocol(batch=25, drop_last=False)
    step = TrainingStep(graph, SMALL, sampler, BPR(), protocol, parameters, streams, Profiler(CPU))
    epochs, orders = Epochs(step, capture=False), []
    assert epochs.batches.nbytes == 0
    for epoch in (0, 1, 0):
        sampler.pairs.clear()
        epochs.run(epoch)
        assert [part.shape[1] for part in sampler.pairs] == [25, 25, 25, 21]
        pairs, users, items = torch.cat(sampler.pairs, 1)
        assert sorted(pairs.tolist()) == [*range(96)]
        assert torch.equal(torch.stack(graph.pairs_at(pairs)), torch.stack([users, items]))
        orders.append(pairs.tolist())
    assert orders[0] == orders[2]
    assert orders[0] != orders[1]


def test_by_users_an_order_that_nobody_keeps_is_the_one_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = epochs_of(RNS(), draw="users")
    kept.run(3)
    monkeypatch.setattr("sahcns.training.epochs.STORED", 0)
    computed = epochs_of(RNS(), draw="users")
    computed.step.streams.shuffle.seek(3)
    for at in range(computed.steps):
        computed.cursor.fill_(at)
        assert torch.equal(torch.stack([*computed.batch()]), kept.batches[:, at])


@dataclass(frozen=True)
class Looking(Drawing):
    """Notes the items that it is shown between epochs."""

    shown: list[Tensor] = field(default_factory=list)

    def end_epoch(self, state: Any, item_vectors: Tensor, graph: Graph, rng: Rng) -> None:
        self.shown.append(item_vectors.clone())


def test_between_epochs_a_sampler_sees_the_items_as_a_ranking_does() -> None:
    """Those after the last step, without the dropout that training has."""
    sampler = Looking()
    epochs = epochs_of(sampler, NGCF(dim=4, depth=1, dropout=0.5))
    for epoch in range(2):
        epochs.run(epoch)
        items = epochs.step.backbone.vectors(epochs.step.parameters, epochs.step.graph)[1]
        assert torch.equal(sampler.shown[epoch], items)
    assert not torch.equal(sampler.shown[0], sampler.shown[1])


class Played:
    """Stands for a captured graph: a replay runs the step with the calls that were current at the capture."""

    epochs: Epochs

    def replay(self) -> None:
        streams = self.epochs.step.streams
        streams.pools.call = streams.choice.call = streams.noise.call = 0
        self.epochs._one()


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> type[Played]:
    @contextmanager
    def graph(played: Played) -> Iterator[None]:
        step, cursor = Played.epochs.step, Played.epochs.cursor.clone()
        tables = {name: value.detach().clone() for name, value in step.parameters.items()}
        counter, noted = int(step.streams.pools.step), len(getattr(step.sampler, "drawn", ()))
        yield  # what is captured does not happen
        with torch.no_grad():
            for name, value in step.parameters.items():
                value.copy_(tables[name])
        Played.epochs.cursor.copy_(cursor)
        step.streams.pools.seek(counter)
        if isinstance(step.sampler, Drawing):
            del step.sampler.drawn[noted:]

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Played)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    return Played


@pytest.mark.parametrize("draw", ["pairs", "users"])
def test_no_number_is_drawn_twice_and_a_replay_draws_what_a_step_would(captured: type[Played], draw: str) -> None:
    eager, replayed = Drawing(pool=2), Drawing(pool=2)
    plain, captured.epochs = epochs_of(eager, draw=draw), epochs_of(replayed, draw=draw)
    captured.epochs.capture = True
    for epoch in range(3):
        plain.run(epoch)
        captured.epochs.run(epoch)
        assert torch.equal(plain.batches, captured.epochs.batches)
    assert captured.epochs.captured is not None
    assert len(eager.drawn) == 3 * (8 + 1)
    assert len(set(eager.drawn)) == len(eager.drawn)
    assert replayed.drawn == eager.drawn


def test_the_parts_of_a_few_steps_do_not_stand_for_all(captured: type[Played]) -> None:
    """A replay is one piece: what is kept is what is still measured, the end of each epoch."""
    captured.epochs = epochs_of(Drawing(pool=2))
    captured.epochs.capture = True
    profiler = captured.epochs.step.profiler
    captured.epochs.run(0)
    assert captured.epochs.done > WARM_UP
    assert set(profiler.seconds) == {"sampler"}
    with profiler("evaluate"):
        pass
    captured.epochs.run(1)
    assert set(profiler.seconds) == {"sampler", "evaluate"}


@dataclass(frozen=True)
class Keeping(Sampler):
    """Keeps a mean of the positives' scores, and a count of epochs; `how` says in which way."""

    how: str = "in place"

    def begin(self, graph: Graph) -> Any:
        return {"mean": torch.zeros(2), "epochs": torch.zeros(()), "more": []}

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        state = match.state
        new = 0.9 * state["mean"] + 0.1 * match.positive_score.mean()
        if self.how == "replaced in a step":
            state["mean"] = new
        else:
            state["mean"].copy_(new)
        return match.pick((match.scores > state["mean"][0] + state["epochs"]).long().argmax(1))

    def end_epoch(self, state: Any, item_vectors: Tensor, graph: Graph, rng: Rng) -> None:
        if self.how == "replaced between epochs":
            state["epochs"] = state["epochs"] + 1
        else:
            state["epochs"] += 1
        state["more"].append(item_vectors.sum())  # new things are no fault


@pytest.mark.parametrize(
    ("how", "mode"),
    [
        ("in place", "captured"),
        ("replaced in a step", "mean"),
        ("replaced between epochs", "epochs"),
    ],
)
def test_state_that_is_replaced_is_not_replayed(captured: type[Played], how: str, mode: str) -> None:
    captured.epochs = epochs_of(Keeping(pool=2, how=how))
    captured.epochs.capture, captured.epochs.mode = True, "captured"
    for epoch in range(2):
        captured.epochs.run(epoch)
    assert mode in captured.epochs.mode
    assert (captured.epochs.captured is None) == (mode != "captured")


@pytest.mark.parametrize("sampler", [DivNS(pool=5), SRNS(pool=5)], ids=lambda sampler: sampler.name)
def test_what_a_sampler_keeps_can_be_replayed(captured: type[Played], sampler: Sampler) -> None:
    captured.epochs = epochs_of(sampler)
    captured.epochs.capture, captured.epochs.mode = True, "captured"
    for epoch in range(2):
        captured.epochs.run(epoch)
    assert captured.epochs.mode == "captured"


@pytest.mark.parametrize("state", [{"count": 1, "rows": torch.zeros(2)}, [1, torch.zeros(2)], SimpleNamespace(count=1)])
def test_a_number_that_is_counted_up_is_replaced(captured: type[Played], state: Any) -> None:
    captured.epochs = epochs_of(Drawing(pool=2))
    captured.epochs.capture, captured.epochs.step.state = True, state
    captured.epochs.run(0)
    assert captured.epochs.captured is not None
    if isinstance(state, SimpleNamespace):
        state.count += 1
    else:
        state["count" if isinstance(state, dict) else 0] += 1
    captured.epochs.run(1)
    assert captured.epochs.captured is None


def test_an_eager_run_measures_every_part() -> None:
    run = fit(SPLIT, MF(dim=4), DNS(), protocol=Protocol(batch=12, epochs=2), device="cpu")
    assert set(run.record.seconds) == {*PARTS, "evaluate", "total"}


def test_the_marks_of_an_epoch_are_read_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU each part of each step is two events; a thousand epochs of them would fill the driver."""
    settled: list[int] = []
    monkeypatch.setattr(Profiler, "settle", lambda profiler: settled.append(1))
    epochs = epochs_of(DNS())
    for epoch in range(3):
        epochs.run(epoch)
    assert len(settled) == 3


def test_an_epoch_holds_its_batches_and_not_the_columns_that_they_were_cut_from() -> None:
    """Order, users and items stood beside them all epoch long: 24 bytes a pair, 0.4 GB of sixteen million."""
    pairs, beside = 96, list[int]()

    @dataclass(frozen=True)
    class Looking(DNS):
        def choose(self, match: Matching, rng: Rng) -> Mixture:
            found = {t.untyped_storage().data_ptr(): t.untyped_storage() for t in gc.get_objects() if type(t) is Tensor}
            beside.append(sum(storage.nbytes() == pairs * 8 for at, storage in found.items() if at not in before))
            return super().choose(match, rng)

    epochs = epochs_of(Looking(pool=2))
    before = {t.untyped_storage().data_ptr() for t in gc.get_objects() if type(t) is Tensor}
    epochs.run(0)
    assert beside == [0] * 8
