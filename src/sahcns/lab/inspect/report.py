"""The report of an inspection: a verdict, samplers side by side, what they cost, and single pairs in full.

A sampler's name is the role of its series: one colour everywhere.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from sahcns.lab.inspect.results import Candidate, Cost, Diagnostics, Inspection, Negative, PairView, Spread, percent
from sahcns.lab.report.parts import Cell, Figure, Report, Section, Series, Table
from sahcns.version import __version__

TITLE = 24  # letters of a title that a table shows
Labelled = Mapping[str, Diagnostics]
"""Diagnostics by label; the label is the sampler's name unless one sampler comes twice."""
TENTHS = [f"tenth {place} of the pools, from the hardest" for place in range(1, 11)]
BEHIND, LEFT = "How far pools stay behind the positive", "The hardest pools are on the left."
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
    near = "; ".join(
        f"{x}: {percent(one.near)} of pools under 0.10, {percent(one.far)} over 0.20" for x, one in sizes.items()
    )
    similar = {size: (one, one.discrepancy_gap) for size, one in sizes.items() if one.discrepancy_gap is not None}
    alike = "; ".join(
        f"{size}: {percent(one.over_020)} of {one.similar:,} pairs over 0.20, {percent(one.over_050)} over 0.50"
        for size, (one, _) in similar.items()
    )
    others = {label: one for label, one in samplers.items() if one.selection.agreement != 1}
    mixing = _mixing(samplers)
    by_gap = {
        label: [(group.gap, fmean(group.strength)) for group in one.mixing.tenths] for label, one in mixing.items()
    }
    choices = "Both choose from the same pools; items as they are, before the positive is mixed in. As Fig. 5(a) of the paper."
    fifths = (
        "Before and after the positive is mixed in. Easy is the fifth of the pools with the largest gap p - m, hard the "
        "fifth with the smallest. As Fig. 5(b) of the paper."
    )
    pools = {size: one.gap for size, one in sizes.items()}
    pairs = {size: spread for size, (_, spread) in similar.items()}
    x, y = "(positive - hardest candidate) / |positive|, by score", "share of pools, %"
    shares = _histograms("pool-gaps", BEHIND, x, y, pools, f"{near}. As Fig. 1(a) of the paper.")
    x, y = "|Δσ| of two candidates of one pool with |Δs| < 0.01", "share of pairs, %"
    hidden = _histograms(
        "discrepancy-gaps", "What equal scores hide", x, y, pairs, f"{alike}. As Fig. 1(b) of the paper."
    )
    series = [_series(label, one, _changes(one)) for label, one in others.items()]
    x, y = "mean over the pairs", "change, %"
    beside = Figure("against-dns", "The chosen items beside DNS's choice", x, y, series, "bar", choices)
    series = [_series(label, one, by_gap[label], TENTHS) for label, one in mixing.items()]
    x, y = "mean gap p - m of a tenth of the pools", "mean λ over the layers"
    strength = Figure("strength-by-gap", "Strength λ by the hardness of the pool", x, y, series, "line", LEFT)
    series = [_series(label, one, _margins(one)) for label, one in mixing.items()]
    x, y = "a fifth of the pools each", "mean score of the positive - of the negative"
    margins = Figure("easy-and-hard", "What mixing does in easy and in hard pools", x, y, series, "bar", fifths)
    return [figure for figure in (shares, hidden, beside, strength, margins) if figure.series]


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


def inspection_report(inspection: Inspection, *, command: str = "") -> Report:
    """A page of everything that was measured, which opens with a verdict, one table and one figure."""
    model, samplers = inspection.model, inspection.diagnostics
    backbone, sampler = model["backbone"]["name"], model["sampler"]["name"]
    unlabelled = [one.sampler for one in inspection.pairs] + [one.sampler for one in inspection.costs]
    inspected = {one["name"]: one for one in unlabelled} | {label: one.sampler for label, one in samplers.items()}
    return Report(
        f"Inside {', '.join(inspected) or sampler}: a look at a {backbone} trained with {sampler}",
        [verdict(inspection)],
        list(_sections(inspection)),
        [
            ("model", _settings(model["backbone"])),
            ("trained with", f"{_settings(model['sampler'])}, seed {model['seed']}, best epoch {model['best_epoch']}"),
            ("data", _settings(model["data"], first="fingerprint")),
            ("samplers looked at", "; ".join(map(_settings, inspected.values()))),
            ("seed of the pools", str(inspection.seed)),
            ("trained on", _settings(model["machine"], first="device")),
            ("sahcns", __version__),
            *([("command", command)] if command else []),
        ],
        lead=[overview_table(samplers), hardness(samplers)] if samplers else [],
    )


