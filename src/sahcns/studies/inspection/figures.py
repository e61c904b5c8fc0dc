"""Figures of what was seen inside a sampler; a sampler's own name is the role of its series, so that it keeps its colour."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from sahcns.reports.parts import Figure, Series
from sahcns.studies.inspection.diagnostics import Diagnostics, Histogram, Spread
from sahcns.studies.inspection.pair_view import PairView

Found = Mapping[str, Diagnostics]
"""Diagnostics by label; the label is the sampler's name unless one sampler comes twice."""


def diagnostics_figures(found: Found) -> list[Figure]:
    """All of them, in the order of the paper; what no sampler here does is left out."""
    made = [
        pool_gaps(found),
        discrepancy_gaps(found),
        hardness(found),
        scores(found),
        push(found),
        user_gradient(found),
        against_dns(found),
        strength_by_layer(found),
        strength_by_gap(found),
        easy_and_hard(found),
        false_negatives(found),
    ]
    return [figure for figure in made if figure is not None]


def hardness(found: Found) -> Figure:
    return _histograms(
        found,
        lambda one: one.hardness.margin,
        ("hardness", "Hardness of the negatives", "score of the positive - score of the negative"),
        "Left of 0 the negative is scored above the positive.",
    )


def scores(found: Found) -> Figure:
    return _histograms(
        found,
        lambda one: one.hardness.score,
        ("scores", "Scores of the negatives", "score"),
        "As the model scores them.",
    )


def push(found: Found) -> Figure:
    return _histograms(
        found,
        lambda one: one.hardness.push,
        ("push", "How hard a negative pushes", "size of the gradient by its score"),
        "For one negative a pair it is 1 - sigmoid(score of the positive - score of the negative).",
    )


def user_gradient(found: Found) -> Figure:
    return _histograms(
        found,
        lambda one: one.hardness.user_gradient,
        ("user-gradient", "Gradient of the user", "length of the gradient"),
        "Of each pair's own loss, by the final user vector.",
    )


def pool_gaps(found: Found) -> Figure:
    """Fig. 1(a): one series a pool size, since samplers with one size see the same pools."""
    by_size = {one.pools.size: one for one in found.values()}
    series = []
    for size, one in sorted(by_size.items()):
        hint = f"{one.pools.near:.1%} under 0.10, {one.pools.far:.1%} over 0.20"
        series.append(_bars(f"pool of {size}", one.pools.gap.histogram, "", hint))
    return Figure(
        "pool-gaps",
        "How far pools stay behind the positive",
        "(positive - hardest candidate) / |positive|, by score",
        "share of pools, %",
        _trimmed(series),
        "bar",
        "; ".join(
            f"Pool of {size}: {one.pools.near:.2%} of pools under 0.10, {one.pools.far:.2%} over 0.20"
            for size, one in sorted(by_size.items())
        )
        + ". As Fig. 1(a) of the paper."
        + _outside(one.pools.gap for one in by_size.values()),
    )


def discrepancy_gaps(found: Found) -> Figure | None:
    """Fig. 1(b)."""
    by_size = {one.pools.size: one.pools for one in found.values()}
    pools = [(size, one, one.discrepancy_gap) for size, one in sorted(by_size.items())]
    series = [_bars(f"pool of {size}", gap.histogram, "") for size, _, gap in pools if gap is not None]
    if not series:
        return None
    said = [
        f"Pool of {size}: {one.over_020:.2%} of {one.similar:,} pairs over 0.20, {one.over_050:.2%} over 0.50"
        for size, one, gap in pools
        if gap is not None
    ]
    return Figure(
        "discrepancy-gaps",
        "What equal scores hide",
        "|Δσ| of two candidates of one pool with |Δs| < 0.01",
        "share of pairs, %",
        _trimmed(series),
        "bar",
        "; ".join(said) + ". As Fig. 1(b) of the paper.",
    )


def against_dns(found: Found) -> Figure | None:
    """Fig. 5(a), of samplers that do not simply choose as DNS does."""
    series = []
    for label, one in found.items():
        if one.selection.agreement == 1:
            continue
        changes = [
            ("discrepancy σ", one.selection.sigma_change),
            ("mean hardness μ", one.selection.mu_change),
        ]
        known = [(name, 100 * value) for name, value in changes if value is not None]
        series.append(Series(label, [name for name, _ in known], [value for _, value in known], role=one.name))
    if not series:
        return None
    return Figure(
        "against-dns",
        "The chosen items beside DNS's choice",
        "mean over the pairs",
        "change, %",
        series,
        "bar",
        "Both choose from the same pools; items as they are, before the positive is mixed in. As Fig. 5(a) of the paper.",
    )


