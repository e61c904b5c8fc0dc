"""Popularity sampling: negatives in proportion to a power of their training frequency.

Rendle, Freudenthaler. Improving Pairwise Learning for Item Recommendation from Implicit Feedback. WSDM 2014;
the power 0.75 is from Mikolov et al., NeurIPS 2013.

    q(j) = c_j^x / Σ_k c_k^x,   c_j the training pairs of item j, over what the user has not seen
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sahcns.samplers.rns import RNS
from sahcns.settings import setting

RESOLUTION = 20  # weights become whole numbers, so that the draw is exact; at most 2^20 steps to one count
TOTAL = 40  # and fewer where all of them would exceed 2^40, which leaves room for four million users


@dataclass(frozen=True)
class Popularity(RNS):
    """Draws popular items more often; an item without training pairs is never drawn (unless the power is 0)."""

    name: ClassVar[str] = "popularity"

    power: float = setting(
        0.75,
        "exponent x on the training frequency; 0 is uniform",
        low=0,
        high=2,
        search=(0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5),
    )

    def weights(self, popularity: Tensor) -> Tensor | None:
        if self.power == 0:
            return None
        shares = popularity.double() ** self.power
        steps = min(RESOLUTION, TOTAL - math.ceil(math.log2(max(1.0, float(shares.sum())))))
        return (shares * 2.0**steps).round().long()