def verdict(inspection: Inspection) -> str:
    """One sentence: who makes the hardest negatives; without an epoch what one costs, or what became of the first pair."""
    if samplers := inspection.diagnostics:
        margins = {label: one.hardness.margin.mean for label, one in samplers.items()}
        hardest, softest = min(margins, key=margins.__getitem__), max(margins, key=margins.__getitem__)
        above = percent(samplers[hardest].hardness.above_positive)
        words = f"score {margins[hardest]:.2f} below the positive on average, {above} of them above it"
        if len(samplers) == 1:
            return f"The negatives of {hardest} {words}."
        return f"{hardest} makes the hardest negatives: they {words}; {softest}'s stay {margins[softest]:.2f} below."
    if costs := inspection.costs:
        last = max(costs, key=lambda one: one.extra)
        return f"{last.name} adds {1000 * last.extra:,.1f} ms an epoch to {costs[0].name}, {percent(last.extra_share)}."
    if not inspection.pairs:
        return "Nothing was measured."
    view, (negative, *_) = inspection.pairs[0], inspection.pairs[0].negatives
    return (
        f"For user {view.user} and {_label(view.item, view.title)}, the negative of {view.sampler['name']} is "
        f"{_recipe(negative)}; it scores {negative.score:.2f}, the positive {view.positive_score:.2f}."
    )


def _sections(inspection: Inspection) -> Iterator[Section]:
    if samplers := inspection.diagnostics:
        tables = [diagnostics_table(samplers), *([strength] if (strength := strength_table(samplers)) else [])]
        yield Section("Over an epoch", [*tables, *paper_figures(samplers)])
    if inspection.costs:
        yield Section("What it costs", [cost_table(inspection.costs)])
    number = 0
    for place, (_, views) in enumerate(groupby(inspection.pairs, lambda one: (one.user, one.item)), 1):
        blocks: list[Table | Figure] = []
        for view in views:  # the pair under each sampler
            number += 1
            blocks += [pool_table(view, number), layer_table(view, number), profiles(view, number)]
        yield Section(f"Pair {place}: user {view.user}, {view.title or view.item}", blocks)


def cost_table(costs: Sequence[Cost]) -> Table:
    """Milliseconds an epoch, and how much more than the first."""
    return Table(
        "cost",
        "The sampler's share of an epoch",
        ["", ">match ms", ">choose ms", ">mix, loss ms", ">epoch ms", f">beyond {costs[0].name} ms", ">of its epoch"],
        [
            [
                one.name,
                *(f"{1000 * part:,.1f}" for part in (one.match, one.choose, one.mix, one.epoch)),
                f"{1000 * one.extra + 0.0:+,.1f}",
                percent(one.extra_share),
            ]
            for one in costs
        ],
        f"{costs[0].device}, {costs[0].kernels} kernels, {costs[0].steps}. Parts are timed alone, an epoch as it runs.",
    )


def pool_table(view: PairView, number: int = 1) -> Table:
    """The pool, hardest first: profiles, μ, σ, z-scores, q, and who chooses what."""
    pool = sorted(view.pool, key=lambda one: -one.score)
    best = max((one.q for one in pool if one.q is not None), default=None)
    columns: dict[str, list[Cell | str]] = {"item": [str(one.item) for one in pool]}
    if any(one.title for one in pool):
        titles = [one.title or "" for one in pool]
        short = [title if len(title) <= TITLE else title[: TITLE - 1].rstrip() + "…" for title in titles]
        columns["title"] = [Cell(text, hint=title * (text != title)) for text, title in zip(short, titles, strict=True)]
    for t in range(len(view.positive)):
        columns[f">a{view.first_layer + t}"] = [f"{one.profile[t]:.3f}" for one in pool]
    if any(abs(one.score - one.mu) > 1e-5 * (abs(one.mu) + 1e-5) for one in pool):  # no mean over the layers
        columns[">score"] = [f"{one.score:.3f}" for one in pool]
    columns[">μ"], columns[">σ"] = [f"{one.mu:.3f}" for one in pool], [f"{one.sigma:.3f}" for one in pool]
    columns[">z(μ)"], columns[">z(σ)"] = [f"{one.z_mu:+.2f}" for one in pool], [f"{one.z_sigma:+.2f}" for one in pool]
    if best is not None:
        columns[">q"] = [Cell(f"{one.q or 0:+.2f}", "best" if one.q == best else "") for one in pool]
    columns[""] = [_marks(one) for one in pool]
    return Table(
        f"pool-{number}",
        f"user {view.user}, positive {_label(view.item, view.title)}: the pool under {view.sampler['name']}",
        list(columns),
        list(zip(*columns.values(), strict=True)),
    )


