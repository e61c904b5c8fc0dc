"""Tables and figures of samplers over an epoch, side by side. A sampler's name is the role of its series: one colour."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean
from typing import Any

from sahcns.lab.inspect.results import Diagnostics, Group, Spread
from sahcns.lab.report.parts import Cell, Figure, Series, Table

Labelled = Mapping[str, Diagnostics]
"""Diagnostics by label; the label is the sampler's name unless one sampler comes twice."""
NONE = "–"
TENTHS = [f"tenth {place} of the pools, from the hardest" for place in range(1, 11)]
FOR_LOOKING = "False negatives are counted for looking only; nothing was chosen by them."


def percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.2f} %"


def _signed(value: float | None) -> str:
    return NONE if value is None else f"{100 * value + 0.0:+.2f} %".replace("-0.00", "+0.00")


def _decimals(digits: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{digits}f}"


def _margins(group: Group) -> str:
    return f"{group.before:.3f}" if group.before == group.after else f"{group.before:.3f} → {group.after:.3f}"


@dataclass(frozen=True)
class Row:
    """One line of the full table."""

    name: str
    hint: str
    path: str  # of the number in `Diagnostics`
    show: Callable[[Any], str]
    choice: bool = False  # says nothing about a pool of one item, where there is no choice

    def cell(self, one: Diagnostics) -> str:
        return NONE if self.choice and one.pools.size == 1 else self.show(attrgetter(self.path)(one))


ROWS = (
    Row("pool N", "candidates drawn for each pair", "pools.size", str),
    Row("score y⁻", "mean score of the negatives", "hardness.score.mean", _decimals(3)),
    Row("margin y⁺ - y⁻", "mean over the negatives", "hardness.margin.mean", _decimals(3)),
    Row("above the positive", "share of negatives with y⁻ > y⁺", "hardness.above_positive", percent),
    Row("push 1 - sigmoid(y⁺ - y⁻)", "mean |∂ loss / ∂ y⁻|, summed over several", "hardness.push.mean", _decimals(4)),
    Row("gradient of the user", "mean ‖∂ loss / ∂ ē_u‖", "hardness.user_gradient.mean", _decimals(4)),
    Row("BPR loss", "mean over the pairs", "hardness.loss", _decimals(4)),
    Row("pools with a gap < 0.10", "Fig. 1(a): (y⁺ - the pool's highest score) / |y⁺|", "pools.near", percent),
    Row("pools with a gap > 0.20", "Fig. 1(a) of the paper", "pools.far", percent),
    Row("score-similar pairs", "pairs of candidates of one pool with |Δs| < 0.01", "pools.similar", "{:,}".format),
    Row("… with |Δσ| > 0.20", "Fig. 1(b) of the paper", "pools.over_020", percent),
    Row("… with |Δσ| > 0.50", "Fig. 1(b) of the paper", "pools.over_050", percent),
    Row("chosen as DNS", "share of chosen items that DNS would choose", "selection.agreement", percent, choice=True),
    Row("discrepancy σ, to DNS", "Fig. 5(a): change of the mean", "selection.sigma_change", _signed, choice=True),
    Row("mean hardness μ, to DNS", "Fig. 5(a): change of the mean", "selection.mu_change", _signed, choice=True),
    Row(
        "strength λ",
        "mean share of the positive in the negative",
        "mixing.lam",
        lambda lam: _decimals(3)(lam.mean) if lam.most > 0 else NONE,
    ),
    Row("margin, easy pools", "Fig. 5(b): the fifth with the largest gap, before → after", "mixing.easy", _margins),
    Row("margin, hard pools", "Fig. 5(b): the fifth with the smallest gap, before → after", "mixing.hard", _margins),
    Row("false negatives", "chosen items that are held out of the user", "false_negatives.chosen", percent),
    Row("… of DNS's choices", "from the same pools", "false_negatives.dns", percent, choice=True),
    Row("… of the pool", "share of candidates", "false_negatives.pool", percent),
    Row("distinct items", "items chosen at least once", "variety", lambda v: f"{v.distinct:,} of {v.items:,}"),
    Row("popularity", "mean training pairs of a chosen item", "variety.popularity", _decimals(1)),
    Row("… of the pool", "mean training pairs of a candidate", "variety.pool_popularity", _decimals(1)),
    Row("without training pairs", "chosen items that nothing was learnt about", "variety.cold", percent),
    Row("… of the pool", "share of candidates", "variety.pool_cold", percent),
)
OVERVIEW = ("margin y⁺ - y⁻", "above the positive", "chosen as DNS", "strength λ", "false negatives", "distinct items")


