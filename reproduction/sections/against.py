"""SAHC-NS against each other method of a table: what is resolved, in words, and drawn so that small differences are seen."""

from collections.abc import Sequence
from dataclasses import replace

from reproduction.beside import FAR
from reproduction.leading import AT_20
from reproduction.methods import METHOD
from sahcns.lab import (
    ALPHA,
    Board,
    Cell,
    Contrast,
    Figure,
    Paired,
    adjusted,
    chance,
    differences,
    joined,
    long_name,
    number,
    pairs,
    summary,
)


def resolved_in_words(board: Board, metrics: Sequence[str] = AT_20) -> list[str]:
    """A sentence for each set and backbone: whom SAHC-NS is ahead of, behind, and not told apart from; after Holm."""
    found = pairs(board, metrics, METHOD)
    holms = adjusted(found)
    told = []
    for data, backbone in dict.fromkeys(one.place for one in found):
        lines = []
        for metric in metrics:
            own = [
                (one, p)
                for one, p in zip(found, holms, strict=True)
                if (one.place, one.metric) == ((data, backbone), metric)
            ]
            lines.append(f"in {long_name(metric)} {METHOD} is {_sides(own)}")
        where = data if len(board.backbones) == 1 else f"{data}, {backbone}"
        told.append(f"{where}: {'; '.join(lines)}.")
    if told:
        told[-1] += (
            f" Told apart is what a paired t-test over seeds tells apart, p < {ALPHA} after Holm over all that this names; "
            "a table with fewer tests may tell more apart, and what is not told apart is not shown to be equal."
        )
    return told


def _sides(found: Sequence[tuple[Contrast, float]]) -> str:
    """`ahead of A and B, behind C, not told apart from D`; differences are other − SAHC-NS."""
    sides: dict[str, list[str]] = {"ahead of": [], "behind": [], "not told apart from": []}
    for one, p in found:
        side = "not told apart from" if not p < ALPHA else "ahead of" if one.paired.difference < 0 else "behind"
        sides[side].append(one.first.method)
    if len(sides["not told apart from"]) == len(found):
        return "not told apart from any other"
    return ", ".join(f"{side} {joined(names)}" for side, names in sides.items() if names)


def near_differences(
    board: Board, data: str, where: str, title: str = "", metrics: Sequence[str] = AT_20
) -> Figure | None:
    """Each method minus SAHC-NS with its interval; those further off than a tenth are named and not drawn.

    `where` names the figure, and heads it unless `title` does.
    """
    found = pairs(board, metrics, METHOD)
    both = [(one, p) for one, p in zip(found, adjusted(found), strict=True) if one.data == data]
    far: dict[str, list[str]] = {}
    for one, _ in both:
        if abs(one.paired.difference) > FAR * summary(board, data, one.second, one.metric).mean:
            by = f"{number(100 * one.paired.difference, sign=True)} in {long_name(one.metric)}"
            far.setdefault(one.first.method, []).append(by)
    kept = [(one, p) for one, p in both if one.first.method not in far]
    drawn = differences([one for one, _ in kept], [p for _, p in kept], where)
    if drawn is not None and title:
        drawn = replace(drawn, title=f"Each method minus {METHOD}: {title}")
    if drawn is None or not far:
        return drawn
    named = joined([f"{method} ({', '.join(by)})" for method, by in far.items()])
    said = (
        f"{drawn.caption} Further from {METHOD} than a tenth of what it has, and not drawn, since it would flatten the "
        f"rest: {named}."
    )
    return replace(drawn, caption=said)


def difference_cell(paired: Paired, holm: float) -> Cell:
    """`+0.12*`, in points, with its interval and p as a hint."""
    ends = f"95 % from {number(100 * paired.low, sign=True)} to {number(100 * paired.high, sign=True)}"
    hint = paired.why or f"{ends}; p {chance(paired.p)}, after Holm {chance(holm)}; n = {paired.n}"
    return Cell(number(100 * paired.difference, sign=True), note="*" if holm < ALPHA else "", hint=hint)
