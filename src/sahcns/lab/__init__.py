"""What is done with many runs: grids that can be killed and shared, comparisons, searches, looks inside, reports.

A name is imported when it is first used: results are read without torch, and models are trained without charts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sahcns.data.catalogue import named_set as named_set
    from sahcns.data.interactions import Interactions as Interactions
    from sahcns.data.prepared import read_manifest as read_manifest
    from sahcns.data.split import Pairs as Pairs
    from sahcns.errors import DataError as DataError
    from sahcns.errors import SettingError as SettingError
    from sahcns.errors import nearest as nearest
    from sahcns.files import read_marked as read_marked
    from sahcns.files import write_whole as write_whole
    from sahcns.lab.comparison.boards import Board as Board
    from sahcns.lab.comparison.boards import Row as Row
    from sahcns.lab.comparison.boards import boards_of as boards_of
    from sahcns.lab.comparison.contrasts import ALPHA as ALPHA
    from sahcns.lab.comparison.contrasts import Contrast as Contrast
    from sahcns.lab.comparison.contrasts import adjusted as adjusted
    from sahcns.lab.comparison.contrasts import contrast as contrast
    from sahcns.lab.comparison.contrasts import ranking as ranking
    from sahcns.lab.comparison.facts import facts as facts
    from sahcns.lab.comparison.figures import bars as bars
    from sahcns.lab.comparison.figures import curves as curves
    from sahcns.lab.comparison.figures import differences as differences
    from sahcns.lab.comparison.figures import pool_sizes as pool_sizes
    from sahcns.lab.comparison.naming import chance as chance
    from sahcns.lab.comparison.naming import frozen as frozen
    from sahcns.lab.comparison.naming import joined as joined
    from sahcns.lab.comparison.naming import listed as listed
    from sahcns.lab.comparison.naming import long_name as long_name
    from sahcns.lab.comparison.naming import number as number
    from sahcns.lab.comparison.naming import short_name as short_name
    from sahcns.lab.comparison.pairwise import pairs as pairs
    from sahcns.lab.comparison.pairwise import pairwise_table as pairwise_table
    from sahcns.lab.comparison.summaries import Summary as Summary
    from sahcns.lab.comparison.summaries import summary as summary
    from sahcns.lab.comparison.tables import main_table as main_table
    from sahcns.lab.grid.job import Job as Job
    from sahcns.lab.grid.locks import wait_for_lock as wait_for_lock
    from sahcns.lab.grid.result import RUNS as RUNS
    from sahcns.lab.grid.result import result_path as result_path
    from sahcns.lab.grid.result import results_in as results_in
    from sahcns.lab.grid.run import Event as Event
    from sahcns.lab.grid.run import Failure as Failure
    from sahcns.lab.grid.run import late as late
    from sahcns.lab.grid.run import run_grid as run_grid
    from sahcns.lab.grid.sources import source_commit as source_commit
    from sahcns.lab.inspect.cost import sampler_cost as sampler_cost
    from sahcns.lab.inspect.diagnose import diagnose as diagnose
    from sahcns.lab.inspect.epoch_report import against_dns as against_dns
    from sahcns.lab.inspect.epoch_report import diagnostics_table as diagnostics_table
    from sahcns.lab.inspect.epoch_report import discrepancy_gaps as discrepancy_gaps
    from sahcns.lab.inspect.epoch_report import easy_and_hard as easy_and_hard
    from sahcns.lab.inspect.epoch_report import pool_gaps as pool_gaps
    from sahcns.lab.inspect.epoch_report import strength_by_gap as strength_by_gap
    from sahcns.lab.inspect.model import TrainedModel as TrainedModel
    from sahcns.lab.inspect.pairs import inspect_pairs as inspect_pairs
    from sahcns.lab.inspect.pools import read_pools as read_pools
    from sahcns.lab.inspect.report import inspection_report as inspection_report
    from sahcns.lab.inspect.results import Cost as Cost
    from sahcns.lab.inspect.results import Diagnostics as Diagnostics
    from sahcns.lab.inspect.results import Group as Group
    from sahcns.lab.inspect.results import Inspection as Inspection
    from sahcns.lab.inspect.results import PairView as PairView
    from sahcns.lab.inspect.results import PoolReadings as PoolReadings
    from sahcns.lab.plain import Plain as Plain
    from sahcns.lab.plain import read_from as read_from
    from sahcns.lab.report.as_markdown import to_markdown as to_markdown
    from sahcns.lab.report.page import to_html as to_html
    from sahcns.lab.report.parts import Cell as Cell
    from sahcns.lab.report.parts import Figure as Figure
    from sahcns.lab.report.parts import Mark as Mark
    from sahcns.lab.report.parts import Report as Report
    from sahcns.lab.report.parts import Section as Section
    from sahcns.lab.report.parts import Series as Series
    from sahcns.lab.report.parts import Table as Table
    from sahcns.lab.tune.figures import search_figures as search_figures
    from sahcns.lab.tune.propose import import_optuna as import_optuna
    from sahcns.lab.tune.report import best_gap as best_gap
    from sahcns.lab.tune.report import chosen_table as chosen_table
    from sahcns.lab.tune.report import outcome_table as outcome_table
    from sahcns.lab.tune.report import percent as percent
    from sahcns.lab.tune.search import TRIALS as TRIALS
    from sahcns.lab.tune.search import Search as Search
    from sahcns.lab.tune.search import Trial as Trial
    from sahcns.lab.tune.search import read_search as read_search
    from sahcns.lab.tune.tune import SearchProgress as SearchProgress
    from sahcns.ranking.significance import Paired as Paired
    from sahcns.ranking.significance import Published as Published
    from sahcns.ranking.significance import against_published as against_published
    from sahcns.ranking.significance import holm as holm
    from sahcns.ranking.significance import paired_t as paired_t
    from sahcns.settings import by_name as by_name
    from sahcns.training.device import answering as answering
    from sahcns.training.device import pick_device as pick_device
    from sahcns.training.record import Record as Record

_HOMES = {
    "sahcns.data.catalogue": ("named_set",),
    "sahcns.data.interactions": ("Interactions",),
    "sahcns.data.prepared": ("read_manifest",),
    "sahcns.data.split": ("Pairs",),
    "sahcns.errors": (
        "DataError",
        "SettingError",
        "nearest",
    ),
    "sahcns.files": (
        "read_marked",
        "write_whole",
    ),
    "sahcns.lab.comparison.boards": (
        "Board",
        "Row",
        "boards_of",
    ),
    "sahcns.lab.comparison.contrasts": (
        "ALPHA",
        "Contrast",
        "adjusted",
        "contrast",
        "ranking",
    ),
    "sahcns.lab.comparison.facts": ("facts",),
    "sahcns.lab.comparison.figures": (
        "bars",
        "curves",
        "differences",
        "pool_sizes",
    ),
    "sahcns.lab.comparison.naming": (
        "chance",
        "frozen",
        "joined",
        "listed",
        "long_name",
        "number",
        "short_name",
    ),
    "sahcns.lab.comparison.pairwise": (
        "pairs",
        "pairwise_table",
    ),
    "sahcns.lab.comparison.summaries": (
        "Summary",
        "summary",
    ),
    "sahcns.lab.comparison.tables": ("main_table",),
    "sahcns.lab.grid.locks": ("wait_for_lock",),
    "sahcns.lab.grid.job": ("Job",),
    "sahcns.lab.grid.result": (
        "RUNS",
        "result_path",
        "results_in",
    ),
    "sahcns.lab.grid.run": (
        "Event",
        "Failure",
        "late",
        "run_grid",
    ),
    "sahcns.lab.grid.sources": ("source_commit",),
    "sahcns.lab.inspect.cost": ("sampler_cost",),
    "sahcns.lab.inspect.diagnose": ("diagnose",),
    "sahcns.lab.inspect.epoch_report": (
        "against_dns",
        "diagnostics_table",
        "discrepancy_gaps",
        "easy_and_hard",
        "pool_gaps",
        "strength_by_gap",
    ),
    "sahcns.lab.inspect.model": ("TrainedModel",),
    "sahcns.lab.inspect.pairs": ("inspect_pairs",),
    "sahcns.lab.inspect.pools": ("read_pools",),
    "sahcns.lab.inspect.report": ("inspection_report",),
    "sahcns.lab.inspect.results": (
        "Cost",
        "Diagnostics",
        "Group",
        "Inspection",
        "PairView",
        "PoolReadings",
    ),
    "sahcns.lab.plain": (
        "Plain",
        "read_from",
    ),
    "sahcns.lab.report.as_markdown": ("to_markdown",),
    "sahcns.lab.report.page": ("to_html",),
    "sahcns.lab.report.parts": (
        "Cell",
        "Figure",
        "Mark",
        "Report",
        "Section",
        "Series",
        "Table",
    ),
    "sahcns.lab.tune.figures": ("search_figures",),
    "sahcns.lab.tune.propose": ("import_optuna",),
    "sahcns.lab.tune.search": (
        "Search",
        "TRIALS",
        "Trial",
        "read_search",
    ),
    "sahcns.lab.tune.report": (
        "best_gap",
        "chosen_table",
        "outcome_table",
        "percent",
    ),
    "sahcns.lab.tune.tune": ("SearchProgress",),
    "sahcns.ranking.significance": (
        "Paired",
        "Published",
        "against_published",
        "holm",
        "paired_t",
    ),
    "sahcns.settings": ("by_name",),
    "sahcns.training.device": (
        "answering",
        "pick_device",
    ),
    "sahcns.training.record": ("Record",),
}

__all__ = [name for names in _HOMES.values() for name in names]

if not TYPE_CHECKING:  # a type checker that saw this function would take any misspelt name for right

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