def overview_table(samplers: Labelled) -> Table:
    """One row a sampler, the numbers that tell samplers apart."""
    rows = [row for row in ROWS if row.name in OVERVIEW]
    return Table(
        "overview",
        "Samplers side by side",
        ["sampler", *(f">{row.name}" for row in rows)],
        [[label, *(row.cell(one) for row in rows)] for label, one in samplers.items()],
    )


def diagnostics_table(samplers: Labelled) -> Table:
    """Every number, one column a sampler."""
    pairs = " and ".join(sorted({f"{one.pairs:,}" for one in samplers.values()}))
    notes = [f"{label}: {note}." for label, one in samplers.items() for note in one.notes]
    return Table(
        "diagnostics",
        f"One epoch of {pairs} training pairs, nothing trained",
        ["", *(f">{label}" for label in samplers)],
        [[Cell(row.name, hint=row.hint), *map(row.cell, samplers.values())] for row in ROWS],
        " ".join(["Samplers with pools of one size see the same pools.", FOR_LOOKING, *notes]),
    )


def strength_table(samplers: Labelled) -> Table | None:
    """Mean λ by layer and by the hardness of the pool, for samplers that mix the positive in."""
    rows: list[Sequence[Cell | str]] = []
    layers: list[str] = []
    for label, one in _mixing(samplers):
        layers, mixing = one.layers, one.mixing
        groups = [
            (label, "all", fmean(mixing.gap), mixing.strength),
            ("", "hardest fifth", mixing.hard.gap, mixing.hard.strength),
            ("", "easiest fifth", mixing.easy.gap, mixing.easy.strength),
        ]
        rows += [[first, which, f"{gap:.3f}", *(f"{x:.3f}" for x in lam)] for first, which, gap, lam in groups]
    title = "Strength λ by layer and by the hardness of the pool"
    caption = "The gap of a pool is the mean over the layers of p - m."
    columns = ["", "pools", ">mean gap", *(f">{layer}" for layer in layers)]
    return Table("strength", title, columns, rows, caption) if rows else None


def hardness(samplers: Labelled) -> Figure:
    """The margins of the negatives."""
    return _histograms(
        "hardness",
        "Hardness of the negatives",
        "score of the positive - score of the negative",
        "share of negatives, %",
        {label: one.hardness.margin for label, one in samplers.items()},
        "Left of 0 the negative is scored above the positive.",
        {label: one.name for label, one in samplers.items()},
    )


