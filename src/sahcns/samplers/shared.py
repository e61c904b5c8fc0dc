"""Shared: what is drawn for each pair serves all pairs of the batch.

The form in which sampled softmax is trained with many negatives at the price of few: Wu et al., TOIS 2024.

    negatives of pair b = all N · B items drawn for the batch, but those that its user has in training
    q(j) ∝ c_j^x,   c_j the training pairs of item j

Scores are one product, so 2048 pairs of one drawn item each have 2048 negatives each, and 2048 rows are gathered.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from sahcns.rng import Rng
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.samplers.popularity import Popularity
from sahcns.settings import setting


@dataclass(frozen=True)
class Shared(Popularity):
    """One set of drawn negatives for a whole batch, uniform or by popularity."""

    name: ClassVar[str] = "shared"

    pool: int = setting(1, "items drawn for each pair, N; the batch has N · B negatives", low=1, search=())
    power: float = setting(
        0.0,
        "exponent x on the training frequency; 0 is uniform",
        low=0,
        high=2,
        search=(0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5),
    )
    correct: bool = setting(False, "take log q(j) from the logits of a softmax (logQ)", search=())

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        items = match.candidates.flatten()
        counts = match.popularity.clamp(min=1).to(match.layers[0].dtype)
        return Mixture.for_all(items, match.seen(items[None]), self.power * torch.log(counts) if self.correct else None)
