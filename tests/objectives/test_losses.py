"""Every objective against its equations in plain loops, by finite differences, at extremes, and with pairs that weigh."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch

from sahcns.aggregation import Kind
from sahcns.errors import SettingError
from sahcns.objectives import BCE, BPR, BSL, CCL, PSL, Comparison, DirectAU, Objective, SampledSoftmax, SLatK
from sahcns.objectives.directau import uniformity
from sahcns.settings import by_name, named
from tests.objectives.worlds import FORMS, GRAPH, OBJECTIVES, SOFTMAX, Case, random_layers

every_objective = pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
every_form = pytest.mark.parametrize("form", FORMS)
Vector = npt.NDArray[np.float64]
SIGMA: dict[str, Callable[[float], float]] = {
    "tanh": lambda d: math.tanh(d) + 1,
    "relu": lambda d: max(0.0, d + 1),
    "atan": lambda d: max(0.0, math.atan(d) + 1),
}
JOIN: dict[str, Callable[[list[Vector]], Vector]] = {"mean": lambda x: np.mean(x, 0), "concat": np.concatenate}


def finals(case: Case, pairs: Comparison) -> tuple[list[Vector], list[Vector], list[list[Vector]]]:
    """Final vectors of the users, of the positives, and of the negatives that count of each pair."""
    layers = [table.detach().double().numpy() for table in pairs.batch.layers]
    join = JOIN[case.kind]
    first, (rows, count) = GRAPH.n_users, pairs.items.shape[:2]
    users = [join([table[u] for table in layers]) for u in pairs.users.tolist()]
    positives = [join([table[first + i] for table in layers]) for i in pairs.positives.tolist()]
    negatives: list[list[Vector]] = [[] for _ in users]
    for b, found in enumerate(negatives):
        for k in range(count):
            if pairs.left_out is not None and pairs.left_out[b, k]:
                continue
            mixed = []
            for t, table in enumerate(layers):
                one = np.zeros_like(table[0])
                for m, ids in enumerate(pairs.items[b if rows > 1 else 0, k].tolist()):
                    share = 1.0 if pairs.weights is None else float(pairs.weights[b, k, m, t])
                    one = one + share * table[first + ids[min(t, len(ids) - 1)]]
                mixed.append(one)
            found.append(join(mixed))
    return users, positives, negatives


def score(objective: Objective, one: Vector, other: Vector) -> float:
    kind = "dot" if isinstance(objective, BPR) else getattr(objective, "similarity", "cosine")
    dot = math.fsum(one * other)
    return dot if kind == "dot" else dot / math.sqrt(math.fsum(one * one) * math.fsum(other * other))


def log_qs(pairs: Comparison, b: int) -> tuple[float, list[float]]:
    """Of the positive, and of the negatives that count."""
    if pairs.log_q is None:
        return 0.0, [0.0] * pairs.items.shape[1]
    assert pairs.left_out is not None
    shared = [int(item) for k, item in enumerate(pairs.items[0, :, 0, 0]) if not pairs.left_out[b, k]]
    return float(pairs.log_q[pairs.positives[b]]), [float(pairs.log_q[item]) for item in shared]


def of_a_pair(objective: Objective, own: float, others: list[float], q: float, qs: list[float], beta: float) -> float:
    """The equation of the objective's file, term by term."""
    among = [*zip(others, qs, strict=False)]
    if isinstance(objective, BPR):
        return math.log(1 + sum(math.exp((s - lq) - (own - q)) for s, lq in among))
    if isinstance(objective, SampledSoftmax | SLatK):
        t = objective.temperature
        top = math.exp(own / t - q)
        loss = -math.log(top / (top + sum(math.exp(s / t - lq) for s, lq in among)))
        if isinstance(objective, SLatK):
            loss /= 1 + math.exp(-(own - beta) / objective.weight_temperature)
        return loss
    if isinstance(objective, BSL):
        t1 = objective.temperature
        t2 = objective.negative_temperature or t1
        power = objective.power or t2 / t1
        total = sum(math.exp(s / t2 - lq) for s, lq in among)
        return q - own / t1 + (power * math.log(total) if others else 0.0)
    if isinstance(objective, PSL):
        sigma = SIGMA[objective.activation]
        each = [sigma((s - own) / objective.scale) ** (1 / objective.temperature) * math.exp(q - lq) for s, lq in among]
        return math.log(1 + sum(each))
    if isinstance(objective, BCE):
        t = objective.temperature
        rest = [-math.log(1 - 1 / (1 + math.exp(-s / t))) for s in others]
        return -math.log(1 / (1 + math.exp(-own / t))) + objective.weight * (sum(rest) / len(rest) if rest else 0.0)
    assert isinstance(objective, CCL)
    rest = [max(0.0, s - objective.margin) for s in others]
    return 1 - own + objective.weight * (sum(rest) / len(rest) if rest else 0.0)


def spread(vectors: list[Vector]) -> float:
    """log mean_{b<b'} e^{-2‖x_b - x_b'‖²} of vectors brought to length 1."""
    unit = [one / math.sqrt(math.fsum(one * one)) for one in vectors]
    each = [math.exp(-2 * math.fsum((x - y) ** 2)) for b, x in enumerate(unit) for y in unit[:b]]
    return math.log(sum(each) / len(each))


