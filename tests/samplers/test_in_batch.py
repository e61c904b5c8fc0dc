"""Negatives that a batch shares: which they are, what is none, how they enter scores, L2 and the choice of a fast path."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import sahcns
from sahcns.backbones import MF, LightGCN
from sahcns.errors import SettingError, TrainingError
from sahcns.graph import Graph
from sahcns.kernels import build_graph, with_path
from sahcns.lab.inspect.model import SampledEpoch, TrainedModel
from sahcns.model import fit
from sahcns.objectives import BCE, BPR, DirectAU, SampledSoftmax
from sahcns.rng import Rng
from sahcns.samplers import RNS, InBatch, Matching, Mixture, Sampler, Shared
from sahcns.samplers.contract import check_choice
from sahcns.samplers.mixture import WHOLE
from sahcns.training import Protocol
from sahcns.training.watch import Watch
from tests.samplers.stepping import batch, every_pair, loss_of, small_graph, step_of
from tests.samplers.world import World, choice
from tests.splits import random_split
from tests.training.spying import Answering
from tests.training.test_log import Told

WORLD = World.random("mean", 2, 0)
RULES = Protocol(epochs=3, batch=16, evaluate_every=1)


def answer(sampler: Sampler, seed: int = 0) -> tuple[Matching, Mixture]:
    match = WORLD.match(sampler, seed)
    return match, check_choice(sampler, match, choice())


@pytest.mark.parametrize("pool", [0, 2])
@pytest.mark.parametrize("mask", ["same", "seen"])
def test_in_batch(mask: str, pool: int) -> None:
    match, mixture = answer(InBatch(pool=pool, mask=mask))
    positives, drawn = match.positives.tolist(), match.candidates.flatten().tolist()
    assert mixture.items.flatten().tolist() == positives + drawn
    assert len(drawn) == pool * len(positives)
    assert (mixture.shared, mixture.own, mixture.log_q) == (True, len(positives), None)
    excluded = mixture.excluded(match.positives)
    assert excluded is not None
    for user, own, row in zip(match.users.tolist(), positives, excluded.tolist(), strict=True):
        taken = WORLD.seen[user] if mask == "seen" else {own}
        assert row == [item in taken for item in positives + drawn]


def test_shared_is_what_was_drawn_for_all() -> None:
    match, mixture = answer(Shared(pool=3))
    assert mixture.items.flatten().tolist() == match.candidates.flatten().tolist()
    assert mixture.left_out is not None
    for user, row in zip(match.users.tolist(), mixture.left_out.tolist(), strict=True):
        assert row == [item in WORLD.seen[user] for item in mixture.items.flatten().tolist()]
    assert mixture.own == 0
    rns, _ = answer(RNS(pool=3))
    assert torch.equal(rns.candidates, match.candidates)  # the same seed draws the same


@pytest.mark.parametrize("pool", [0, 3])
def test_log_q(pool: int) -> None:
    """Of in-batch items by their training pairs, with drawn ones by both; of shared ones by the power."""
    counts = [sum(item in seen for seen in WORLD.seen.values()) for item in range(16)]
    expected = [math.log(max(count, 1) / sum(counts) + pool / 16) for count in counts]
    log_q = answer(InBatch(pool=pool, correct=True))[1].log_q
    assert log_q is not None
    assert log_q.tolist() == pytest.approx(expected)
    log_q = answer(Shared(power=0.5, correct=True))[1].log_q
    assert log_q is not None
    assert (log_q - log_q[0]).tolist() == pytest.approx([math.log(max(n, 1) / max(counts[0], 1)) / 2 for n in counts])


@pytest.mark.parametrize("correct", [False, True])
def test_a_step_is_one_product(correct: bool) -> None:
    """Softmax over the batch's items, own rows as positives, by the final vectors."""
    objective = SampledSoftmax(temperature=0.2)
    step = step_of(LightGCN(dim=3, depth=2), InBatch(correct=correct), objective=objective, l2=0.0)
    users, items = (torch.nn.functional.normalize(part, dim=1) for part in step.final(step.parameters))
    _, who, what = batch(step, every_pair(step))
    logits = users[who] @ items[what].T / 0.2
    if correct:
        logits = logits - step.graph.popularity[what].double().log()
    same = (what[:, None] == what) & ~torch.eye(len(what), dtype=torch.bool)
    expected = -torch.log_softmax(logits.masked_fill(same, -math.inf), 1).diagonal().mean()
    assert loss_of(step).item() == pytest.approx(expected.item(), rel=1e-9)


@pytest.mark.parametrize(
    "backbone", [MF(dim=3), LightGCN(dim=3, depth=2), sahcns.SimGCL(dim=3, depth=2, cl_weight=0.0)]
)
def test_l2_counts_the_batch_once(backbone: sahcns.Backbone) -> None:
    """Users and positives; what was drawn beside once for the batch, not for each pair."""
    for sampler in (InBatch(), InBatch(pool=2), Shared()):
        bare, step = (
            step_of(backbone, sampler, l2=strength, graph=small_graph(torch.float64)) for strength in (0, 0.3)
        )
        _, who, what = batch(step, every_pair(step))
        ego, first = step.parameters["ego"].detach(), step.graph.n_users
        squares = ego[who].square().sum() + ego[what + first].square().sum()
        step.streams.pools.seek(0)
        drawn = step.graph.draw(who, sampler.pool, step.streams.pools).flatten()
        squares += ego[drawn + first].square().sum()
        found = loss_of(step) - loss_of(bare)
        assert found.item() == pytest.approx(0.3 / (2 * len(who)) * squares.item(), rel=1e-6)


