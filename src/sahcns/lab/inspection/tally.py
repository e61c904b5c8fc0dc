"""Numbers that arrive batch by batch, summed up in memory of a fixed size, on the device until the end."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sahcns.lab.inspection.diagnostics import Histogram, Spread

BITS = 18  # of a key that `Ranked` keeps


@dataclass(frozen=True)
class Bins:
    """Equal bins: `count` of width `step` from `low` on."""

    low: float
    step: float
    count: int

    @classmethod
    def over(cls, least: float, most: float, about: int = 40) -> "Bins":
        """About so many bins over a range, with edges that are round numbers."""
        span = most - least
        if not span > 0:
            return cls(math.floor(least), 1.0, 1)
        power = 10.0 ** math.floor(math.log10(span / about))
        step = min((m * power for m in (1.0, 2.0, 5.0, 10.0)), key=lambda width: abs(math.log(span / width / about)))
        first = math.floor(least / step)
        return cls(first * step, step, max(1, math.ceil(most / step) - first))


class Sum:
    """A sum in double precision, and how many numbers it is of."""

    def __init__(self, device: torch.device, *shape: int) -> None:
        self.total = torch.zeros(shape, dtype=torch.float64, device=device)
        self.count = 0

    def add(self, values: Tensor) -> None:
        """[n, *shape]."""
        self.total += values.double().sum(0)
        self.count += len(values)

    @property
    def mean(self) -> float:
        return float(self.total / max(self.count, 1))

    @property
    def means(self) -> tuple[float, ...]:
        return tuple((self.total / max(self.count, 1)).tolist())


class Spreading:
    """Moments, extremes and a histogram of numbers."""

    def __init__(self, device: torch.device, bins: Bins) -> None:
        self.bins, self.count = bins, 0
        self.sums = torch.zeros(2, dtype=torch.float64, device=device)  # Σ (x - low), Σ (x - low)²
        self.ends = torch.tensor([math.inf, -math.inf], dtype=torch.float64, device=device)
        self.counts = torch.zeros(bins.count + 2, dtype=torch.int64, device=device)

    def add(self, values: Tensor) -> None:
        """Of any shape."""
        if not values.numel():
            return
        x = values.double().flatten()
        off = x - self.bins.low
        self.sums += torch.stack([off.sum(), (off * off).sum()])
        self.ends = torch.stack([torch.minimum(self.ends[0], x.min()), torch.maximum(self.ends[1], x.max())])
        at = torch.floor(off / self.bins.step).nan_to_num(-1.0).clamp(-1, self.bins.count).long() + 1
        self.counts += torch.bincount(at, minlength=len(self.counts))
        self.count += len(x)

    @property
    def spread(self) -> Spread | None:
        """None if nothing was added."""
        if not self.count:
            return None
        first, second = (self.sums / self.count).tolist()
        below, *counts, above = self.counts.tolist()
        return Spread(
            count=self.count,
            mean=self.bins.low + first,
            std=math.sqrt(max(second - first * first, 0.0)),
            least=float(self.ends[0]),
            most=float(self.ends[1]),
            histogram=Histogram(self.bins.low, self.bins.step, tuple(counts), below, above),
        )


class Ranked:
    """Sums of several columns by the rank of a key, so that the lowest fifth can be asked for after the last batch.

    The key of a row is kept to 18 bits of its float32, sign, exponent and 9 digits of the fraction, in a table of 2^18
    cells: keys that differ by more than one part in 512 keep their order. A cut through a cell takes its rows evenly.
    """

    def __init__(self, device: torch.device, columns: int) -> None:
        self.counts = torch.zeros(1 << BITS, dtype=torch.int64, device=device)
        self.sums = torch.zeros(1 << BITS, columns, dtype=torch.float64, device=device)

    def add(self, keys: Tensor, rows: Tensor) -> None:
        """keys [n], rows [n, columns]."""
        bits = (keys.float() + 0.0).view(torch.int32)  # + 0.0 turns -0.0 into 0.0
        ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # as whole numbers they now compare as the floats do
        cell = (ordered >> (32 - BITS)).long() + (1 << (BITS - 1))
        self.counts.index_add_(0, cell, torch.ones_like(cell))
        self.sums.index_add_(0, cell, rows.double())

    def means(self, first: float, last: float) -> tuple[float, ...]:
        """Means of the columns over the rows whose keys rank between two shares of all, such as 0.8 and 1."""
        total = int(self.counts.sum())
        ends = torch.cumsum(self.counts, 0).double()
        starts = ends - self.counts
        taken = torch.minimum(ends, ends.new_tensor(last * total)) - torch.maximum(
            starts, ends.new_tensor(first * total)
        )
        taken = taken.clamp(min=0.0)
        share = torch.where(self.counts > 0, taken / self.counts.clamp(min=1), 0.0)
        return tuple(((share[:, None] * self.sums).sum(0) / taken.sum().clamp(min=1e-300)).tolist())
