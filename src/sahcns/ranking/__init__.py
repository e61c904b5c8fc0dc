"""Full-ranking evaluation: top lists over all items, and every metric from them."""

from sahcns.ranking.csr import Csr as Csr
from sahcns.ranking.evaluation import evaluate as evaluate
from sahcns.ranking.evaluation import measure as measure
from sahcns.ranking.metrics import METRICS as METRICS
from sahcns.ranking.metrics import Metric as Metric
from sahcns.ranking.retrieval import rank as rank
from sahcns.ranking.retrieval import recommend as recommend
from sahcns.ranking.truth import Mask as Mask
from sahcns.ranking.truth import Part as Part
from sahcns.ranking.truth import Truth as Truth
