"""The form of a sampler's answer, and what is said about a wrong one."""

from collections.abc import Callable

import pytest
import torch

from sahcns.errors import TrainingError
from sahcns.samplers import Mixture

IDS = torch.tensor([3, 1])
TABLE = torch.tensor([[3, 1, 2], [0, 4, 5]])


def test_one_item_for_all_layers() -> None:
    full = Mixture.single(IDS).checked(2, 3, "S")
    assert full.items.tolist() == [[[[3]]], [[[1]]]]
    assert full.weights is None


def test_several_negatives() -> None:
    assert Mixture.several(TABLE).checked(2, 4, "S").items[:, :, 0, 0].tolist() == TABLE.tolist()


def test_one_item_for_each_layer() -> None:
    assert Mixture.per_layer(TABLE).checked(2, 3, "S").items[:, 0, 0].tolist() == TABLE.tolist()


@pytest.mark.parametrize("second", [IDS + 5, TABLE])
def test_a_blend_gives_the_weight_to_its_first_item(second: torch.Tensor) -> None:
    weight = torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    full = Mixture.blend(IDS, second, weight).checked(2, 3, "S")
    assert full.weights is not None
    assert torch.equal(full.weights[:, 0, 0], weight)
    assert torch.equal(full.weights[:, 0, 1], 1 - weight)
    items = full.items.expand(2, 1, 2, 3)
    assert items[:, 0, 0].tolist() == [[3, 3, 3], [1, 1, 1]]
    expected = second if second.dim() == 2 else second[:, None].expand(2, 3)
    assert torch.equal(items[:, 0, 1], expected)


@pytest.mark.parametrize("second", [IDS + 5, TABLE])
@pytest.mark.parametrize(
    "weight",
    [0.3, torch.tensor(0.3), torch.tensor([0.3, 0.3]), torch.full((2, 1), 0.3), torch.full((2, 3), 0.3)],
    ids=["number", "scalar", "for each pair", "for each pair, one layer", "for each pair and layer"],
)
def test_a_share_that_is_the_same_at_every_layer(weight: torch.Tensor | float, second: torch.Tensor) -> None:
    found = Mixture.blend(IDS, second, weight).checked(2, 3, "S")
    full = Mixture.blend(IDS, second, torch.full((2, 3), 0.3)).checked(2, 3, "S")
    assert found.weights is not None
    assert full.weights is not None
    assert torch.equal(found.weights, full.weights)
    assert torch.equal(found.items.expand(2, 1, 2, 3), full.items.expand(2, 1, 2, 3))


def test_a_share_for_each_pair_is_not_one_for_each_layer_where_there_are_as_many() -> None:
    found = Mixture.blend(IDS, IDS + 5, torch.tensor([0.1, 0.2])).checked(2, 2, "S")
    assert found.weights is not None
    assert torch.equal(found.weights[:, 0, 0], torch.tensor([[0.1, 0.1], [0.2, 0.2]]))


def test_weights_for_all_layers_at_once() -> None:
    found = Mixture(TABLE[:, :2, None], torch.full((2, 2, 1), 0.5)).checked(2, 3, "S")
    assert found.weights is not None
    assert found.weights.tolist() == torch.full((2, 1, 2, 3), 0.5).tolist()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Mixture.single(TABLE),
            r"Mixture.single takes ids as a tensor \[B\]; it was given one of shape \[2, 3\]",
        ),
        (lambda: Mixture.single([3, 1]), r"Mixture.single .*; it was given list"),  # type: ignore[arg-type]
        (lambda: Mixture.single(IDS[0]), r"given one of shape \[\]"),
        (
            lambda: Mixture.several(IDS),
            r"Mixture.several takes ids as a tensor \[B, K\]; it was given one of shape \[2\]",
        ),
        (lambda: Mixture.per_layer(IDS), r"Mixture.per_layer takes ids as a tensor \[B, T\]; .* \[2\]"),
        (
            lambda: Mixture.blend(IDS, TABLE[None], 0.5),
            r"takes the second ids as a tensor \[B\] or \[B, T\]; .*\[1, 2, 3\]",
        ),
        (lambda: Mixture.blend(IDS, IDS, [0.5]), r"the weight as .* or \[B, T, d\], or as a number; it was given list"),  # type: ignore[arg-type]
        (
            lambda: Mixture.blend(IDS, TABLE[:, :2], torch.ones(2, 3)),
            r"shape \[2\] and \[2, 2\] and a weight of .*\[2, 3\]",
        ),
        (lambda: Mixture.blend(IDS, IDS, torch.ones(3)), r"do not fit each other: one row for each pair"),  # [T]
    ],
)
def test_ids_of_another_shape_are_said_where_they_are_given(make: Callable[[], Mixture], sentence: str) -> None:
    with pytest.raises(TrainingError, match=sentence):
        make()


def test_weights_lose_their_gradient() -> None:
    weight = torch.full((2, 3), 0.5, requires_grad=True)
    assert not Mixture.blend(IDS, IDS, weight).weights.requires_grad  # type: ignore[union-attr]
    raw = Mixture(TABLE[:, None, None], weight[:, None, None]).checked(2, 3, "S")
    assert raw.weights is not None
    assert not raw.weights.requires_grad


