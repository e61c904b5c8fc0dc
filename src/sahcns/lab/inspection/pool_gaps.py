"""What the paper's Fig. 1 measures on a pool: how far it stays behind the positive, and what equal scores hide."""

from collections.abc import Iterator

import torch
from torch import Tensor

from sahcns.samplers import Matching
from sahcns.samplers.calibration import final_gap
from sahcns.samplers.selection import EPSILON, discrepancy

NEAR, FAR = 0.10, 0.20  # the paper's marks for hard and for easy pools
SIMILAR = 0.01  # two candidates whose scores differ by less are score-similar
LOOKED_AT = 32  # candidates of a pool whose pairs are compared: all of a usual pool, and of a large one enough
CHUNK = 1 << 22  # pairs of candidates held at once


def normalised_gap(match: Matching) -> Tensor:
    """[B]: (y⁺ - max_n s) / (|y⁺| + ε). The paper does not say what it divides by; this is our reading."""
    return final_gap(match) / (match.positive_score.abs() + EPSILON)


def discrepancy_gaps(match: Matching) -> Iterator[Tensor]:
    """|σ_n - σ_k| [S] of all pairs of different items in one pool with |s_n - s_k| < 0.01, in pieces.

    σ is Eq. 7: the standard deviation over the layers, divided by the mean magnitude. An item drawn twice is compared
    with the others twice, and never with itself. Of a pool of more than 32 the first 32 are compared, which are as random
    as any.
    """
    scores, sigma, ids = match.scores, discrepancy(match.a[:, :LOOKED_AT]), match.candidates[:, :LOOKED_AT]
    count = ids.shape[1]
    first, second = torch.triu_indices(count, count, 1, device=ids.device)
    size = max(1, CHUNK // max(1, len(first)))
    for begin in range(0, len(ids), size):
        s, z, j = (table[begin : begin + size] for table in (scores, sigma, ids))
        similar = ((s[:, first] - s[:, second]).abs() < SIMILAR) & (j[:, first] != j[:, second])
        yield (z[:, first] - z[:, second]).abs()[similar]
