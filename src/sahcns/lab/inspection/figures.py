"""Figures of what was seen inside a sampler; a sampler's own name is the role of its series, so that it keeps its colour."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from sahcns.lab.inspection.diagnostics import Diagnostics, Histogram, Spread
from sahcns.lab.inspection.pair_view import PairView
from sahcns.lab.report.parts import Figure, Series

Found = Mapping[str, Diagnostics]
"""Diagnostics by label; the label is the sampler's name unless one sampler comes twice."""

HISTOGRAMS: Sequence[tuple[str, str, str, str, Callable[[Diagnostics], Spread]]] = (
    (
        "hardness",
        "Hardness of the negatives",
        "score of the positive - score of the negative",
        "Left of 0 the negative is scored above the positive.",
        lambda one: one.hardness.margin,
    ),
    ("scores", "Scores of the negatives", "score", "As the model scores them.", lambda one: one.hardness.score),
    (
        "push",
        "How hard a negative pushes",
        "size of the gradient by its score",
        "For one negative a pair it is 1 - sigmoid(score of the positive - score of the negative).",
        lambda one: one.hardness.push,
    ),
    (
        "user-gradient",
        "Gradient of the user",
        "length of the gradient",
        "Of each pair's own loss, by the final user vector.",
        lambda one: one.hardness.user_gradient,
    ),
)
"""Name, title, axis and caption of the figures that are one histogram a sampler, and what they are of."""


def diagnostics_figures(found: Found) -> list[Figure]:
    """All of them, in the order of the paper; what no sampler here does is left out."""
    made = [
        pool_gaps(found),
        discrepancy_gaps(found),
        *(_histograms(found, *figure) for figure in HISTOGRAMS),
        against_dns(found),
        strength_by_layer(found),
        strength_by_gap(found),
        easy_and_hard(found),
        false_negatives(found),
    ]
    return [figure for figure in made if figure.series]


def pool_gaps(found: Found) -> Figure:
    """Fig. 1(a): one series a pool size, since samplers with one size see the same pools."""
    by_size = sorted({one.pools.size: one.pools for one in found.values()}.items())
    series = []
    for size, pools in by_size:
        hint = f"{100 * pools.near:.1f} % under 0.10, {100 * pools.far:.1f} % over 0.20"
        series.append(_bars(f"pool of {size}", pools.gap.histogram, "", hint))
    said = [
        f"Pool of {size}: {100 * pools.near:.2f} % of pools under 0.10, {100 * pools.far:.2f} % over 0.20"
        for size, pools in by_size
    ]
    return Figure(
        "pool-gaps",
        "How far pools stay behind the positive",
        "(positive - hardest candidate) / |positive|, by score",
        "share of pools, %",
        _trimmed(series),
        "bar",
        "; ".join(said) + ". As Fig. 1(a) of the paper." + _outside(pools.gap for _, pools in by_size),
    )


def discrepancy_gaps(found: Found) -> Figure:
    """Fig. 1(b), of pools with candidates of like score."""
    series, said = [], []
    for size, pools in sorted({one.pools.size: one.pools for one in found.values()}.items()):
        if pools.discrepancy_gap is not None:
            series.append(_bars(f"pool of {size}", pools.discrepancy_gap.histogram, ""))
            near, far = (100 * (share or 0.0) for share in (pools.over_020, pools.over_050))
            shares = f"{near:.2f} % of {pools.similar:,} pairs over 0.20, {far:.2f} % over 0.50"
            said.append(f"Pool of {size}: {shares}")
    return Figure(
        "discrepancy-gaps",
        "What equal scores hide",
        "|Δσ| of two candidates of one pool with |Δs| < 0.01",
        "share of pairs, %",
        _trimmed(series),
        "bar",
        "; ".join(said) + ". As Fig. 1(b) of the paper.",
    )


def against_dns(found: Found) -> Figure:
    """Fig. 5(a), of samplers that do not simply choose as DNS does."""
    series = []
    for label, one in found.items():
        if one.selection.agreement != 1:
            changes = {"discrepancy σ": one.selection.sigma_change, "mean hardness μ": one.selection.mu_change}
            known = {name: 100 * value for name, value in changes.items() if value is not None}
            series.append(Series(label, list(known), list(known.values()), role=one.name))
    return Figure(
        "against-dns",
        "The chosen items beside DNS's choice",
        "mean over the pairs",
        "change, %",
        series,
        "bar",
        "Both choose from the same pools; items as they are, before the positive is mixed in. As Fig. 5(a) of the paper.",
    )


def strength_by_layer(found: Found) -> Figure:
    series = [Series(label, one.layers, one.mixing.strength, role=one.name) for label, one in _mixing(found)]
    caption = "The share of the positive in the negative."
    return Figure("strength-by-layer", "Strength λ by layer", "", "mean λ", series, "bar", caption)


def strength_by_gap(found: Found) -> Figure:
    series = []
    for label, one in _mixing(found):
        tenths = one.mixing.tenths
        means = [sum(group.strength) / len(group.strength) for group in tenths]
        hints = [f"tenth {place} of the pools, from the hardest" for place in range(1, len(tenths) + 1)]
        series.append(Series(label, [group.gap for group in tenths], means, role=one.name, hints=hints))
    return Figure(
        "strength-by-gap",
        "Strength λ by the hardness of the pool",
        "mean gap p - m of a tenth of the pools",
        "mean λ over the layers",
        series,
        "line",
        "The hardest pools are on the left.",
    )


def easy_and_hard(found: Found) -> Figure:
    """Fig. 5(b)."""
    series = []
    for label, one in _mixing(found):
        easy, hard = one.mixing.easy, one.mixing.hard
        words = ["easy, before", "easy, after", "hard, before", "hard, after"]
        series.append(Series(label, words, [easy.before, easy.after, hard.before, hard.after], role=one.name))
    return Figure(
        "easy-and-hard",
        "What mixing does in easy and in hard pools",
        "a fifth of the pools each",
        "mean score of the positive - of the negative",
        series,
        "bar",
        "Before and after the positive is mixed in. Easy is the fifth of the pools with the largest gap p - m, hard the fifth "
        "with the smallest. As Fig. 5(b) of the paper.",
    )


def false_negatives(found: Found) -> Figure:
    series = []
    for label, one in found.items():
        shares = one.false_negatives
        if shares.chosen is not None and shares.pool is not None and shares.dns is not None:
            words = ["candidates", "DNS's choices", "chosen"]
            values = [100 * shares.pool, 100 * shares.dns, 100 * shares.chosen]
            series.append(Series(label, words, values, role=one.name))
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


def _histograms(
    found: Found, name: str, title: str, x_label: str, caption: str, of: Callable[[Diagnostics], Spread]
) -> Figure:
    series = [
        _bars(label, of(one).histogram, one.name, f"mean {of(one).mean:.3f}, std {of(one).std:.3f}")
        for label, one in found.items()
    ]
    caption += _outside(of(one) for one in found.values())
    return Figure(name, title, x_label, "share, %", _trimmed(series), "bar", caption)


def _mixing(found: Found) -> list[tuple[str, Diagnostics]]:
    """Those that mix the positive in."""
    return [(label, one) for label, one in found.items() if one.mixing.mixes]


def _outside(spreads: Iterable[Spread]) -> str:
    beyond = max((one.histogram.below + one.histogram.above) / one.count for one in spreads)
    return f" Up to {100 * beyond:.1f} % lie outside the range shown." if beyond > 0.0005 else ""


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