@pytest.mark.parametrize("path", ["reference", "auto", "triton"])
def test_one_shared_item_is_no_case_for_the_fast_path(path: str) -> None:
    """A fast BPR reads an item for each pair, and here there is one for all."""
    graph = with_path(build_graph(random_split(6, 9, each=3)), path if path == "triton" else "auto")
    graph = build_graph(random_split(6, 9, each=3), path="reference") if path == "reference" else graph

    def shared(match: Matching) -> Mixture:
        return Mixture.for_all(torch.tensor([4]), match.seen(torch.tensor([[4]])))

    def each(match: Matching) -> Mixture:
        return Mixture.single(torch.full_like(match.positives, 4))

    losses = []
    for one in (shared, each):
        step = step_of(LightGCN(dim=3, depth=2), Seen(1, one), dtype=torch.float32, graph=graph, l2=0.0)
        pairs = torch.nonzero(~has(graph, 4))[:, 0]
        losses.append(loss_of(step, pairs).item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


class Seen(Answering):
    gives_seen = True


def has(graph: Graph, item: int) -> Tensor:
    """Whether the user of each training pair has an item."""
    owners = graph.pair_users[graph.pair_items == item]
    return torch.isin(graph.pair_users, owners)


def test_nothing_is_drawn_where_nothing_is_asked_for() -> None:
    """On a GPU too, whose kernel knows no empty pool."""
    plain = build_graph(random_split(6, 9, each=3), path="reference")
    for graph in (plain, with_path(plain, "cpu"), with_path(plain, "triton")):
        assert graph.draw(graph.pair_users, 0, Rng(0, "pools")).shape == (18, 0)
    run = fit(random_split(8, 12, each=4), MF(dim=4), InBatch(), protocol=RULES, device="cpu", kernels="triton")
    assert run.record.history[-1]["loss"] > 0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda ids: Mixture.for_all(ids[None]), r"for_all takes ids as a tensor \[K\]"),
        (lambda ids: Mixture(ids[None, :, None], shared=True), r"shares items of shape \[1, 3, 1\]"),
        (lambda ids: Mixture.for_all(ids[:0]), r"shares items of shape \[1, 0, 1, 1\]"),
        (lambda ids: Mixture.for_all(ids.double()), r"float64"),
        (lambda ids: Mixture.for_all(ids, torch.zeros(2, 3)), r"left_out of shape \[2, 3\] \(torch.float32\)"),
        (lambda ids: Mixture.for_all(ids, torch.zeros(3, dtype=torch.bool)), r"left_out of shape \[3\].*\[2, 3\]"),
    ],
)
def test_what_is_no_shared_mixture(make: Callable[[Tensor], Mixture], sentence: str) -> None:
    with pytest.raises(TrainingError, match=sentence):
        make(torch.tensor([1, 5, 2])).checked(2, 3, "S")


def test_shared_ids_of_any_whole_type() -> None:
    for kind in WHOLE:
        full = Mixture.for_all(torch.tensor([1, 5], dtype=kind), torch.ones(4, 2, dtype=torch.bool)).checked(4, 3, "S")
        assert full.items.dtype == torch.int64
        assert full.apply((torch.eye(6), torch.eye(6))).shape == (1, 2, 2, 6)


def test_an_item_that_somebody_has_is_left_out_or_refused() -> None:
    match = WORLD.match(RNS(pool=2))
    taken = next(iter(WORLD.seen[3]))
    everybody = Answering(2, lambda match: Mixture.for_all(torch.tensor([taken])))
    with pytest.raises(TrainingError, match=f"item {taken} as a negative of user"):
        check_choice(everybody, match, choice())
    ids = torch.tensor([taken])
    assert check_choice(Answering(2, lambda m: Mixture.for_all(ids, m.seen(ids[None]))), match, choice()).shared


@pytest.mark.parametrize("sampler", [InBatch(), InBatch(pool=1), Shared(pool=2)], ids=str)
def test_what_a_log_is_told(sampler: Sampler) -> None:
    """No λ where nothing is mixed, no gap without pools; false negatives are counted among those that count."""
    told = Told()
    split = random_split(16, 20, each=6)
    run = fit(split, LightGCN(dim=4), sampler, SampledSoftmax(), protocol=RULES, device="cpu", log=told)
    assert ("sampler/gap" in told.entries[0]) == (sampler.pool > 0)
    assert "sampler/lambda" not in told.entries[0]
    assert 0 <= told.entries[0]["sampler/false_negatives"] < 0.5
    alone = fit(split, LightGCN(dim=4), sampler, SampledSoftmax(), protocol=RULES, device="cpu")
    assert torch.equal(alone.recommender.user_vectors, run.recommender.user_vectors)
    assert Watch(None).logs == []


def test_who_takes_what() -> None:
    """DirectAU takes the batch as it is and says so of anything else; log q is for a softmax; pools are not for all."""
    split: Any = random_split(16, 20, each=6)
    run = fit(split, MF(dim=4), objective=DirectAU(), protocol=RULES, device="cpu")
    assert run.record.sampler == {"name": "in-batch", **InBatch().to_dict()}
    for sampler in (RNS(), InBatch(pool=2)):
        with pytest.raises(SettingError, match=r"DirectAU.*in-batch"):
            fit(split, MF(dim=4), sampler, DirectAU(), protocol=RULES, device="cpu")
    with pytest.raises(TrainingError, match=r"BCE.*log q"):
        fit(split, MF(dim=4), InBatch(correct=True), BCE(), protocol=RULES, device="cpu")
    assert fit(split, MF(dim=4), InBatch(correct=True), BPR(), protocol=RULES, device="cpu").record.epochs_run
    with pytest.raises(SettingError, match=r"in-batch.*same negatives"):
        SampledEpoch(TrainedModel.of(run)).at(0)
    assert SampledEpoch(TrainedModel.of(run), RNS()).at(0).items.shape[0] > 0
