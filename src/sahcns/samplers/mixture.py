"""What a sampler returns: a negative is a mixture of real items, layer by layer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real

import torch
from torch import Tensor

from sahcns.errors import TrainingError
from sahcns.graph import Read, mix_rows

WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)  # types of ids; a mask is none


@dataclass(frozen=True, eq=False)
class Mixture:
    """Which items, in which proportion, at which layer.

        negative[b, k, t] = Σ_m weights[b, k, m, t] · V[items[b, k, m, t], t]  (+ shift[b, k, t])

    items    [B, M, T], or [B, K, M, T] for K negatives a pair
    weights  likewise, sums to 1 over M, carries no gradient; None stands for M = 1

    In both a last axis of 1 means the same at every layer. Weights with one axis more, [B, M, T, d] or [B, K, M, T, d],
    have a share for each dimension.

    shift    [B, T, d] or [B, K, T, d], added to what is mixed; may carry gradient to the sampler's own parameters, and None
             stands for 0
    taught   [B, X] items whose layers the sampler's `extra_loss` is given in the place of the negatives, such as the pool

    The rest is of negatives that all pairs share, [1, K, 1, 1]:

    shared    whether they do
    left_out  [B, K], which of them are no negatives of a pair
    log_q     [n_items], log of how often each item is among them, up to a constant, where a softmax is to take it off
    own       so many of them, at the front, are the batch's positives in their order
    same      whether an item is no negative of the pairs whose positive it is: what `left_out` says, without a table
    """

    items: Tensor
    weights: Tensor | None = None
    shift: Tensor | None = None
    taught: Tensor | None = None
    shared: bool = False
    left_out: Tensor | None = None
    log_q: Tensor | None = None
    own: int = 0
    same: bool = False

    @classmethod
    def single(cls, ids: Tensor) -> "Mixture":
        """[B]: one real item for all layers."""
        _expect("single", ids, "ids", "[B]")
        return cls(ids[:, None, None, None])

    @classmethod
    def several(cls, ids: Tensor) -> "Mixture":
        """[B, K]: K real items, each a negative of its own."""
        _expect("several", ids, "ids", "[B, K]")
        return cls(ids[:, :, None, None])

    @classmethod
    def for_all(
        cls, ids: Tensor, left_out: Tensor | None = None, log_q: Tensor | None = None, own: int = 0, same: bool = False
    ) -> "Mixture":
        """[K]: the same real items for all pairs, each a negative of its own."""
        _expect("for_all", ids, "ids", "[K]")
        return cls(ids[None, :, None, None], shared=True, left_out=left_out, log_q=log_q, own=own, same=same)

    @classmethod
    def per_layer(cls, ids: Tensor) -> "Mixture":
        """[B, T]: one real item for each layer."""
        _expect("per_layer", ids, "ids", "[B, T]")
        return cls(ids[:, None, None, :])

    @classmethod
    def blend(cls, first: Tensor, second: Tensor, weight: Tensor | float) -> "Mixture":
        """weight · first + (1 - weight) · second; ids [B] or [B, T].

        `weight` is the share of `first`: [B, T], [B] for the same at every layer, one number for all, or [B, T, d] for a
        share of each dimension.
        """
        _expect("blend", first, "the first ids", "[B]", "[B, T]")
        _expect("blend", second, "the second ids", "[B]", "[B, T]")
        share = _share(weight, first)
        rows = [side if side.dim() > 1 else side[:, None] for side in (first, second, share)]  # [B, T or 1] each
        width = max(side.shape[1] for side in rows)
        if any(len(side) != len(first) or side.shape[1] not in (1, width) for side in rows):
            raise TrainingError(
                f"Mixture.blend was given ids of shape {list(first.shape)} and {list(second.shape)} and a weight of shape "
                f"{list(share.shape)}, which do not fit each other: one row for each pair, one column for each layer"
            )
        ids, share = rows[:2], rows[2].detach()
        width = max(side.shape[1] for side in ids)
        items = torch.stack([side.expand(-1, width) for side in ids], dim=1)  # [B, 2, T or 1]
        return cls(items[:, None], torch.stack([share, 1.0 - share], dim=1)[:, None])

    @property
    def plain(self) -> bool:
        """In its full form: one negative of rows, each pair's own, with one share for all dimensions: what kernels know."""
        one_share = self.weights is None or self.weights.dim() == 4
        return self.items.shape[1] == 1 and one_share and self.shift is None and not self.shared

    def excluded(self, positives: Tensor) -> Tensor | None:
        """[B, K]: which of the shared items are no negatives of a pair, by `left_out` and `same` together."""
        if not self.same:
            return self.left_out
        same = self.items[0, :, 0, 0] == positives[:, None]
        return same if self.left_out is None else same | self.left_out

    @property
    def layer_weights(self) -> Tensor | None:
        """In its full form: [B, K, M, T], the mean over dimensions where each has its own."""
        return self.weights if self.weights is None or self.weights.dim() == 4 else self.weights.mean(4)

    def apply(self, item_layers: Sequence[Tensor]) -> Tensor:
        """[B, K, T, d], with gradient: the negatives themselves, of T item tables [n_items, d]; shared ones [1, K, T, d]."""
        pairs = len(self.items if self.left_out is None else self.left_out)
        full = self.checked(pairs, len(item_layers), "the sampler", item_layers[0].dtype)
        pairs, several = full.items.shape[:2]
        weights = None if full.weights is None else full.weights.flatten(0, 1)
        (rows,) = mix_rows(tuple(item_layers), Read(full.items.flatten(0, 1), weights))
        rows = rows.view(pairs, several, *rows.shape[1:])
        return rows if full.shift is None else rows + full.shift

    def checked(self, pairs: int, layers: int, sampler: str, dtype: torch.dtype | None = None) -> "Mixture":
        """In its full form, items [B, K, M, T or 1] and weights [B, K, M, T] of `dtype`; a wrong shape is an error."""
        items, weights = self.items, self.weights
        for what, value in (("items", items), ("weights", weights)):
            if not isinstance(value, Tensor) and (value is not None or what == "items"):
                raise TrainingError(f"{sampler} returned {what} as {type(value).__name__}; they must be a torch tensor")
        if self.shared:
            return self._shared_checked(pairs, sampler)
        if items.dim() == 3:
            items, weights = items[:, None], None if weights is None else weights[:, None]
        shift = self.shift[:, None] if self.shift is not None and self.shift.dim() == 3 else self.shift
        fits = items.dim() == 4 and len(items) == pairs and items.shape[3] in (1, layers) and 0 not in items.shape
        if not fits or items.dtype not in WHOLE:
            raise TrainingError(
                f"{sampler} returned items of shape {list(self.items.shape)} ({self.items.dtype}); "
                f"choose() must return whole-number ids [B, M, T] or [B, K, M, T] with B={pairs} and T={layers} (or 1)"
            )
        if weights is None and items.shape[2] != 1:
            raise TrainingError(f"{sampler} mixes {items.shape[2]} items but returned no weights")
        if weights is not None:
            full = (*items.shape[:3], layers, *weights.shape[4:5])
            if weights.shape not in (full, (*full[:3], 1, *full[4:])):
                raise TrainingError(
                    f"{sampler} returned weights of shape {list(weights.shape)}; "
                    f"expected {list(full)}, one for each item and layer (or 1)"
                )
            weights = weights.detach().expand(full).contiguous().to(dtype or weights.dtype)
        if shift is not None and shift.shape[:-1] != (*items.shape[:2], layers):
            raise TrainingError(
                f"{sampler} returned a shift of shape {list(shift.shape)}; expected {[*items.shape[:2], layers, 'd']}"
            )
        return Mixture(items.long(), weights, shift=shift, taught=self.taught)

    def _shared_checked(self, pairs: int, sampler: str) -> "Mixture":
        form, left_out = list(self.items.shape), self.left_out
        if form[:1] + form[2:] != [1, 1, 1] or 0 in form or self.items.dtype not in WHOLE or self.weights is not None:
            raise TrainingError(
                f"{sampler} shares items of shape {form} ({self.items.dtype}) among all pairs; they must be whole-number ids "
                "[1, K, 1, 1] without weights, as Mixture.for_all(ids) makes them"
            )
        if left_out is not None and (left_out.shape != (pairs, form[1]) or left_out.dtype != torch.bool):
            raise TrainingError(
                f"{sampler} returned left_out of shape {list(left_out.shape)} ({left_out.dtype}); it must be true or false for "
                f"each pair and shared item, {[pairs, form[1]]}"
            )
        return replace(self, items=self.items.long())


def _share(weight: Tensor | float, ids: Tensor) -> Tensor:
    """[B] or [B, T], also from one number."""
    if isinstance(weight, Tensor) and weight.dim() == 0:
        return weight.expand(len(ids))
    if isinstance(weight, Real):  # numpy's numbers too
        return torch.full((len(ids),), float(weight), device=ids.device)
    return _expect("blend", weight, "the weight", "[B]", "[B, T]", "[B, T, d]", other=", or as a number")


def _expect(maker: str, value: object, what: str, *shapes: str, other: str = "") -> Tensor:
    """A tensor with as many axes as one of `shapes` has; the sentence says what was given instead."""
    if isinstance(value, Tensor) and value.dim() in [shape.count(",") + 1 for shape in shapes]:
        return value
    given = f"one of shape {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
    raise TrainingError(f"Mixture.{maker} takes {what} as a tensor {' or '.join(shapes)}{other}; it was given {given}")
