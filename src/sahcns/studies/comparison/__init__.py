"""Samplers compared: the grid that is planned for it, and finished runs side by side with their statistics and figures.

Nothing here needs torch, so these names are imported at once.
"""

from sahcns.studies.comparison.boards import Board as Board
from sahcns.studies.comparison.boards import Row as Row
from sahcns.studies.comparison.boards import boards_of as boards_of
from sahcns.studies.comparison.contrasts import Contrast as Contrast
from sahcns.studies.comparison.contrasts import contrast as contrast
from sahcns.studies.comparison.contrasts import leads as leads
from sahcns.studies.comparison.figures import comparison_figures as comparison_figures
from sahcns.studies.comparison.report import comparison_report as comparison_report
from sahcns.studies.comparison.summaries import Summary as Summary
from sahcns.studies.comparison.summaries import summarised as summarised
from sahcns.studies.comparison.tables import comparison_tables as comparison_tables