def by_loops(objective: Objective, case: Case) -> float:
    pairs = case.pairs(objective)
    users, positives, negatives = finals(case, pairs)
    weights = [1.0] * len(users) if case.weights is None else case.weights.tolist()
    total = 0.0
    for b, weight in enumerate(weights):
        own = score(objective, users[b], positives[b])
        if isinstance(objective, DirectAU):
            total += weight * (2 - 2 * own)
            continue
        others = [score(objective, users[b], one) for one in negatives[b]]
        beta = 0.0 if pairs.state is None else float(pairs.state["beta"][pairs.users[b]])
        total += weight * of_a_pair(objective, own, others, *log_qs(pairs, b), beta)
    total /= len(users)
    if isinstance(objective, DirectAU):
        total += objective.gamma / 2 * (spread(users) + spread(positives))
    return total


def test_none_is_missing() -> None:
    built_in = {kind for kind in named(Objective).values() if kind.__module__.startswith("sahcns.")}
    assert {type(one) for one in OBJECTIVES} == built_in
    for one in OBJECTIVES:
        assert by_name(Objective, one.name, one.to_dict()) == one


@pytest.mark.parametrize("kind", ["mean", "concat"])
@every_form
@every_objective
def test_is_its_equation(objective: Objective, form: str, kind: Kind) -> None:
    """Weights of pairs included; a batch has a pair twice, and where negatives are shared a pair without any."""
    plain = Case(random_layers(1), form, None, kind)
    weighing = replace(plain, weights=torch.tensor([0.5, 3.0, 1.0, 0.0, 0.5], dtype=torch.float64))
    for case in (plain, weighing):
        pairs = case.pairs(objective)
        assert objective.loss(pairs).item() == pytest.approx(by_loops(objective, case), rel=1e-9)
        assert pairs.averaged
        assert pairs.corrected == isinstance(objective, SOFTMAX)
    assert plain.loss(objective).item() != pytest.approx(weighing.loss(objective).item(), rel=1e-6)


@every_form
@every_objective
def test_gradient_by_differences(objective: Objective, form: str) -> None:
    layers = random_layers(2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: Case(x, form).loss(objective), (layers,), fast_mode=True)


@pytest.mark.parametrize("size", [0.0, 1e-4, 1e3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@every_form
@every_objective
def test_nothing_overflows(objective: Objective, form: str, dtype: torch.dtype, size: float) -> None:
    """Scores of a million, vectors of length 0, temperatures far below what anybody takes."""
    short = {"temperature": 1e-3} if "temperature" in objective.to_dict() else {}
    layers = (size * random_layers(3, dtype)).requires_grad_()
    found = Case(layers, form).loss(replace(objective, **short))
    found.backward()  # type: ignore[no-untyped-call]
    assert found.isfinite()
    assert layers.grad is not None
    assert bool(layers.grad.isfinite().all())


@every_objective
def test_what_all_pairs_share_is_what_each_is_given(objective: Objective) -> None:
    """Scores by one product are those by gathering, and so is the gradient; of the batch's own rows too."""
    case = Case(random_layers(4).requires_grad_(), "in-batch")
    shared = case.pairs(objective, left_out=None)
    each = case.pairs(objective, left_out=None, own=0, items=shared.items.expand(5, -1, -1, -1))
    for one, other in ((shared.negative, each.negative), (shared.scores("cosine")[1], each.scores("cosine")[1])):
        torch.testing.assert_close(one, other)
    found, expected = (torch.autograd.grad(objective.loss(pairs), case.layers)[0] for pairs in (shared, each))
    torch.testing.assert_close(found, expected)


def test_temperatures_and_powers() -> None:
    """SSM is BPR for τ = 1; BSL is SSM's negative part for t₂ = 1, and both of its forms meet."""
    case = Case(random_layers(6), "several")
    value = {str(one): case.loss(one).item() for one in OBJECTIVES}
    assert case.loss(SampledSoftmax(temperature=1.0, similarity="dot")).item() == pytest.approx(value["BPR()"])
    one, other = BSL(temperature=0.2, power=1.5), BSL(temperature=0.2, negative_temperature=0.2, power=1.5)
    assert case.loss(one).item() == case.loss(other).item()
    assert case.loss(BSL(power=None)).item() == case.loss(BSL(power=1.0)).item() != value[str(BSL())]
    with pytest.raises(SettingError, match="temperature=0"):
        SampledSoftmax(temperature=0)


def test_a_lower_temperature_looks_at_the_hardest() -> None:
    layers = random_layers(7).requires_grad_()
    shares = []
    for tau in (1.0, 0.05):
        pairs = Case(layers, "several").pairs(BPR())
        _, negative = pairs.scores("cosine")
        loss = SampledSoftmax(temperature=tau).loss(pairs)
        gradient = torch.autograd.grad(loss, negative)[0]
        assert bool((gradient > 0).all())  # a step downhill lowers every negative
        shares.append(gradient.gather(1, negative.argmax(1, keepdim=True))[:, 0] / gradient.sum(1))
    assert bool((shares[1] > shares[0]).all())


def test_users_on_one_spot_are_spread() -> None:
    """Where all are alike uniformity is 0, its highest; a batch of one has none."""
    alike = torch.tensor([[0.6, 0.8]]).expand(4, 2)
    assert uniformity(alike).item() == pytest.approx(0.0, abs=1e-6)
    assert uniformity(alike[:1]).item() == 0
    assert uniformity(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])).item() == pytest.approx(-8.0)
