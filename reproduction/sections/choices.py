"""Which choices of the protocol matter: masks, L2, the last batch."""

import math
from collections.abc import Mapping

from reproduction.cells import shown
from reproduction.evidence import Evidence
from reproduction.experiments import CHOICES, FOUR
from reproduction.leading import AT_20
from reproduction.sections.standing import unfinished
from reproduction.sections.tuning import switched_off
from sahcns.lab import (
    ALPHA,
    Cell,
    Figure,
    Paired,
    Section,
    Summary,
    Table,
    holm,
    joined,
    long_name,
    number,
    paired_t,
    short_name,
)


def choices_section(evidence: Evidence) -> Section:
    found: list[str | Table | Figure] = [
        *unfinished(evidence, "choices"),
        *switched_off(evidence, [evidence.design.single]),
    ]
    cells = {
        (row.group, row.label, metric): evidence.cell("choices", row, metric)
        for row in evidence.rows("choices")
        for metric in AT_20
    }
    usual = next(iter(CHOICES))
    rows: list[list[Cell | str]] = []
    for words in CHOICES:
        for label in FOUR:
            own = [cells.get((words, label, metric)) for metric in AT_20]
            if not any(own):
                continue
            line: list[Cell | str] = [words, label]
            for metric, one in zip(AT_20, own, strict=True):
                line += _beside(one, cells.get((usual, label, metric)) if words != usual else None)
            rows.append(line)
    if rows:
        found += changes_in_words(cells)
        columns = ["choice", "Method"]
        columns += [f">{short_name(metric)} · {what}" for metric in AT_20 for what in ("ours", "change")]
        name = evidence.design.data(evidence.design.single).name
        found.append(
            Table(
                "choices",
                f"Choices of the protocol on {name}",
                columns,
                rows,
                "In percent, on the test part at the best validation epoch. change: against the first choice, over the seeds "
                "that both have, with its 95 % interval on hover; * the interval leaves out 0, each for itself. A mask moves "
                "what is ranked, not what is learnt.",
            )
        )
    return Section("Choices of the protocol", found)


def changes_in_words(cells: Mapping[tuple[str, str, str], Summary | None]) -> list[str]:
    """How many changes remain when their number is corrected for, and which; nothing where none was tested."""
    usual = next(iter(CHOICES))
    tests = {
        (words, label, metric): change(own, before).p
        for (words, label, metric), own in cells.items()
        if words != usual and own is not None and (before := cells.get((usual, label, metric))) is not None
    }
    known = {key: p for key, p in tests.items() if not math.isnan(p)}
    if not known:
        return []
    alone = sum(p < ALPHA for p in known.values())
    left = [key for key, p in zip(known, holm(list(known.values())), strict=True) if p < ALPHA]
    named = f": {joined([f'{words}, {label}, {long_name(metric)}' for words, label, metric in left])}" if left else ""
    return [
        f"Of {len(known)} changes {alone} have p < 0.05, each tested for itself (the stars), where luck alone would give about "
        f"{number(ALPHA * len(known), 1)}; {len(left)} remain after Holm over all of them{named}."
    ]


def _beside(own: Summary | None, usual: Summary | None) -> list[Cell | str]:
    if own is None or usual is None:
        return [shown(own), ""]
    paired = change(own, usual)
    ends = f"95 % from {number(100 * paired.low, sign=True)} to {number(100 * paired.high, sign=True)}"
    note = "*" if paired.low > 0 or paired.high < 0 else ""
    return [shown(own), Cell(number(100 * paired.difference, sign=True), note=note, hint=paired.why or ends)]


def change(own: Summary, usual: Summary) -> Paired:
    """Over the seeds that both have."""
    mine, theirs = (dict(zip(one.seeds, one.values, strict=True)) for one in (own, usual))
    shared = sorted(mine.keys() & theirs.keys())
    return paired_t([mine[seed] for seed in shared], [theirs[seed] for seed in shared])
