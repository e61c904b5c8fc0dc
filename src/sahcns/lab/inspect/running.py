"""Statistics of numbers that arrive batch by batch, in memory of a fixed size, on the device until the end."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sahcns.lab.inspect.results import Histogram, Spread


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


class RunningMeans:
    """Means by name, in double precision."""

    def __init__(self) -> None:
        self._totals: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}

    def add(self, **values: Tensor) -> None:
        """Each [n] or [n, columns]."""
        for name, value in values.items():
            total = value.double().sum(0)
            self._totals[name] = self._totals[name] + total if name in self._totals else total
            self._counts[name] = self.count(name) + len(value)

    def count(self, name: str) -> int:
        return self._counts.get(name, 0)

    def get(self, name: str) -> float | None:
        """None of a column that has no numbers."""
        return float(self._totals[name]) / self.count(name) if self.count(name) else None

    def __getitem__(self, name: str) -> float:
        return float(self._totals[name]) / self.count(name)

    def row(self, name: str) -> tuple[float, ...]:
        """Of several columns."""
        return tuple((self._totals[name] / self.count(name)).tolist())


class RunningSpread:
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
    def spread(self) -> Spread:
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
