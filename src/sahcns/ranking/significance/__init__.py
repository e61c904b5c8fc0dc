"""Whether a difference between two methods is more than luck; which test answers which question is in docs/statistics.md."""

from sahcns.ranking.significance.bootstrap import Bootstrap as Bootstrap
from sahcns.ranking.significance.bootstrap import bootstrap_users as bootstrap_users
from sahcns.ranking.significance.effect import effect_interval as effect_interval
from sahcns.ranking.significance.holm import holm as holm
from sahcns.ranking.significance.paired import Paired as Paired
from sahcns.ranking.significance.paired import paired_t as paired_t
from sahcns.ranking.significance.power import power as power
from sahcns.ranking.significance.power import seeds_needed as seeds_needed
from sahcns.ranking.significance.published import Published as Published
from sahcns.ranking.significance.published import against_published as against_published
from sahcns.ranking.significance.signed_rank import SignedRank as SignedRank
from sahcns.ranking.significance.signed_rank import wilcoxon_users as wilcoxon_users
