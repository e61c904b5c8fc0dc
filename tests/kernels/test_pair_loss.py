"""pair_loss and ridge: BPR and L2 in one go, held against their equations taped by autograd."""

import itertools

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.kernels.cpu import CpuVerbs
from sahcns.kernels.reference import ReferenceVerbs
from sahcns.kernels.verbs import Read
from sahcns.objectives import bpr, l2
from tests.kernels.conftest import Path

USERS, ITEMS, DIM, BATCH = 5, 7, 6, 9
Mixed = tuple[Tensor, Tensor | None]


def mixtures(layers: int) -> dict[str, Mixed]:
    """items [B, M, T or 1] and weights [B, M, T]: what the samplers return, rows repeated within a batch and a mixture."""
    make = torch.Generator().manual_seed(layers)
    weights = torch.rand(BATCH, 2, layers, generator=make, dtype=torch.float64)
    items = torch.randint(ITEMS, (BATCH, 2, layers), generator=make)
    shares = weights / weights.sum(1, keepdim=True)
    return {
        "one item": (items[:, :1, :1], None),
        "one a layer": (items[:, :1], None),
        "two": (items[..., :1], shares),
        "two a layer": (items, shares),
    }


def batch() -> tuple[Tensor, Tensor]:
    make = torch.Generator().manual_seed(1)
    return torch.randint(USERS, (BATCH,), generator=make), torch.randint(ITEMS, (BATCH,), generator=make)


def tables(layers: int, path: Path, dtype: torch.dtype) -> list[Tensor]:
    made = torch.randn(layers, USERS + ITEMS, DIM, generator=torch.Generator().manual_seed(layers), dtype=torch.float64)
    return [table.to(path.device, dtype, copy=True).requires_grad_() for table in made]


def taped(layers: list[Tensor], agg: Aggregation, mixed: Mixed, strength: float) -> Tensor:
    users, positives = (side.to(layers[0].device) for side in batch())
    items, weights = mixed
    reads = (users[:, None, None], None), ((positives + USERS)[:, None, None], None), (items + USERS, weights)
    u, i, negatives = ReferenceVerbs().mix(tuple(layers), *(Read(*read) for read in reads))
    anchor = agg.anchor(u)
    loss = bpr(agg.score((anchor * i).sum(-1)), agg.score((anchor * negatives).sum(-1))[:, None])
    return loss + l2(strength, u[:, 0], i[:, 0], negatives[:, None, 0])


CASES = list(itertools.product(("mean", "sum", "concat"), (1, 2, 4), mixtures(1)))


@pytest.mark.parametrize("strength", [0.0, 0.3])
@pytest.mark.parametrize(("kind", "layers", "form"), CASES)
def test_the_loss_and_its_gradient_at_every_layer(
    path: Path, kind: Kind, layers: int, form: str, strength: float
) -> None:
    dtype = torch.float64 if path.name == "cpu" else torch.float32
    items, weights = mixtures(layers)[form]
    mixed = items.to(path.device).contiguous(), None if weights is None else weights.to(path.device, dtype)
    own = tables(layers, path, dtype)
    users, positives = (side.to(path.device) for side in batch())
    found = path.verbs.pair_loss(tuple(own), Aggregation(kind), USERS, users, positives, *mixed, strength)
    if found is None:
        assert (path.name, kind) == ("cpu", "concat") or path.name in ("reference", "triton-ordered")
        return
    others = tables(layers, path, dtype)
    expected = taped(others, Aggregation(kind), mixed, strength)
    tight = 1e-12 if dtype == torch.float64 else 2e-5
    assert found.item() == pytest.approx(expected.item(), rel=tight)
    (3 * found).backward()  # type: ignore[no-untyped-call]
    (3 * expected).backward()  # type: ignore[no-untyped-call]
    for mine, other in zip(own, others, strict=True):
        assert mine.grad is not None
        torch.testing.assert_close(mine.grad, other.grad, rtol=tight, atol=tight)


@pytest.mark.parametrize("form", list(mixtures(1)))
def test_ridge_on_a_table_that_is_no_layer(form: str) -> None:
    path, (items, weights) = Path("cpu", "cpu"), mixtures(3)[form]
    mine, other = tables(1, path, torch.float64)[0], tables(1, path, torch.float64)[0]
    users, positives = batch()
    share = torch.ones(BATCH, 1, dtype=torch.float64) if weights is None else weights[..., 0]
    negative = (other[items[..., 0] + USERS] * share[..., None]).sum(1)
    expected = l2(0.4, other[users], other[positives + USERS], negative)
    found = CpuVerbs().ridge(mine, USERS, users, positives, items, weights, 0.4)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    found.backward()  # type: ignore[no-untyped-call]
    expected.backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(mine.grad, other.grad)
