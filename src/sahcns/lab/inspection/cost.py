"""A sampler's share of an epoch, as plain numbers; `costing.py` measures them."""

from dataclasses import dataclass
from typing import Any

from sahcns.lab.plain import Plain


@dataclass(frozen=True)
class Cost(Plain):
    """Seconds an epoch."""

    sampler: dict[str, Any]
    match: float  # the layer-wise scores of the pool
    choose: float  # the sampler itself
    mix: float  # the negative put together, and the loss of it
    epoch: float  # a whole epoch of training, the median of the rounds
    extra: float  # match + choose + mix beyond those of the first sampler measured
    device: str
    kernels: str
    steps: str  # captured or eager
    rounds: tuple[float, ...]  # a whole epoch, each time that all samplers were measured in turn

    @property
    def name(self) -> str:
        return str(self.sampler["name"])

    @property
    def forward(self) -> float:
        """What the paper calls the sampler's forward pass."""
        return self.match + self.choose + self.mix

    @property
    def extra_share(self) -> float:
        """Of this sampler's own epoch."""
        return self.extra / self.epoch if self.epoch else 0.0

    @property
    def moves(self) -> float:
        """By which share the slowest of its whole epochs is longer than the quickest."""
        return max(self.rounds) / min(self.rounds) - 1.0

    def longer_than(self, other: "Cost") -> list[float]:
        """By which share of its own whole epochs are longer than another's, round by round."""
        return [(own - its) / own for own, its in zip(self.rounds, other.rounds, strict=True)]
