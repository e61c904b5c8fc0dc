"""What training minimises, one file an objective. Any imported subclass of `Objective` can be named on the command line."""

from sahcns.objectives.base import Comparison as Comparison
from sahcns.objectives.base import Objective as Objective
from sahcns.objectives.bpr import BPR as BPR
from sahcns.objectives.softmax import SampledSoftmax as SampledSoftmax
