"""Figs 1 and 5: pools and what equal scores hide; what SA chooses and what HC moves."""

from dataclasses import replace

from reproduction.evidence import Evidence
from reproduction.methods import METHOD
from reproduction.published import FIGURE_1A, FIGURE_1B, FIGURE_5A, MEAN_HARDNESS
from reproduction.sections.standing import unfinished
from sahcns.lab import (
    Cell,
    Diagnostics,
    Figure,
    Group,
    Inspection,
    Section,
    Table,
    against_dns,
    diagnostics_table,
    discrepancy_gaps,
    easy_and_hard,
    joined,
    number,
    pool_gaps,
    strength_by_gap,
)

MODELS = {"dns": "trained with DNS", "sahc": "trained with SAHC-NS"}


def mechanisms_section(evidence: Evidence) -> Section:
    found: list[str | Table | Figure] = [*unfinished(evidence, "mechanisms")]
    if evidence.seen:
        found += [
            "Fig. 1 is measured on LightGCN trained with DNS, as in the paper. The paper does not say which model its Fig. 5 "
            "looks into, so we look into that one and into one trained with SAHC-NS. The normalised gap of a pool is "
            "(positive − hardest candidate) / |positive| on final scores, which is our reading of the paper.",
            _settings(evidence),
            *calibration_in_words(evidence),
            _table(evidence),
        ]
    for (data, trained), seen in evidence.seen.items():
        found += _figures(evidence.design.data(data).name, data, trained, seen)
    return Section("Figs 1 and 5: inside the samplers", found)


def _settings(evidence: Evidence) -> str:
    """`Amazon-toys: α = 0.3, λmax = 0.5`: what SA and HC were looked at with."""
    told = {}
    for (data, _), seen in evidence.seen.items():
        own = seen.diagnostics[METHOD].sampler
        told[evidence.design.data(data).name] = f"α = {own['alpha']:g}, λmax = {own['lambda_max']:g}"
    return f"SA and HC at work with {'; '.join(f'{name}: {values}' for name, values in told.items())}."


def calibration_in_words(evidence: Evidence) -> list[str]:
    """What HC makes of the gap on each model."""
    told = []
    for (data, trained), seen in evidence.seen.items():
        mixing = seen.diagnostics[METHOD].mixing
        where = f"{evidence.design.data(data).name}, {MODELS[trained]}"
        told.append(f"Fig. 5(b), {where}: {easy_and_hard_in_words(mixing.easy, mixing.hard)}")
    return told


def too_hard_in_words(evidence: Evidence) -> str:
    """Where negatives of hard pools end above their positives; else nothing."""
    found = []
    for (data, trained), seen in evidence.seen.items():
        hard = seen.diagnostics[METHOD].mixing.hard
        if hard.after < 0 <= hard.before:
            found.append(f"{evidence.design.data(data).name}, {MODELS[trained]}")
    return (
        f"In hard pools the negative ends above the positive on average, the hardening that HC is meant to avoid: "
        f"{joined(found)}."
        if found
        else ""
    )


def easy_and_hard_in_words(easy: Group, hard: Group) -> str:
    """The gap before and after HC, also as a share of it, and whether negatives of hard pools end above their positives."""
    told = f"HC takes the mean gap in easy pools from {_course(easy)}, in hard pools from {_course(hard)}."
    if hard.after < 0 <= hard.before:
        told += " In those the negative ends above the positive on average: the hardening that HC is meant to avoid."
    return told


def _course(group: Group) -> str:
    """`4.15 to 3.75 (10 % of it closed)`; without the share where there is no gap to close."""
    share = f" ({100 * group.reduction / group.before:.0f} % of it closed)" if group.before > 0 else ""
    return f"{number(group.before)} to {number(group.after)}{share}"


def _table(evidence: Evidence) -> Table:
    rows: list[list[Cell | str]] = []
    for (data, trained), seen in evidence.seen.items():
        one = evidence.design.data(data)
        dns, sa, own = (seen.diagnostics[label] for label in ("DNS", "SA-only", METHOD))
        like = one.like if one.printed else ""
        near, far = FIGURE_1A.get(like, (None, None))
        over_20, over_50 = (f"> {FIGURE_1B[0]:g}", f"about {FIGURE_1B[1]:g}") if like in FIGURE_1A else ("–", "–")
        figures: list[tuple[str, float | str | None, float | None]] = [
            ("Fig. 1(a): pools with a gap under 0.10, %", near, 100 * dns.pools.near),
            ("Fig. 1(a): pools with a gap over 0.20, %", far, 100 * dns.pools.far),
            ("Fig. 1(b): similar pairs with |Δσ| over 0.20, %", over_20, _percent(dns.pools.over_020)),
            ("Fig. 1(b): similar pairs with |Δσ| over 0.50, %", over_50, _percent(dns.pools.over_050)),
            ("Fig. 5(a): discrepancy of SA's choice against DNS's, %", FIGURE_5A.get(like), change(sa, "sigma")),
            (
                "Fig. 5(a): mean hardness of SA's choice, %",
                f"within ± {MEAN_HARDNESS:g}" if like in FIGURE_5A else None,
                change(sa, "mu"),
            ),
            ("Fig. 5(b): gap closed by HC in easy pools", None, own.mixing.easy.reduction),
            ("Fig. 5(b): gap closed by HC in hard pools", None, own.mixing.hard.reduction),
        ]
        where = f"{one.name}, {MODELS[trained]}"
        rows += [[where, what, _shown(theirs), _shown(ours)] for what, theirs, ours in figures]
    return Table(
        "mechanisms",
        "Figs 1 and 5 in numbers",
        ["Data and model", "what", ">paper", ">ours"],
        rows,
        "The paper prints bounds for Fig. 1(b) and for the mean hardness. The gaps of Fig. 5(b) are differences of scores. "
        "All training pairs once; nothing is trained meanwhile.",
    )


def change(one: Diagnostics, what: str) -> float | None:
    """In percent, of the chosen items against DNS's from the same pools."""
    found = one.selection.sigma_change if what == "sigma" else one.selection.mu_change
    return None if found is None else 100 * found


def _figures(name: str, data: str, trained: str, seen: Inspection) -> list[str | Table | Figure]:
    every, dns = seen.diagnostics, {"DNS": seen.diagnostics["DNS"]}
    drawn = [pool_gaps(dns), discrepancy_gaps(dns)] if trained == "dns" else []
    drawn += [against_dns(every), easy_and_hard(every), strength_by_gap(every)]
    ending, where = f"{data}-{trained}", f"{name}, {MODELS[trained]}"
    table = diagnostics_table(every)
    return [
        *(
            replace(figure, name=f"{figure.name}-{ending}", title=f"{figure.title}: {where}")
            for figure in drawn
            if figure.series
        ),
        replace(table, name=f"diagnostics-{ending}", title=f"{where}: {table.title}"),
    ]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _shown(value: float | str | None) -> str:
    return value if isinstance(value, str) else "–" if value is None else number(value)
