"""What a sampler does on a trained model: single pairs in full, an epoch in numbers, what it costs, and their report.

A name is imported when it is first used, so that the report is made from the numbers without torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sahcns.lab.inspection.costing import sampler_cost as sampler_cost
    from sahcns.lab.inspection.diagnosing import diagnose as diagnose
    from sahcns.lab.inspection.pairs import inspect_pairs as inspect_pairs
    from sahcns.lab.inspection.report import Inspection as Inspection
    from sahcns.lab.inspection.report import inspection_report as inspection_report
else:
    _HOMES = {
        "costing": ("sampler_cost",),
        "diagnosing": ("diagnose",),
        "pairs": ("inspect_pairs",),
        "report": ("Inspection", "inspection_report"),
    }

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{home}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
