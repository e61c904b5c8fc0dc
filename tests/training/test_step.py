"""One step's loss against the equations, written out row by row from the tables."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sahcns.backbones import MF, NGCF, Backbone, LightGCN, SimGCL
from sahcns.kernels import build_graph
from sahcns.objectives import BPR
from sahcns.samplers import RNS, Matching, Mixture
from sahcns.training import Protocol
from sahcns.training.profiler import Profiler
from sahcns.training.step import Streams, TrainingStep
from tests.splits import random_split
from tests.training.spying import Answering

SPLIT = random_split(6, 9, each=3, seed=1)
CPU = torch.device("cpu")
PAIRS = torch.tensor([3, 11, 3, 0])  # the fourth training pair twice: repeats count each time
BACKBONES = [
    MF(dim=4),
    LightGCN(dim=4, depth=2),
    NGCF(dim=4, depth=2),
    SimGCL(dim=4, depth=2, cl_weight=0.0),
    SimGCL(dim=4, depth=2, cl_weight=0.0, include_layer0=True),
]
WEIGHT = 0.3


def build(backbone: Backbone, answer: Callable[[Matching], Mixture], protocol: Protocol) -> TrainingStep:
    graph, streams = build_graph(SPLIT, dtype=torch.float64), Streams.of(5, CPU)
    parameters = backbone.initial(graph, streams.start, torch.float64)
    parameters = {name: value.requires_grad_() for name, value in parameters.items()}
    return TrainingStep(graph, backbone, Answering(4, answer), BPR(), protocol, parameters, streams, Profiler(CPU))


def batch(step: TrainingStep) -> tuple[Tensor, Tensor, Tensor]:
    return PAIRS, step.graph.pair_users[PAIRS], step.graph.pair_items[PAIRS]


def loss_of(step: TrainingStep) -> float:
    return step.loss(*batch(step)).item()


def one(match: Matching) -> Mixture:
    return match.pick(torch.tensor([0, 1, 2, 3]))


def three(match: Matching) -> Mixture:
    return Mixture.several(match.candidates[:, :3])


def each_layer(match: Matching) -> Mixture:
    return Mixture.per_layer(match.candidates[:, : len(match.layers)])


def blended(match: Matching) -> Mixture:
    """Share 0.3 of the positive at the first layer, 0.4 at the next, …; another candidate at each layer."""
    count = len(match.layers)
    shares = (WEIGHT + 0.1 * torch.arange(count, dtype=torch.float64)).expand(len(match.users), count)
    return Mixture.blend(match.positives, match.candidates[:, :count], shares)


ANSWERS = [one, three, each_layer, blended]


def pieces(step: TrainingStep, answer: Callable[[Matching], Mixture]) -> tuple[Tensor, Tensor, Mixture]:
    """Users, positives, and the answer itself, with a step of its own so that the counters agree."""
    noted: list[Mixture] = []

    def note(match: Matching) -> Mixture:
        noted.append(answer(match).checked(len(PAIRS), len(match.layers), "test"))
        return noted[-1]

    loss_of(build(step.backbone, note, step.protocol))
    return *batch(step)[1:], noted[0]


def negative_rows(table: Tensor, mixture: Mixture, layer: int, b: int, k: int) -> Tensor:
    """Σ_m weights[b, k, m, layer] · table[items[b, k, m, layer]], `table` over items."""
    items, total = mixture.items[b, k], torch.zeros_like(table[0])
    for m in range(items.shape[0]):
        share = 1.0 if mixture.weights is None else float(mixture.weights[b, k, m, layer])
        total = total + share * table[items[m, min(layer, items.shape[1] - 1)]]
    return total


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: a.__name__)
@pytest.mark.parametrize("backbone", BACKBONES, ids=str)
def test_bpr_is_of_the_final_scores(backbone: Backbone, answer: Callable[[Matching], Mixture]) -> None:
    """log(1 + Σ_k exp(<ē_u, Agg(negative)> - <ē_u, Agg(positive)>)), with layers mixed before they are pooled."""
    step = build(backbone, answer, Protocol(l2=0))
    users, positives, mixture = pieces(step, answer)
    layers = [layer.detach() for layer in backbone.layers(step.parameters, step.graph)]
    pool, n_users = backbone.aggregation.pool, step.graph.n_users
    total = 0.0
    for b in range(len(PAIRS)):
        final = pool(torch.stack([layer[users[b]] for layer in layers]))
        y_pos = final @ pool(torch.stack([layer[n_users + positives[b]] for layer in layers]))
        odds = 0.0
        for k in range(mixture.items.shape[1]):
            mixed = [negative_rows(layer[n_users:], mixture, t, b, k) for t, layer in enumerate(layers)]
            odds += float(torch.exp(final @ pool(torch.stack(mixed)) - y_pos))
        total += float(torch.log1p(torch.tensor(odds, dtype=torch.float64)))
    assert loss_of(step) == pytest.approx(total / len(PAIRS), rel=1e-10)


@pytest.mark.parametrize("l2_on", ["mixed", "real"])
@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: a.__name__)
@pytest.mark.parametrize("backbone", BACKBONES, ids=str)
def test_l2_is_on_the_ego_table(backbone: Backbone, answer: Callable[[Matching], Mixture], l2_on: str) -> None:
    """l2/(2B) Σ_b (‖e_u‖² + ‖e_i‖² + Σ_k ‖e_neg‖²), rows of the trainable table even where no layer shows it.

    "mixed": the negative is the mixture of the first layer; "real": the item that stands last in it, unmixed.
    """
    strength = 0.7
    with_l2 = build(backbone, answer, Protocol(l2=strength, l2_on=l2_on))
    users, positives, mixture = pieces(with_l2, answer)
    ego = with_l2.parameters["ego"].detach()
    items = ego[with_l2.graph.n_users :]
    squares = 0.0
    for b in range(len(PAIRS)):
        squares += float(ego[users[b]] @ ego[users[b]]) + float(items[positives[b]] @ items[positives[b]])
        for k in range(mixture.items.shape[1]):
            real = items[mixture.items[b, k, -1, 0]]
            row = real if l2_on == "real" else negative_rows(items, mixture, 0, b, k)
            squares += float(row @ row)
    found = loss_of(with_l2) - loss_of(build(backbone, answer, Protocol(l2=0)))
    assert found == pytest.approx(strength / (2 * len(PAIRS)) * squares, rel=1e-9)


def test_l2_on_the_real_item_differs_where_items_are_mixed() -> None:
    mixed, real = (build(LightGCN(dim=4), blended, Protocol(l2=1.0, l2_on=l2_on)) for l2_on in ("mixed", "real"))
    assert loss_of(mixed) != pytest.approx(loss_of(real), rel=1e-4)


def test_the_contrastive_loss_is_added() -> None:
    quiet, loud = (build(SimGCL(dim=4, depth=2, cl_weight=weight), one, Protocol()) for weight in (0.0, 0.4))
    users, positives, _ = pieces(quiet, one)
    noise = Streams.of(5, CPU).noise
    extra = loud.backbone.extra_loss(loud.parameters, loud.graph, users, positives, noise)
    assert extra is not None
    assert loss_of(loud) - loss_of(quiet) == pytest.approx(extra.item(), rel=1e-9)


def test_asking_for_the_loss_updates_nothing_and_a_step_moves_every_table() -> None:
    step = build(NGCF(dim=4, depth=2), one, Protocol(learning_rate=0.01))
    before = {name: value.detach().clone() for name, value in step.parameters.items()}
    loss_of(step)
    assert all(torch.equal(step.parameters[name], value) for name, value in before.items())
    step.streams.pools.seek(0)
    loss = step(*batch(step))
    assert not loss.requires_grad
    assert not any(torch.equal(step.parameters[name], value) for name, value in before.items())
    # Adam's first step is the learning rate in the direction of the gradient, for every entry that has one.
    moved = (step.parameters["ego"].detach() - before["ego"]).abs()
    assert moved.max() == pytest.approx(0.01, rel=1e-3)
    assert int(step.streams.pools.step) == int(step.streams.choice.step) == int(step.streams.noise.step) == 1


def test_steps_lower_the_loss() -> None:
    step = build(LightGCN(dim=4, depth=2), one, Protocol(learning_rate=0.05))
    losses = []
    for _ in range(30):
        losses.append(step(*batch(step)).item())
        step.streams.pools.seek(0)  # the same candidates again
    assert losses[-1] < 0.5 * losses[0]


def test_streams_are_apart() -> None:
    streams = Streams.of(3, CPU)
    first = [stream.bits(4).tolist() for stream in vars(streams).values()]
    assert len({str(numbers) for numbers in first}) == 6


def test_a_sampler_of_several_negatives_is_a_pool_of_several() -> None:
    graph, streams = build_graph(SPLIT), Streams.of(0, CPU)
    parameters = {"ego": torch.zeros(graph.n, 4, requires_grad=True)}
    step = TrainingStep(graph, MF(dim=4), RNS(pool=5), BPR(), Protocol(), parameters, streams, Profiler(CPU))
    assert loss_of(step) == pytest.approx(math.log(1 + 5))  # all scores are 0
