"""What is done with many runs: grids that can be killed and shared, comparisons, searches, looks inside, reports.

A name is imported when it is first used: results are read without torch, and models are trained without charts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sahcns.data.interactions import Interactions as Interactions
    from sahcns.data.prepared import read_manifest as read_manifest
    from sahcns.data.split import Pairs as Pairs
    from sahcns.errors import DataError as DataError
    from sahcns.errors import SettingError as SettingError
    from sahcns.files import write_whole as write_whole
    from sahcns.lab.baselines import TunedBaseline as TunedBaseline
    from sahcns.lab.baselines import tune_baseline as tune_baseline
    from sahcns.lab.bench import sampler_cost as sampler_cost
    from sahcns.lab.comparison.compare import compare as compare
    from sahcns.lab.comparison.naming import chance as chance
    from sahcns.lab.comparison.naming import joined as joined
    from sahcns.lab.comparison.naming import number as number
    from sahcns.lab.comparison.report import comparison_figures as comparison_figures
    from sahcns.lab.comparison.report import comparison_report as comparison_report
    from sahcns.lab.comparison.tables import comparison_tables as comparison_tables
    from sahcns.lab.grid.job import Job as Job
    from sahcns.lab.grid.locks import wait_for_lock as wait_for_lock
    from sahcns.lab.grid.result import Failure as Failure
    from sahcns.lab.grid.result import results_in as results_in
    from sahcns.lab.grid.run import Event as Event
    from sahcns.lab.grid.run import run_grid as run_grid
    from sahcns.lab.inspect.diagnose import diagnose as diagnose
    from sahcns.lab.inspect.model import TrainedModel as TrainedModel
    from sahcns.lab.inspect.pairs import inspect_pairs as inspect_pairs
    from sahcns.lab.inspect.report import diagnostics_table as diagnostics_table
    from sahcns.lab.inspect.report import inspection_report as inspection_report
    from sahcns.lab.inspect.report import paper_figures as paper_figures
    from sahcns.lab.inspect.results import Cost as Cost
    from sahcns.lab.inspect.results import Diagnostics as Diagnostics
    from sahcns.lab.inspect.results import Group as Group
    from sahcns.lab.inspect.results import Inspection as Inspection
    from sahcns.lab.inspect.results import PairView as PairView
    from sahcns.lab.report.chart import to_svg as to_svg
    from sahcns.lab.report.page import to_html as to_html
    from sahcns.lab.report.parts import Cell as Cell
    from sahcns.lab.report.parts import Figure as Figure
    from sahcns.lab.report.parts import Report as Report
    from sahcns.lab.report.parts import Section as Section
    from sahcns.lab.report.parts import Series as Series
    from sahcns.lab.report.parts import Table as Table
    from sahcns.lab.report.tables import to_markdown as to_markdown
    from sahcns.lab.tune.search import Search as Search
    from sahcns.lab.tune.search import Trial as Trial
    from sahcns.lab.tune.search import read_search as read_search
    from sahcns.lab.tune.tune import SearchProgress as SearchProgress
    from sahcns.ranking.significance import Paired as Paired
    from sahcns.ranking.significance import against_published as against_published
    from sahcns.ranking.significance import equivalence as equivalence
    from sahcns.ranking.significance import holm as holm
    from sahcns.ranking.significance import paired_t as paired_t
    from sahcns.settings import by_name as by_name
    from sahcns.sources import source_commit as source_commit

_HOMES = {
    "sahcns.data.interactions": ("Interactions",),
    "sahcns.data.prepared": ("read_manifest",),
    "sahcns.data.split": ("Pairs",),
    "sahcns.errors": ("DataError", "SettingError"),
    "sahcns.files": ("write_whole",),
    "sahcns.lab.baselines": ("TunedBaseline", "tune_baseline"),
    "sahcns.lab.comparison.compare": ("compare",),
    "sahcns.lab.comparison.naming": ("chance", "joined", "number"),
    "sahcns.lab.comparison.report": ("comparison_figures", "comparison_report"),
    "sahcns.lab.comparison.tables": ("comparison_tables",),
    "sahcns.lab.bench": ("sampler_cost",),
    "sahcns.lab.grid.job": ("Job",),
    "sahcns.lab.grid.locks": ("wait_for_lock",),
    "sahcns.lab.grid.result": ("Failure", "results_in"),
    "sahcns.lab.grid.run": ("Event", "run_grid"),
    "sahcns.sources": ("source_commit",),
    "sahcns.lab.inspect.diagnose": ("diagnose",),
    "sahcns.lab.inspect.model": ("TrainedModel",),
    "sahcns.lab.inspect.pairs": ("inspect_pairs",),
    "sahcns.lab.inspect.report": ("diagnostics_table", "inspection_report", "paper_figures"),
    "sahcns.lab.inspect.results": ("Cost", "Diagnostics", "Group", "Inspection", "PairView"),
    "sahcns.lab.report.tables": ("to_markdown",),
    "sahcns.lab.report.chart": ("to_svg",),
    "sahcns.lab.report.page": ("to_html",),
    "sahcns.lab.report.parts": ("Cell", "Figure", "Report", "Section", "Series", "Table"),
    "sahcns.lab.tune.search": ("Search", "Trial", "read_search"),
    "sahcns.lab.tune.tune": ("SearchProgress",),
    "sahcns.ranking.significance": ("Paired", "against_published", "equivalence", "holm", "paired_t"),
    "sahcns.settings": ("by_name",),
}

__all__ = [name for names in _HOMES.values() for name in names]

if not TYPE_CHECKING:  # a type checker that saw this function would take any misspelt name for right

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