def paper_figures(samplers: Labelled) -> list[Figure]:
    """Those of the paper; what no sampler here does is left out. Samplers with one size of pools see the same pools."""
    sizes = {f"pool of {one.size}": one for one in sorted((s.pools for s in samplers.values()), key=lambda p: p.size)}
    gaps = [
        f"{size}: {percent(one.near)} of pools under 0.10, {percent(one.far)} over 0.20" for size, one in sizes.items()
    ]
    similar = {size: one for size, one in sizes.items() if one.discrepancy_gap is not None}
    discrepancies = [
        f"{size}: {percent(one.over_020)} of {one.similar:,} pairs over 0.20, {percent(one.over_050)} over 0.50"
        for size, one in similar.items()
    ]
    others = {label: one for label, one in samplers.items() if one.selection.agreement != 1}
    figures = [
        _histograms(
            "pool-gaps",
            "How far pools stay behind the positive",
            "(positive - hardest candidate) / |positive|, by score",
            "share of pools, %",
            {size: one.gap for size, one in sizes.items()},
            "; ".join(gaps) + ". As Fig. 1(a) of the paper.",
        ),
        _histograms(
            "discrepancy-gaps",
            "What equal scores hide",
            "|Δσ| of two candidates of one pool with |Δs| < 0.01",
            "share of pairs, %",
            {size: one.discrepancy_gap for size, one in similar.items() if one.discrepancy_gap is not None},
            "; ".join(discrepancies) + ". As Fig. 1(b) of the paper.",
        ),
        Figure(
            "against-dns",
            "The chosen items beside DNS's choice",
            "mean over the pairs",
            "change, %",
            [_series(label, one, _changes(one)) for label, one in others.items()],
            "bar",
            "Both choose from the same pools; items as they are, before the positive is mixed in. As Fig. 5(a) of the paper.",
        ),
        Figure(
            "strength-by-gap",
            "Strength λ by the hardness of the pool",
            "mean gap p - m of a tenth of the pools",
            "mean λ over the layers",
            [
                _series(label, one, [(group.gap, fmean(group.strength)) for group in one.mixing.tenths], TENTHS)
                for label, one in _mixing(samplers)
            ],
            "line",
            "The hardest pools are on the left.",
        ),
        Figure(
            "easy-and-hard",
            "What mixing does in easy and in hard pools",
            "a fifth of the pools each",
            "mean score of the positive - of the negative",
            [
                _series(
                    label,
                    one,
                    [
                        (f"{name}, {when}", getattr(getattr(one.mixing, name), when))
                        for name in ("easy", "hard")
                        for when in ("before", "after")
                    ],
                )
                for label, one in _mixing(samplers)
            ],
            "bar",
            "Before and after the positive is mixed in. Easy is the fifth of the pools with the largest gap p - m, hard the "
            "fifth with the smallest. As Fig. 5(b) of the paper.",
        ),
    ]
    return [figure for figure in figures if figure.series]


def _changes(one: Diagnostics) -> list[tuple[str, float]]:
    changes = {"discrepancy σ": one.selection.sigma_change, "mean hardness μ": one.selection.mu_change}
    return [(name, 100 * value) for name, value in changes.items() if value is not None]


def _series(label: str, one: Diagnostics, points: Sequence[tuple[Any, float]], hints: Sequence[str] = ()) -> Series:
    return Series(label, [x for x, _ in points], [y for _, y in points], role=one.name, hints=hints)


def _mixing(samplers: Labelled) -> list[tuple[str, Diagnostics]]:
    """Those that mix the positive in."""
    return [(label, one) for label, one in samplers.items() if one.mixing.mixes]


def _histograms(
    name: str,
    title: str,
    x_label: str,
    y_label: str,
    spreads: Mapping[str, Spread],
    caption: str,
    roles: Mapping[str, str] | None = None,
) -> Figure:
    """One series a spread, without the bins at both ends that are empty in all of them."""
    series, outside = [], [0.0]
    filled = [
        x for one in spreads.values() for x, y in zip(one.histogram.edges, one.histogram.counts, strict=False) if y
    ]
    low, high = min(filled, default=-math.inf), max(filled, default=math.inf)
    for label, one in spreads.items():
        bins = one.histogram
        bars = {round(x, 10): 100 * y for x, y in zip(bins.edges, bins.shares, strict=False) if low <= x <= high}
        hints = [f"mean {one.mean:.3f}, std {one.std:.3f}"] * len(bars)
        series.append(Series(label, list(bars), list(bars.values()), role=(roles or {}).get(label, ""), hints=hints))
        outside.append((bins.below + bins.above) / one.count)
    if max(outside) > 0.0005:
        caption += f" Up to {100 * max(outside):.1f} % lie outside the range shown."
    return Figure(name, title, x_label, y_label, series, "bar", caption)
