"""What training minimises, one file an objective. Any imported subclass of `Objective` can be named on the command line."""

from sahcns.objectives.base import Comparison as Comparison
from sahcns.objectives.base import Objective as Objective
from sahcns.objectives.bce import BCE as BCE
from sahcns.objectives.bpr import BPR as BPR
from sahcns.objectives.bsl import BSL as BSL
from sahcns.objectives.ccl import CCL as CCL
from sahcns.objectives.directau import DirectAU as DirectAU
from sahcns.objectives.psl import PSL as PSL
from sahcns.objectives.sl_at_k import SLatK as SLatK
from sahcns.objectives.softmax import SampledSoftmax as SampledSoftmax