@pytest.mark.parametrize("axes", [3, 4])
def test_a_share_for_each_dimension_and_a_shift(axes: int) -> None:
    """negative = Σ_m w_m ⊙ V[item_m] + shift, in the short form and in the full one."""
    items, shares = torch.stack([TABLE, TABLE.flip(0)], 1), torch.arange(24.0).view(2, 1, 3, 4) / 24
    weights, shift = torch.cat([shares, 1 - shares], 1), torch.arange(24.0).view(2, 3, 4)
    tables = [torch.randn(6, 4, generator=torch.Generator().manual_seed(t)) for t in range(3)]
    mixture = Mixture(items, weights, shift)
    if axes == 4:
        mixture = Mixture(items[:, None], weights[:, None], shift[:, None])
    made = mixture.apply(tables)
    assert made.shape == (2, 1, 3, 4)
    for b, t in ((0, 0), (0, 2), (1, 1)):
        first, second = tables[t][items[b, 0, t]], tables[t][items[b, 1, t]]
        expected = weights[b, 0, t] * first + weights[b, 1, t] * second + shift[b, t]
        torch.testing.assert_close(made[b, 0, t], expected)
    full = mixture.checked(2, 3, "S")
    assert full.layer_weights is not None
    torch.testing.assert_close(full.layer_weights[:, 0], weights.mean(-1))
    same = Mixture(items, weights[:, :, :1]).checked(2, 3, "S").weights  # the same at every layer
    assert same is not None
    assert torch.equal(same[:, 0], weights[:, :, :1].expand(2, 2, 3, 4))
    assert not full.plain
    assert not Mixture(items, weights).checked(2, 3, "S").plain
    assert not Mixture(TABLE[:, None], None, shift).checked(2, 3, "S").plain
    assert Mixture.blend(IDS, TABLE, 0.5).checked(2, 3, "S").plain
    assert not Mixture.several(TABLE).checked(2, 3, "S").plain


def test_three_axes_are_one_negative() -> None:
    weights = torch.full((2, 2, 3), 0.5)
    full = Mixture(torch.stack([TABLE, TABLE], 1), weights).checked(2, 3, "S")
    assert full.items.shape == (2, 1, 2, 3)
    assert full.weights is not None
    assert full.weights.shape == (2, 1, 2, 3)


@pytest.mark.parametrize(
    ("mixture", "sentence"),
    [
        (Mixture(IDS), r"Wrong returned items of shape \[2\].*with B=2 and T=3"),
        (Mixture(TABLE), r"items of shape \[2, 3\]"),
        (Mixture(TABLE[:1, None, None]), r"items of shape \[1, 1, 1, 3\].*B=2"),
        (Mixture(TABLE[:, None, None, :2]), r"items of shape \[2, 1, 1, 2\].*T=3"),
        (Mixture(TABLE[:, None, None].float()), r"\(torch.float32\).*whole-number ids"),
        (Mixture(TABLE[:, None, :, None]), r"mixes 3 items but returned no weights"),
        (Mixture(TABLE[:, None, None], torch.ones(2, 1, 1, 2)), r"weights of shape \[2, 1, 1, 2\].*\[2, 1, 1, 3\]"),
        (
            Mixture(TABLE[:, None, None], torch.ones(2, 1, 1, 2, 5)),
            r"weights of shape \[2, 1, 1, 2, 5\].*\[2, 1, 1, 3, 5\]",
        ),
        (
            Mixture(TABLE[:, None], shift=torch.ones(2, 2, 5)),
            r"shift of shape \[2, 1, 2, 5\]; expected \[2, 1, 3, 'd'\]",
        ),
        (Mixture(TABLE[:, None, None], torch.ones(2, 1, 1, 3, 5, 1)), r"weights of shape \[2, 1, 1, 3, 5, 1\]"),
        (Mixture(TABLE[:, None, None], torch.ones(2, 1, 1)), r"weights of shape \[2, 1, 1\]"),
        (Mixture(TABLE[:, None, None] > 1), r"\(torch.bool\).*whole-number ids"),  # a mask
        (Mixture.several(TABLE[:, :0]), r"items of shape \[2, 0, 1, 1\]"),  # no negative at all
        (Mixture(TABLE[:, None].numpy()), r"items as ndarray; they must be a torch tensor"),  # type: ignore[arg-type]
        (Mixture(TABLE[:, None], [[0.5, 0.5]]), r"weights as list; they must be a torch tensor"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_form_is_refused_with_what_was_expected(mixture: Mixture, sentence: str) -> None:
    with pytest.raises(TrainingError, match=sentence):
        mixture.checked(2, 3, "Wrong")


def test_ids_of_any_whole_type_come_out_as_one() -> None:
    for kind in (torch.int32, torch.uint8):
        full = Mixture.single(IDS.to(kind)).checked(2, 3, "S")
        assert full.items.dtype == torch.int64
        assert full.items.flatten().tolist() == IDS.tolist()
