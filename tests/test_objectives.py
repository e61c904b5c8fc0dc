"""The loss: BPR in a form that does not overflow, and L2 exactly as the lineage writes it."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sahcns.errors import TrainingError
from sahcns.objectives import bpr, l2, one_number

scores = st.lists(st.floats(-30, 30), min_size=3, max_size=3)


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@given(st.floats(-30, 30), st.floats(-30, 30))
@settings(max_examples=60, deadline=None)
def test_one_negative_is_log_one_plus_exp(positive: float, negative: float) -> None:
    found = float(bpr(column(positive), column(negative)[:, None]))
    assert found == pytest.approx(math.log1p(math.exp(negative - positive)), rel=1e-9, abs=1e-15)


@given(st.floats(-30, 30), scores)
@settings(max_examples=60, deadline=None)
def test_several_negatives_share_one_logarithm(positive: float, negatives: list[float]) -> None:
    expected = math.log1p(sum(math.exp(negative - positive) for negative in negatives))
    found = float(bpr(column(positive), column(*negatives)[None]))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert found <= sum(float(bpr(column(positive), column(negative)[:, None])) for negative in negatives) + 1e-9


def test_the_batch_is_averaged() -> None:
    positive, negative = column(1.0, -2.0, 0.5), column(0.0, 3.0, 0.5)[:, None]
    one_by_one = [float(bpr(positive[b : b + 1], negative[b : b + 1])) for b in range(3)]
    assert float(bpr(positive, negative)) == pytest.approx(sum(one_by_one) / 3)
    assert one_by_one[2] == pytest.approx(math.log(2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("margin", [1e4, -1e4])
def test_nothing_overflows(dtype: torch.dtype, count: int, margin: float) -> None:
    positive = torch.zeros(2, dtype=dtype, requires_grad=True)
    negative = torch.full((2, count), margin, dtype=dtype, requires_grad=True)
    loss = bpr(positive, negative)
    loss.backward()  # type: ignore[no-untyped-call]
    assert positive.grad is not None
    assert negative.grad is not None
    if margin > 0:
        # The whole pull, no NaN and no 0; a float32 of size 10⁴ is good to 10⁻³, and so are differences of two.
        assert loss.item() == pytest.approx(margin + math.log(count), rel=1e-6)
        assert negative.grad.sum().item() == pytest.approx(1.0, abs=1e-3)
        assert positive.grad.tolist() == pytest.approx([-0.5, -0.5], abs=1e-3)
    else:
        assert loss.item() == 0.0
        assert negative.grad.abs().max() == 0.0


@pytest.mark.parametrize("count", [1, 3])
def test_gradients(count: int) -> None:
    generator = torch.Generator().manual_seed(count)
    positive = torch.randn(4, generator=generator, dtype=torch.float64, requires_grad=True)
    negative = torch.randn(4, count, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(bpr, (positive, negative))
    bpr(positive, negative).backward()  # type: ignore[no-untyped-call]
    assert positive.grad is not None
    assert negative.grad is not None
    assert (positive.grad < 0).all()  # a step downhill raises the positive
    assert (negative.grad > 0).all()  # and lowers every negative


def test_l2_by_hand() -> None:
    users, positives = column(1, 2, 2, 0).view(2, 2), column(3, 0, 0, 1).view(2, 2)
    negatives = column(1, 1, 0, 2, 2, 0, 1, 0).view(2, 2, 2)  # two negatives a pair
    squares = (1 + 4 + 4 + 0) + (9 + 0 + 0 + 1) + (1 + 1 + 0 + 4 + 4 + 0 + 1 + 0)
    assert float(l2(0.1, users, positives, negatives)) == pytest.approx(0.1 / (2 * 2) * squares)


def test_l2_counts_a_row_each_time_it_occurs() -> None:
    row = column(1.0, -2.0)
    repeated = row.expand(6, 2)
    assert float(l2(1.0, repeated, repeated, repeated[:, None])) == pytest.approx(3 * 5 / 2)
    mixed = torch.stack([row, 0 * row])
    assert float(l2(1.0, mixed, mixed, mixed[:, None])) == pytest.approx(3 * 5 / 4)


def test_l2_gradient_is_the_row_over_the_batch() -> None:
    users = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    l2(0.3, users, 0 * users.detach(), 0 * users.detach()[:, None]).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(users.grad, 0.3 / 5 * users.detach())


def test_a_loss_of_one_s_own_is_a_tensor() -> None:
    with pytest.raises(
        TrainingError, match=r"str.extra_loss\(\) returned float; it must be one number, .*as a tensor, or None"
    ):
        one_number(0.5, "a sampler")  # type: ignore[arg-type]
