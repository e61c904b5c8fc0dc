"""From interaction files to an exact, fingerprinted split."""

from sahcns.data.ids import IdMap as IdMap
from sahcns.data.ids import Texts as Texts
from sahcns.data.interactions import Interactions as Interactions
from sahcns.data.prepared import load_split as load_split
from sahcns.data.prepared import read_manifest as read_manifest
from sahcns.data.prepared import save_split as save_split
from sahcns.data.preparing import prepare as prepare
from sahcns.data.preparing import prepare_given as prepare_given
from sahcns.data.recipe import Recipe as Recipe
from sahcns.data.split import Pairs as Pairs
from sahcns.data.split import Split as Split
from sahcns.data.stats import plot_degrees as plot_degrees
from sahcns.data.stats import statistics as statistics
from sahcns.data.stats import statistics_table as statistics_table
