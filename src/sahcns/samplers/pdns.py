"""PDNS: the hardest candidate, mixed with so much of the positive that a false negative does little harm.

Shi, Zhang, Wang, Jing. Enhancing Recommender Systems: A Strategy to Mitigate False Negative Impact. arXiv 2211.13912, whose
first version is called Soft BPR Loss for Dynamic Hard Negative Sampling in Recommender Systems.

    n* = argmax_n s[b, n],   negative = α V[i] + (1 - α) V[C[b, n*]]
    softplus(y⁻ - y⁺) = softplus(-(1 - α)(y⁺ - s[b, n*]))                    soft BPR: the factor 1 - α before the gap

It is MixGCF with the constant share β = α, but for one item at all layers. And it is DNS with more L2: scores are products of
two vectors, so the loss of a table E with strength l2 is DNS's loss of √(1 - α) E with strength l2 / (1 - α), where L2 is on
the real item. Only the way there, by Adam from a given start, is another.
"""

from dataclasses import dataclass
from typing import ClassVar

from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import setting


@dataclass(frozen=True)
class PDNS(Sampler):
    """DNS's choice under a positive that dominates."""

    name: ClassVar[str] = "pdns"

    alpha: float = setting(
        0.8, "share α of the positive (the paper: above .7)", low=0, high=1, search=(0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
    )

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return Mixture.blend(match.positives, match.item_at_rank(), self.alpha)
