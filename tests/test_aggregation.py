"""Aggregation: one embedding from several layers, and a score that is the same from both sides."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.errors import SettingError

KINDS: tuple[Kind, ...] = ("mean", "sum", "concat")


def stack(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_pool_by_hand() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]])  # three layers of two numbers
    assert Aggregation("mean").pool(x).tolist() == [3.0, 3.0]
    assert Aggregation("sum").pool(x).tolist() == [9.0, 9.0]
    assert Aggregation("concat").pool(x).tolist() == [1.0, 2.0, 3.0, 6.0, 5.0, 1.0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_pooling_layers_apart_is_pooling_the_stack(kind: Kind, depth: int) -> None:
    x = stack(7, depth, 3)
    agg = Aggregation(kind)
    torch.testing.assert_close(agg.pool_layers(tuple(x.unbind(1))), agg.pool(x), rtol=1e-15, atol=1e-15)
    assert agg.pool(x).shape == (7, 3 * depth if kind == "concat" else 3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@given(depth=st.integers(1, 5), dim=st.integers(1, 6), batch=st.integers(1, 4), seed=st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_the_layer_wise_scores_add_up_to_the_models_score(
    kind: Kind, weighted: bool, depth: int, dim: int, batch: int, seed: int
) -> None:
    """score(a) = <ē_u, Agg(V_j)>; with concat the block reading, Σ_l a_l = <ē_u, concat(V_j)>, for any candidates."""
    agg = Aggregation(kind, tuple(stack(depth, seed=seed).tolist()) if weighted else None)
    u, v = stack(batch, depth, dim, seed=seed), stack(batch, 3, depth, dim, seed=seed + 1)
    a = (agg.anchor(u)[:, None] * v).sum(-1)  # [B, N, T]
    final = torch.einsum("bd,bnd->bn", agg.pool(u), agg.pool(v))
    torch.testing.assert_close(agg.score(a), final, rtol=1e-12, atol=1e-12)
    constant = depth if kind == "mean" else 1
    torch.testing.assert_close(a.sum(-1), constant * final, rtol=1e-12, atol=1e-12)


def test_the_anchor_is_the_final_embedding_unless_layers_are_kept_apart() -> None:
    u = stack(5, 3, 4)
    for layer in range(3):
        torch.testing.assert_close(Aggregation("mean").anchor(u)[:, layer], u.mean(1))
        torch.testing.assert_close(Aggregation("sum").anchor(u)[:, layer], u.sum(1))
        block = Aggregation("concat").pool(u)[:, 4 * layer : 4 * (layer + 1)]
        assert torch.equal(Aggregation("concat").anchor(u)[:, layer], block)
    assert not torch.allclose(Aggregation("mean").anchor(u), Aggregation("concat").anchor(u))


@pytest.mark.parametrize("kind", KINDS)
def test_one_layer_is_itself(kind: Kind) -> None:
    x, agg = stack(4, 1, 3), Aggregation(kind)
    assert torch.equal(agg.pool(x), x[:, 0])
    assert torch.equal(agg.anchor(x), x)
    assert torch.equal(agg.pool_layers((x[:, 0],)), x[:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_every_layer_through_the_anchor(kind: Kind) -> None:
    u, v = stack(2, 3, 2).requires_grad_(), stack(2, 3, 2, seed=1)
    agg = Aggregation(kind)
    assert torch.autograd.gradcheck(lambda x: agg.score((agg.anchor(x) * v).sum(-1)), u)
    agg.score((agg.anchor(u) * v).sum(-1)).sum().backward()  # type: ignore[no-untyped-call]
    assert u.grad is not None
    expected = v if kind == "concat" else agg.pool(v)[:, None].expand_as(v) / (3 if kind == "mean" else 1)
    torch.testing.assert_close(u.grad, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_those_of_layers_scaled_beforehand(kind: Kind) -> None:
    x, weights = stack(7, 3, 4), (0.5, 2.0, -1.0)
    scaled = x * torch.tensor(weights, dtype=x.dtype)[:, None]
    weighted, plain = Aggregation(kind, weights), Aggregation(kind)
    torch.testing.assert_close(weighted.pool(x), plain.pool(scaled))
    torch.testing.assert_close(weighted.pool_layers(x.unbind(1)), plain.pool(scaled))
    with pytest.raises(SettingError, match="3 weights do not fit 2 layers"):
        weighted.pool(x[:, :2])


def test_another_kind_is_refused() -> None:
    with pytest.raises(SettingError, match=r"kind='final' is not allowed; it must be mean \| sum \| concat"):
        Aggregation("final")  # type: ignore[arg-type]
