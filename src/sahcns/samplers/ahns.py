"""AHNS: the better the positive is ranked already, the easier its negative.

Lai, Chen, Han, Zhang, Chen. Adaptive Hardness Negative Sampling for Collaborative Filtering. AAAI 2024.

    target[b] = β · (y⁺[b] + α)^(p + 1),   n* = argmin_n |s[b, n] - target[b]|

With p = -2 the target is β / (y⁺ + α): singular at y⁺ = -α and not clamped, as in the authors' code.
docs/ahns.md says what this does on a graph backbone.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import Between, setting


@dataclass(frozen=True)
class AHNS(Sampler):
    """The candidate whose score is nearest to a target that falls with the positive's score."""

    name: ClassVar[str] = "ahns"

    alpha: float = setting(1.0, "shift α of the positive's score", above=0, search=Between(0.1, 2.0, log=True))
    beta: float = setting(0.1, "scale β of the target", above=0, search=Between(0.1, 50.0, log=True))
    p: int = setting(-2, "exponent p, a whole number (a negative base has no other powers)", high=-1, search=())

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return Mixture.single(match.nearest(self.target(match)))

    def target(self, match: Matching) -> Tensor:
        """[B]."""
        return self.beta * (match.positive_score + self.alpha) ** (self.p + 1)
