"""What a kernel takes over of a selection or a calibration: those of the paper and of its ablations, and nothing else.

A subclass of one of them may mean something else, and so may scores that a sampler has put in place of the model's.
"""

import torch
from torch import Tensor

from sahcns.kernels.fused import Half
from sahcns.samplers.calibration import Calibration, GlobalGap, LayerGap
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.samplers.selection import EPSILON, DiscrepancyOnly, Hardest, Selection, StructureAware


def in_kernel(part: Selection | Calibration, match: Matching) -> Half | None:
    """The part as the kernel of this path knows it, or None."""
    half = _half(part)
    if half is None or half.name not in match.graph.verbs.halves:
        return None
    return None if match.scored and half.name in ("hardest", "final") else half


def in_one_kernel(which: Half | Tensor, share: Half | Tensor | None, match: Matching) -> Mixture | None:
    """The mixture of two halves, of which one may be given, by the kernel; None where that is not for it.

    It reads positions [B] and shares [B, T]. Others, a position for each layer, say, are for the plain code to use or refuse.
    """
    if share is None or not (isinstance(which, Half) or isinstance(share, Half)):
        return None
    if isinstance(which, Tensor) and (which.shape != match.positives.shape or which.dtype != torch.int64):
        return None
    if isinstance(share, Tensor) and share.shape != match.p.shape:
        return None
    pools = match.p, match.a, match.aggregation.kind == "mean", match.candidates, match.positives
    found = match.graph.verbs.calibrated(*pools, which, share, EPSILON)
    return None if found is None else Mixture(*found)


def _half(part: Selection | Calibration) -> Half | None:
    if type(part) is StructureAware:
        return Half("aware", part.alpha) if part.alpha != 0 else Half("hardest")  # a negative α favours the even ones
    if type(part) is Hardest:
        return Half("hardest")
    if type(part) is DiscrepancyOnly:
        return Half("uneven")
    if type(part) is LayerGap:
        return Half("layers", part.lambda_max)
    if type(part) is GlobalGap:
        return Half("final", part.lambda_max)
    return None
