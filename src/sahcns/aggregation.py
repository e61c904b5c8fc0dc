"""How a backbone turns its layers into one embedding, seen from both sides of a score.

    Agg(x⁰ … x^L) = Σ_l P_l x^l,   s = <ē_u, Agg(V_j)> = c · Σ_l a_l,   a_l = <anchor_l(ē_u), V_j^l>

mean:   ē = (1/T) Σ x^l, anchor_l = ē,            c = 1/T
sum:    ē = Σ x^l,       anchor_l = ē,            c = 1
concat: ē = [x⁰ | … | x^L], anchor_l = block l of ē = x^l, c = 1   (the block reading: the score stays Σ_l a_l)

With layer weights w every x^l stands for w_l x^l, on both sides of the score: anchor_l = w_l ē, or w_l² x^l for concat.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sahcns.errors import SettingError

Kind = Literal["mean", "sum", "concat"]


@dataclass(frozen=True)
class Aggregation:
    """How T layers become one embedding, each layer times its weight where there are weights."""

    kind: Kind
    weights: tuple[float, ...] | None = None  # one for each layer

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise SettingError(
                f"Aggregation: kind={self.kind!r} is not allowed; it must be {' | '.join(get_args(Kind))}"
            )

    def pool(self, x: Tensor) -> Tensor:
        """[…, T, d] → […, D]: the final embedding."""
        x = self._weighted(x)
        if self.kind == "mean":
            return x.mean(-2)
        return x.sum(-2) if self.kind == "sum" else x.flatten(-2)

    def pool_layers(self, layers: Sequence[Tensor]) -> Tensor:
        """T tensors [n, d] → [n, D], without stacking them first for mean and sum."""
        if self.weights is not None:
            self._check(len(layers))
            layers = [weight * layer for weight, layer in zip(self.weights, layers, strict=True)]
        if self.kind == "concat":
            return torch.cat(tuple(layers), dim=-1)
        total = layers[0]
        for layer in layers[1:]:
            total = total + layer
        return total / len(layers) if self.kind == "mean" else total

    def anchor(self, user_layers: Tensor) -> Tensor:
        """[B, T, d] → [B, T, d]: what multiplies the item's layer l to give a_l."""
        if self.kind == "concat":
            return self._weighted(self._weighted(user_layers))
        return self._weighted(self.pool(user_layers).unsqueeze(-2).expand_as(user_layers))

    def score(self, a: Tensor) -> Tensor:
        """[…, T] → […]: the model's score from the layer-wise scores."""
        return a.mean(-1) if self.kind == "mean" else a.sum(-1)

    def _weighted(self, x: Tensor) -> Tensor:
        """Layers […, T, d], each times its weight; plain numbers, so that a GPU is sent no tensor for them."""
        if self.weights is None:
            return x
        self._check(x.shape[-2])
        return torch.stack([weight * part for weight, part in zip(self.weights, x.unbind(-2), strict=True)], dim=-2)

    def _check(self, layers: int) -> None:
        if self.weights is not None and len(self.weights) != layers:
            raise SettingError(
                f"Aggregation: {len(self.weights)} weights do not fit {layers} layers; give one for each"
            )