def layer_table(view: PairView, number: int = 1) -> Table:
    """The positive, the pool's best, gap, hardness and strength, and the negative before and after, layer by layer."""
    highest = max(one.score for one in view.pool)
    lines: list[tuple[str, Sequence[float], float | None]] = [
        ("positive p", view.positive, view.positive_score),
        ("hardest of the pool m", view.hardest, highest),
        ("gap g = p - m", view.gaps, view.positive_score - highest),
        ("hardness ρ", view.rho, None),
    ]
    for k, negative in enumerate(view.negatives, 1):
        place = f" {k}" if len(view.negatives) > 1 else ""
        if any(negative.strength):
            lines.append((f"strength λ{place}", negative.strength, None))
            lines.append((f"negative{place}, before", negative.profile_before, negative.score_before))
        lines.append((f"negative{place}", negative.profile, negative.score))
    return Table(
        f"layers-{number}",
        "",
        ["", *(f">{layer}" for layer in view.layers), ">final"],
        [
            [name, *(f"{value:.3f}" for value in values), "" if final is None else f"{final:.3f}"]
            for name, values, final in lines
        ],
        f"The negative is {'; '.join(dict.fromkeys(map(_recipe, view.negatives)))}."
        + "".join(f" Note: {note}." for note in view.notes),
    )


def profiles(view: PairView, number: int = 1) -> Figure:
    """One pair over the layers: positive, the pool's best, DNS's choice, the negative before and after."""
    negative, name = view.negatives[0], view.sampler["name"]
    series = [
        Series("positive", view.layers, view.positive),
        Series("hardest of the pool", view.layers, view.hardest, dashed=True),
        Series(f"DNS's choice, {view.dns.item}", view.layers, view.dns.profile, role="dns"),
        Series(f"{name}, before", view.layers, negative.profile_before, role=name, dashed=True),
        Series(f"{name}, the negative", view.layers, negative.profile, role=name),
    ]
    if not any(negative.strength):
        del series[3]
    title = f"Scores over the layers: user {view.user}, positive {view.title or view.item}"
    return Figure(f"profiles-{number}", title, "", "score at the layer", series, "line")


def _marks(one: Candidate) -> str:
    chosen = "chosen" if one.share > 0.9995 else f"chosen {one.share:.0%}" if one.share > 0 else ""
    return ", ".join(filter(None, [chosen, "DNS" * one.dns, f"in {one.held_out}" if one.held_out else ""]))


def _recipe(negative: Negative) -> str:
    """`0.23 of the positive and 0.77 of 318, Shawshank (1994), on average over the layers`."""
    parts = negative.ingredients
    if len(parts) == 1:
        return _label(parts[0].item, parts[0].title)
    names = ["the positive" if one.positive else _label(one.item, one.title) for one in parts]
    words = [f"{fmean(one.weights):.2f} of {name}" for one, name in zip(parts, names, strict=True)]
    return f"{', '.join(words[:-1])} and {words[-1]}, on average over the layers"


def _label(item: object, title: str | None) -> str:
    return f"{item}, {title}" if title else str(item)


def _settings(values: Mapping[str, Any], first: str = "name") -> str:
    """`sahc, pool 10, alpha 0.3`."""
    rest = [f"{name} {value}" for name, value in values.items() if name not in (first, "folder")]
    return ", ".join([str(values.get(first, "")), *rest])