def strength_by_layer(found: Found) -> Figure | None:
    series = [
        Series(label, one.layers, one.mixing.strength, role=one.name)
        for label, one in found.items()
        if one.mixing.mixes
    ]
    if not series:
        return None
    caption = "The share of the positive in the negative."
    return Figure("strength-by-layer", "Strength λ by layer", "", "mean λ", series, "bar", caption)


def strength_by_gap(found: Found) -> Figure | None:
    series = []
    for label, one in found.items():
        if one.mixing.mixes:
            tenths = one.mixing.tenths
            means = [sum(group.strength) / len(group.strength) for group in tenths]
            hints = [f"tenth {place} of the pools, from the hardest" for place in range(1, len(tenths) + 1)]
            series.append(Series(label, [group.gap for group in tenths], means, role=one.name, hints=hints))
    if not series:
        return None
    return Figure(
        "strength-by-gap",
        "Strength λ by the hardness of the pool",
        "mean gap p - m of a tenth of the pools",
        "mean λ over the layers",
        series,
        "line",
        "The hardest pools are on the left.",
    )


def easy_and_hard(found: Found) -> Figure | None:
    """Fig. 5(b)."""
    series = []
    for label, one in found.items():
        if one.mixing.mixes:
            easy, hard = one.mixing.easy, one.mixing.hard
            words = ["easy, before", "easy, after", "hard, before", "hard, after"]
            series.append(Series(label, words, [easy.before, easy.after, hard.before, hard.after], role=one.name))
    if not series:
        return None
    return Figure(
        "easy-and-hard",
        "What mixing does in easy and in hard pools",
        "the fifth of the pools with the largest and with the smallest gap",
        "mean score of the positive - of the negative",
        series,
        "bar",
        "Before and after the positive is mixed in. As Fig. 5(b) of the paper.",
    )


def false_negatives(found: Found) -> Figure | None:
    series = []
    for label, one in found.items():
        shares = one.false_negatives
        if shares.chosen is not None and shares.pool is not None and shares.dns is not None:
            words = ["candidates", "DNS's choices", "chosen"]
            values = [100 * shares.pool, 100 * shares.dns, 100 * shares.chosen]
            series.append(Series(label, words, values, role=one.name))
    if not series:
        return None
    return Figure(
        "false-negatives",
        "Held-out items among the negatives",
        "",
        "share, %",
        series,
        "bar",
        "Validation and test items of the pair's own user. Counted for looking only; nothing was chosen by it.",
    )


def profiles(view: PairView, number: int = 1) -> Figure:
    """One pair over the layers: positive, the pool's best, DNS's choice, the negative before and after."""
    series = [
        Series("positive", view.layers, view.positive),
        Series("hardest of the pool", view.layers, view.hardest, dashed=True),
        Series(f"DNS's choice, {view.dns.item}", view.layers, view.dns.profile, role="dns"),
    ]
    name = view.sampler["name"]
    for negative in view.negatives[:1]:
        if any(negative.strength):
            series.append(Series(f"{name}, before", view.layers, negative.profile_before, role=name, dashed=True))
        series.append(Series(f"{name}, the negative", view.layers, negative.profile, role=name))
    what = f"user {view.user}, positive {view.title or view.item}"
    return Figure(f"profiles-{number}", f"Scores over the layers: {what}", "", "score at the layer", series, "line")


def _histograms(found: Found, of: Callable[[Diagnostics], Spread], words: tuple[str, str, str], caption: str) -> Figure:
    name, title, x_label = words
    series = [
        _bars(label, of(one).histogram, one.name, f"mean {of(one).mean:.3f}, std {of(one).std:.3f}")
        for label, one in found.items()
    ]
    caption += _outside(of(one) for one in found.values())
    return Figure(name, title, x_label, "share, %", _trimmed(series), "bar", caption)


def _outside(spreads: Iterable[Spread]) -> str:
    beyond = max((one.histogram.below + one.histogram.above) / one.count for one in spreads)
    return f" Up to {beyond:.1%} lie outside the range shown." if beyond > 0.0005 else ""


def _bars(name: str, histogram: Histogram, role: str, hint: str = "") -> Series:
    edges = [round(edge, 10) for edge in histogram.edges[:-1]]
    shares = [100 * share for share in histogram.shares]
    return Series(name, edges, shares, role=role, hints=[hint] * len(edges) if hint else ())


def _trimmed(series: Sequence[Series]) -> list[Series]:
    """Without the bins at both ends that are empty in every series."""
    full = [float(x) for one in series for x, y in zip(one.x, one.y, strict=True) if y > 0]
    low, high = (min(full), max(full)) if full else (float("-inf"), float("inf"))
    kept = []
    for one in series:
        places = [at for at, x in enumerate(one.x) if low <= float(x) <= high]
        x, y = [one.x[at] for at in places], [one.y[at] for at in places]
        kept.append(Series(one.name, x, y, role=one.role, hints=[one.hints[at] for at in places] if one.hints else ()))
    return kept
