"""RNS: one uniformly random unobserved item for each positive.

Rendle, Freudenthaler, Gantner, Schmidt-Thieme. BPR: Bayesian Personalized Ranking from Implicit Feedback. UAI 2009.

    j = C[b, 0]
"""

from dataclasses import dataclass
from typing import ClassVar

from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import setting


@dataclass(frozen=True)
class RNS(Sampler):
    """Takes every candidate as a negative: with the default pool of 1, plain uniform sampling."""

    name: ClassVar[str] = "rns"
    draws_negatives: ClassVar[bool] = True

    pool: int = setting(1, "negatives drawn for each pair, K; more than one share one loss term", low=1, search=())

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return Mixture.several(match.candidates)
