"""Full-ranking evaluation: top lists over all items, every metric from them, and tests of their differences.

A name is imported when it is first used, so that `sahcns.ranking.significance` does without torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sahcns.ranking.evaluation import evaluate as evaluate
    from sahcns.ranking.evaluation import means as means
    from sahcns.ranking.evaluation import measure as measure
    from sahcns.ranking.metrics import METRICS as METRICS
    from sahcns.ranking.metrics import Metric as Metric
    from sahcns.ranking.retrieval import most_popular as most_popular
    from sahcns.ranking.retrieval import rank as rank
    from sahcns.ranking.retrieval import recommend as recommend
    from sahcns.ranking.truth import Csr as Csr
    from sahcns.ranking.truth import HeldOut as HeldOut
    from sahcns.ranking.truth import Masked as Masked
    from sahcns.ranking.truth import Truth as Truth
else:
    _HOMES = {
        "evaluation": ("evaluate", "means", "measure"),
        "metrics": ("METRICS", "Metric"),
        "retrieval": ("most_popular", "rank", "recommend"),
        "truth": ("Csr", "HeldOut", "Masked", "Truth"),
    }

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{home}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
