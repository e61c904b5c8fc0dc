"""The paper's claims as data: in words, how each is checked against the results, and why it may come out otherwise."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from reproduction import checks, mechanism_checks, reasons
from reproduction.checks import Check
from reproduction.evidence import Evidence, NotRun
from reproduction.methods import METHOD
from reproduction.reasons import Reason
from reproduction.scores import joined
from reproduction.verdicts import Instance, Verdict, counted, overall

WITHOUT_MEAN = (
    "Ours falls far below the printed 12.04 and 13.68: Eq. 7 divides by an item's scores and so picks easy ones "
    "([measured](without-mean.md))."
)


@dataclass(frozen=True)
class Claim:
    """A sentence that the results can confirm or not; `reason` is the most likely one for what came out."""

    name: str
    source: str  # where in the paper
    words: str
    check: Check
    reason: str | Reason = ""


@dataclass(frozen=True)
class Judgement:
    """A claim with what became of it."""

    claim: Claim
    instances: Sequence[Instance]
    reason: str

    @property
    def verdict(self) -> Verdict:
        return overall(self.instances)

    @property
    def counts(self) -> str:
        """`holds in 3, not resolved in 5 of 8`."""
        return counted(self.instances)


def _claims(source: str, *claims: tuple[str, str, Check, str | Reason]) -> list[Claim]:
    """The claims of one table or figure: name, words, check, reason."""
    return [Claim(name, source, words, check, reason) for name, words, check, reason in claims]


def _ablation(first: str, second: str, words: str, reason: str | Reason = "") -> tuple[str, str, Check, str | Reason]:
    name = f"{first}-over-{second}".lower().replace(" ", "-").replace("/", "")
    return name, words, checks.better(first, second), reason or reasons.where_it_stopped(first, second)


CLAIMS: Sequence[Claim] = (
    *_claims(
        "Table I",
        (
            "data",
            "The data are those that the table counts.",
            mechanism_checks.same_data,
            "Yelp-like is another subset, since the paper's is not public; of ML-1m the paper counts one user and one item "
            "more, probably ids for padding.",
        ),
    ),
    *_claims(
        "Table II",
        (
            "best",
            "SAHC-NS is best on every set in every metric, significantly so against the strongest baseline; runs read at "
            "the best validation epoch.",
            checks.best_of_nine("best"),
            reasons.strongest_rivals("table2"),
        ),
        (
            "best-last",
            "The same, runs read where training stopped.",
            checks.best_of_nine("last"),
            reasons.loss_after_best,
        ),
        (
            "readings",
            "What is printed for DNS, DNS(M,N), MixGCF, BNS and DivNS is what they reach at the best validation epoch.",
            checks.best_epoch_is_what_is_printed,
            "The code that the experiments seem to stand on logs the test part at every look and never loads the best "
            "weights again. On ML-1m, whose split is ours, RNS is nearly as far from print, so more than the reading differs.",
        ),
        (
            "ahns",
            "AHNS with α = 1.0, β = 0.1, p = −2 trains LightGCN well and is above random negatives.",
            checks.trains("AHNS"),
            reasons.searched("Its target shrinks as scores grow ([why](ahns.md)).", "ahns", reasons.BETAS),
        ),
        (
            "dens",
            "DENS with the printed weights is above random negatives.",
            checks.trains("DENS"),
            reasons.searched(
                "A fixed α = 1, as printed for Toys, picks the easiest candidates from the start; its authors' code raises "
                "α from 0 ([more](dens.md)).",
                "dens",
                reasons.SCHEDULES,
            ),
        ),
    ),
    *_claims(
        "Fig. 3",
        (
            "time",
            "SAHC-NS reaches better accuracy within a short training time.",
            checks.soon,
            reasons.seconds_needed,
        ),
    ),
    *_claims(
        "Fig. 4",
        ("alpha", "A moderate α is best.", checks.moderate("alpha"), reasons.curve_and_seeds("alpha")),
        ("lambda", "A moderate λmax is best.", checks.moderate("lambda_max"), reasons.curve_and_seeds("lambda_max")),
        ("pool", "A moderate pool is best.", checks.moderate("pool"), reasons.curve_and_seeds("pool")),
    ),
    *_claims(
        "Table III",
        _ablation("SA-only", "DNS", "SA alone is better than DNS."),
        _ablation("HC-only", "DNS", "HC alone is better than DNS."),
        _ablation(METHOD, "SA-only", "SAHC-NS is better than SA alone."),
        _ablation(METHOD, "HC-only", "SAHC-NS is better than HC alone, and so than SAHC without the discrepancy."),
        _ablation(METHOD, "SAHC w/o Mean", "SAHC-NS is better than without the mean hardness.", WITHOUT_MEAN),
        _ablation(
            "SAHC w/o Discrepancy",
            "SAHC w/o Mean",
            "Losing the mean hardness costs more than losing the discrepancy.",
            WITHOUT_MEAN,
        ),
        _ablation(
            METHOD,
            "SAHC-Fixed",
            "Calibration by the pool is better than a fixed distribution of strengths.",
            reasons.more_strength,
        ),
        _ablation(METHOD, "SAHC-Global", "Calibration layer by layer is better than by one global gap."),
    ),
    *_claims(
        "Table IV",
        (
            "backbones",
            "SAHC-NS is best on NGCF and on SimGCL.",
            checks.best_on_backbones,
            reasons.strongest_rivals("table4"),
        ),
        ("stronger", "A stronger backbone improves most methods.", checks.stronger_backbones, reasons.left_to_add),
    ),
    *_claims(
        "Fig. 1(a)",
        (
            "pools-vary",
            "Pools differ in hardness: both hard and easy ones are common.",
            mechanism_checks.pool_variety,
            reasons.other_gaps,
        ),
        (
            "pool-shares",
            "33.18 % and 31.69 % of pools have a gap under 0.10, 44.47 % and 46.72 % one over 0.20 (within 5 points).",
            mechanism_checks.pool_shares,
            reasons.other_gaps,
        ),
    ),
    *_claims(
        "Fig. 1(b)",
        (
            "hidden",
            "Of candidates with similar scores more than 60 % differ in discrepancy by more than 0.20, about a quarter "
            "(within 5 points) by more than 0.50.",
            mechanism_checks.hidden_by_scores,
            reasons.other_ages,
        ),
    ),
    *_claims(
        "Fig. 5(a)",
        (
            "sa-choice",
            "SA chooses negatives of larger discrepancy at a mean hardness that changes by no more than 1.9 %.",
            mechanism_checks.harder_to_read,
            "The 1.9 % is held against ours with the one digit that the paper prints.",
        ),
        (
            "sa-size",
            "The discrepancy rises by 15.18 % on Toys and 22.68 % on Yelp (within 5 points).",
            mechanism_checks.discrepancy_raised,
            reasons.other_choices,
        ),
    ),
    *_claims(
        "Fig. 5(b)",
        (
            "hc-pools",
            "HC closes the gap more in easy pools than in hard ones.",
            mechanism_checks.easy_moved_more,
            reasons.too_hard,
        ),
    ),
    *_claims(
        "Efficiency",
        (
            "overhead",
            "SA and HC add no more than 2.12 %, 1.35 % and 0.68 % to an epoch.",
            mechanism_checks.overhead,
            reasons.restless_epochs,
        ),
    ),
)

BEYOND: Sequence[Claim] = (
    Claim(
        "best-equal",
        "equal tuning",
        "With equal tuning and equal pools SAHC-NS is best on every set in every metric.",
        checks.best_of_nine("best", "equal"),
        "Tuning helps those most whose published settings fit worst, and equal pools take an advantage from DNS(M,N).",
    ),
    Claim(
        "best-power",
        "many seeds",
        "With many seeds SAHC-NS is best among DNS, DNS(M,N), MixGCF and its own variants.",
        checks.best_of_nine("best", "power"),
        reasons.strongest_rivals("power"),
    ),
    Claim(
        "best-splits",
        "other splits",
        "On every random split of the same pairs SAHC-NS is ahead of RNS, DNS and MixGCF in Recall@20.",
        checks.first_on_splits,
        "Who leads by a few hundredths of a point changes with the split.",
    ),
)
"""Questions that the paper does not ask."""


def judge(evidence: Evidence, claims: Sequence[Claim] = CLAIMS) -> list[Judgement]:
    """Each claim with its verdict, once all that it needs was run; on the sets that there are."""
    evidence, judgements = evidence.on_known_sets(), []
    for claim in claims:
        instances, reason = list[Instance](), ""
        with suppress(NotRun):
            instances = claim.check(evidence)
            if not instances:  # nothing that the study has could tell
                continue
            reason = claim.reason if isinstance(claim.reason, str) else claim.reason(evidence)
        judgements.append(Judgement(claim, instances, reason))
    return judgements


VERBS: dict[Verdict, str] = {
    "holds": "hold",
    "does not hold": "do not hold",
    "not resolved": "are not resolved",
    "not run yet": "are not run yet",
}


def counts_in_words(judgements: Sequence[Judgement]) -> str:
    """`Of the paper's 27 claims 4 hold, 10 do not hold and 13 are not resolved.`"""
    counts = Counter(one.verdict for one in judgements)
    words = joined([f"{counts[verdict]} {verb}" for verdict, verb in VERBS.items() if counts[verdict]])
    return f"Of the paper's {len(judgements)} claims {words}."
