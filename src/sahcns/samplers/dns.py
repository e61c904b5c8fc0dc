"""DNS: of N candidates, the one the current model scores highest.

Zhang, Chen, Wang, Yu. Optimizing Top-N Collaborative Filtering via Dynamic Negative Item Sampling. SIGIR 2013.

    n* = argmax_n s[b, n],   j = C[b, n*]
"""

from dataclasses import dataclass
from typing import ClassVar

from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture


@dataclass(frozen=True)
class DNS(Sampler):
    """The hardest candidate by the model's own score, whatever its aggregation."""

    name: ClassVar[str] = "dns"

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return Mixture.single(match.item_at_rank())
