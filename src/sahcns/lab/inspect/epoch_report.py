"""Tables and figures of samplers over an epoch, side by side. A sampler's name is the role of its series: one colour."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from sahcns.lab.inspect.results import Diagnostics, Spread, percent
from sahcns.lab.report.parts import Cell, Figure, Series, Table

Labelled = Mapping[str, Diagnostics]
"""Diagnostics by label; the label is the sampler's name unless one sampler comes twice."""
TENTHS = [f"tenth {place} of the pools, from the hardest" for place in range(1, 11)]
FOR_LOOKING = "False negatives are counted for looking only; nothing was chosen by them."
OVERVIEW = ("margin y⁺ - y⁻", "above the positive", "chosen as DNS", "strength λ", "false negatives", "distinct items")


def overview_table(samplers: Labelled) -> Table:
    """One row a sampler, the numbers that tell samplers apart."""
    shown = {label: {row.name: text for row, text in one.rows()} for label, one in samplers.items()}
    rows = [[label, *(own[name] for name in OVERVIEW)] for label, own in shown.items()]
    return Table("overview", "Samplers side by side", ["sampler", *(f">{name}" for name in OVERVIEW)], rows)


def diagnostics_table(samplers: Labelled) -> Table:
    """Every number, one column a sampler."""
    pairs = " and ".join(sorted({f"{one.pairs:,}" for one in samplers.values()}))
    notes = [f"{label}: {note}." for label, one in samplers.items() for note in one.notes]
    lines = zip(*(one.rows() for one in samplers.values()), strict=True)
    return Table(
        "diagnostics",
        f"One epoch of {pairs} training pairs, nothing trained",
        ["", *(f">{label}" for label in samplers)],
        [[Cell(line[0][0].name, hint=line[0][0].hint), *(text for _, text in line)] for line in lines],
        " ".join(["Samplers with pools of one size see the same pools.", FOR_LOOKING, *notes]),
    )


def strength_table(samplers: Labelled) -> Table | None:
    """Mean λ by layer and by the hardness of the pool, for samplers that mix the positive in."""
    mixing = _mixing(samplers)
    if not mixing:
        return None
    rows: list[Sequence[Cell | str]] = []
    for label, one in mixing.items():
        hard, easy = one.mixing.hard, one.mixing.easy
        for first, which, gap, lam in (
            (label, "all", fmean(one.mixing.gap), one.mixing.strength),
            ("", "hardest fifth", hard.gap, hard.strength),
            ("", "easiest fifth", easy.gap, easy.strength),
        ):
            rows.append([first, which, *(f"{value:.3f}" for value in (gap, *lam))])
    title = "Strength λ by layer and by the hardness of the pool"
    caption = "The gap of a pool is the mean over the layers of p - m."
    layers = next(iter(mixing.values())).layers
    return Table("strength", title, ["", "pools", ">mean gap", *(f">{layer}" for layer in layers)], rows, caption)


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
    mixing = _mixing(samplers)
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
                for label, one in mixing.items()
            ],
            "line",
            "The hardest pools are on the left.",
        ),
        Figure(
            "easy-and-hard",
            "What mixing does in easy and in hard pools",
            "a fifth of the pools each",
            "mean score of the positive - of the negative",
            [_series(label, one, _margins(one)) for label, one in mixing.items()],
            "bar",
            "Before and after the positive is mixed in. Easy is the fifth of the pools with the largest gap p - m, hard the "
            "fifth with the smallest. As Fig. 5(b) of the paper.",
        ),
    ]
    return [figure for figure in figures if figure.series]


def _changes(one: Diagnostics) -> list[tuple[str, float]]:
    changes = {"discrepancy σ": one.selection.sigma_change, "mean hardness μ": one.selection.mu_change}
    return [(name, 100 * value) for name, value in changes.items() if value is not None]


def _margins(one: Diagnostics) -> list[tuple[str, float]]:
    groups = {"easy": one.mixing.easy, "hard": one.mixing.hard}
    return [(f"{name}, {when}", getattr(group, when)) for name, group in groups.items() for when in ("before", "after")]


def _series(label: str, one: Diagnostics, points: Sequence[tuple[Any, float]], hints: Sequence[str] = ()) -> Series:
    return Series(label, [x for x, _ in points], [y for _, y in points], role=one.name, hints=hints)


def _mixing(samplers: Labelled) -> dict[str, Diagnostics]:
    """Those that mix the positive in."""
    return {label: one for label, one in samplers.items() if one.mixing.mixes}


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
