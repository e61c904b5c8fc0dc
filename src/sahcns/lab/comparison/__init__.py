"""Samplers compared: the grid that is planned for it, and finished runs side by side with their statistics and figures.

Nothing here needs torch, so these names are imported at once.
"""

from sahcns.lab.comparison.boards import boards_of as boards_of
from sahcns.lab.comparison.report import comparison_figures as comparison_figures
from sahcns.lab.comparison.report import comparison_report as comparison_report
from sahcns.lab.comparison.statistics import contrast as contrast
from sahcns.lab.comparison.statistics import leads as leads
from sahcns.lab.comparison.statistics import summaries as summaries
from sahcns.lab.comparison.tables import comparison_tables as comparison_tables
