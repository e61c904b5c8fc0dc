"""The four verbs in plain torch, autograd included: the specification that every fast path is tested against."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.aggregation import Aggregation
from sahcns.kernels.plain_adam import PlainAdam
from sahcns.kernels.verbs import Optimiser, Read, Verbs
from sahcns.rng import Rng

if TYPE_CHECKING:
    from sahcns.graph import Adjacency, Unseen


def take(table: Tensor, rows: Tensor) -> Tensor:
    """table[rows], […] → […, d]; index_select copies whole rows, twice as fast on a CPU as indexing."""
    return table.index_select(0, rows.reshape(-1)).view(*rows.shape, -1)


class ReferenceVerbs(Verbs):
    """Plain torch operations on any device and in any float type."""

    name = "reference"

    def hops(self, adjacency: "Adjacency", x: Tensor, count: int) -> tuple[Tensor, ...]:
        """Row i of Ãx is the sum over its edges e of values[e] · x[columns[e]]."""
        rows = torch.repeat_interleave(
            torch.arange(adjacency.n, device=x.device), adjacency.degrees, output_size=len(adjacency.columns)
        )
        layers = [x]
        for _ in range(count):
            messages = layers[-1].index_select(0, adjacency.columns) * adjacency.values[:, None]
            layers.append(torch.zeros_like(x).index_add(0, rows, messages))
        return tuple(layers)

    def draw(self, unseen: "Unseen", users: Tensor, count: int, rng: Rng) -> Tensor:
        """A number below the unseen weight, then one binary search over the user's seen items.

        Numbers run down the columns, so a pool of 1 is the first column of a pool of 10 drawn with the same seed.
        """
        x = rng.below(unseen.room[users], count, len(users)).t()  # [B, N]
        start = unseen.offsets[users][:, None]
        wanted = ((users * (unseen.total + 1))[:, None] + x).contiguous()
        t = torch.searchsorted(unseen.keys, wanted, right=True) - start  # seen items that lie before x
        if unseen.cumulative is None or unseen.skipped is None:
            return x + t
        x = (x + unseen.skipped[start + users[:, None] + t]).contiguous()
        return torch.searchsorted(unseen.cumulative, x, right=True)

    @torch.no_grad()
    def match(
        self,
        layers: tuple[Tensor, ...],
        agg: Aggregation,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        candidates: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """p[b, t] and a[b, n, t] = <anchor[b, t], layers[t][row]> for the positive and each candidate."""
        anchor = agg.anchor(torch.stack([layer.index_select(0, users) for layer in layers], dim=1))  # [B, T, d]
        rows = torch.cat([positives[:, None], candidates], dim=1) + n_users
        scores = torch.stack(self._dots(anchor, layers, rows), dim=-1)
        return scores[:, 0], scores[:, 1:]

    def _dots(self, anchor: Tensor, layers: tuple[Tensor, ...], rows: Tensor) -> list[Tensor]:
        """<anchor[b, t], layers[t][rows[b, m]]>, T times [B, M]."""
        return [torch.einsum("bd,bnd->bn", anchor[:, t], take(layer, rows)) for t, layer in enumerate(layers)]

    def mix(self, layers: tuple[Tensor, ...], *reads: Read) -> tuple[Tensor, ...]:
        """Each read gathers and combines on its own; autograd adds up their gradients."""
        mixed = []
        for rows, weights in reads:
            parts = []
            for t, layer in enumerate(layers):
                gathered = take(layer, rows[..., min(t, rows.shape[-1] - 1)])  # [R, M, d]
                if weights is not None:
                    gathered = gathered * weights[..., t, None]
                parts.append(gathered.sum(1))
            mixed.append(torch.stack(parts, dim=1))
        return tuple(mixed)

    def standing(self, scores: Tensor, own: Tensor) -> Tensor:
        """scores [B, n_items], own [B, N] → how many of a row are ≤ each of own, [B, N]: counted, as N is small."""
        return torch.stack([(scores <= mine[:, None]).sum(1) for mine in own.unbind(1)], dim=1)

    def perturb(self, e: Tensor, length: float, rng: Rng) -> Tensor:
        """e + length · sign(e) ⊙ normalise(U(0,1)^d), [n, d]; the noise carries no gradient."""
        direction = normalize(rng.uniform(*e.shape, dtype=e.dtype), dim=1)
        return e + length * torch.sign(e.detach()) * direction

    def adam(self, parameters: Iterable[Tensor], lr: float, step: Tensor) -> Optimiser:
        """Adam with its usual constants; `step` is the trainer's own counter of steps taken (this keeps another)."""
        return PlainAdam(parameters, lr)
