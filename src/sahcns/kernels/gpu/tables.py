"""How the kernels see a tuple of layers: one pointer for layer 0, one for the rest, evenly spaced."""

from itertools import pairwise
from typing import NamedTuple

import torch
import triton
from torch import Tensor


class Table(NamedTuple):
    """Layer t, row r begins at `first + r·d` for t = 0, else at `rest + (t-1)·stride + r·d`."""

    first: Tensor
    rest: Tensor
    stride: int
    layers: int  # T
    rows: int  # n
    dim: int  # d

    @property
    def block(self) -> int:
        """d rounded up to a power of two, as a tile must be."""
        return int(triton.next_power_of_2(self.dim))


def table(layers: tuple[Tensor, ...]) -> Table:
    """Without a copy where layers 1 … lie evenly spaced (as `hops` leaves them); else they are stacked."""
    first, later = layers[0], layers[1:]
    rows, dim = first.shape
    if not later:
        return Table(first.contiguous(), first, 0, 1, rows, dim)
    gaps = {b.data_ptr() - a.data_ptr() for a, b in pairwise(later)}
    if len(gaps) <= 1 and all(layer.is_contiguous() for layer in layers):
        gap = gaps.pop() if gaps else 0
        if gap >= 0 and gap % first.element_size() == 0:
            return Table(first, later[0], gap // first.element_size(), len(layers), rows, dim)
    stacked = torch.stack(layers)
    return Table(stacked[0], stacked[1], rows * dim, len(layers), rows, dim)


def empty_like(layers: Table) -> tuple[Tensor, Table]:
    """A zeroed table of the same shape [T, n, d], and how the kernels see it."""
    zeros = torch.zeros(layers.layers, layers.rows, layers.dim, dtype=layers.first.dtype, device=layers.first.device)
    rest = zeros[1] if layers.layers > 1 else zeros[0]
    return zeros, Table(zeros[0], rest, layers.rows * layers.dim, layers.layers, layers.rows, layers.dim)
