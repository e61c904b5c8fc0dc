"""A sampler's answer: a negative is a mixture of real items, layer by layer."""

from dataclasses import dataclass

import torch
from torch import Tensor

from sahcns.errors import TrainingError

WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)  # types of ids; a mask is none


@dataclass(frozen=True, eq=False)
class Mixture:
    """Which items, in which proportion, at which layer.

        negative[b, k, t] = Σ_m weights[b, k, m, t] · V[items[b, k, m, t], t]

    items    [B, M, T], or [B, K, M, T] for K negatives a pair; a last axis of 1 means the same item at every layer
    weights  the same shape with T full, sums to 1 over M, carries no gradient; None stands for M = 1
    """

    items: Tensor
    weights: Tensor | None = None

    @classmethod
    def single(cls, ids: Tensor) -> "Mixture":
        """[B]: one real item for all layers."""
        return cls(ids[:, None, None, None])

    @classmethod
    def several(cls, ids: Tensor) -> "Mixture":
        """[B, K]: K real items, each a negative of its own."""
        return cls(ids[:, :, None, None])

    @classmethod
    def per_layer(cls, ids: Tensor) -> "Mixture":
        """[B, T]: one real item for each layer."""
        return cls(ids[:, None, None, :])

    @classmethod
    def blend(cls, first: Tensor, second: Tensor, weight: Tensor) -> "Mixture":
        """weight · first + (1 - weight) · second; ids [B] or [B, T], `weight [B, T]` is the share of `first`."""
        shape = weight.shape if first.dim() == 2 or second.dim() == 2 else (len(weight), 1)
        ids = [side if side.dim() == 2 else side[:, None] for side in (first, second)]
        items = torch.stack([side.expand(shape) for side in ids], dim=1)  # [B, 2, T or 1]
        weight = weight.detach()
        return cls(items[:, None], torch.stack([weight, 1.0 - weight], dim=1)[:, None])

    def checked(self, pairs: int, layers: int, sampler: str) -> "Mixture":
        """In its full form, items [B, K, M, T or 1] and weights [B, K, M, T]; a wrong shape is an error."""
        items, weights = self.items, self.weights
        for what, value in (("items", items), ("weights", weights)):
            if not isinstance(value, Tensor) and (value is not None or what == "items"):
                raise TrainingError(f"{sampler} returned {what} as {type(value).__name__}; they must be a torch tensor")
        if items.dim() == 3:
            items, weights = items[:, None], None if weights is None else weights[:, None]
        fits = items.dim() == 4 and len(items) == pairs and items.shape[3] in (1, layers) and 0 not in items.shape
        if not fits or items.dtype not in WHOLE:
            raise TrainingError(
                f"{sampler} returned items of shape {list(self.items.shape)} ({self.items.dtype}); "
                f"choose() must return whole-number ids [B, M, T] or [B, K, M, T] with B={pairs} and T={layers} (or 1)"
            )
        if weights is None and items.shape[2] != 1:
            raise TrainingError(f"{sampler} mixes {items.shape[2]} items but returned no weights")
        if weights is not None and weights.shape != (*items.shape[:3], layers):
            raise TrainingError(
                f"{sampler} returned weights of shape {list(weights.shape)}; "
                f"expected {[*items.shape[:3], layers]}, one for each item and layer"
            )
        return Mixture(items.long(), None if weights is None else weights.detach())
