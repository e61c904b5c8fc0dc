"""What a kernel takes over of a selection or a calibration: those of the paper and of its ablations, and nothing else.

A subclass of one of them may mean something else, and so may scores that a sampler has put in place of the model's.
"""

from sahcns.kernels.fused import Half
from sahcns.samplers.calibration import Calibration, GlobalGap, LayerGap
from sahcns.samplers.matching import Matching
from sahcns.samplers.selection import DiscrepancyOnly, Hardest, Selection, StructureAware


def in_kernel(part: Selection | Calibration, match: Matching) -> Half | None:
    """The part as the kernel of this path knows it, or None."""
    half = _half(part)
    if half is None or half.name not in match.graph.verbs.halves:
        return None
    return None if match.scored and half.name in ("hardest", "final") else half


def _half(part: Selection | Calibration) -> Half | None:
    kind = type(part)
    if isinstance(part, StructureAware) and kind is StructureAware:
        return Half("aware", part.alpha) if part.alpha > 0 else Half("hardest")
    if kind is Hardest:
        return Half("hardest")
    if kind is DiscrepancyOnly:
        return Half("uneven")
    if isinstance(part, LayerGap) and kind is LayerGap:
        return Half("layers", part.lambda_max)
    if isinstance(part, GlobalGap) and kind is GlobalGap:
        return Half("final", part.lambda_max)
    return None
