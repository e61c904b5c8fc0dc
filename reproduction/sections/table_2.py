"""Table II: nine methods, both readings of each run, ours beside the paper's, and what follows for its ranking."""

from collections.abc import Mapping, Sequence

from reproduction.beside import READINGS, beside_paper, far_from_paper
from reproduction.evidence import Evidence
from reproduction.leading import AT_20, METRICS, lead_table
from reproduction.methods import METHOD, UNTUNED
from reproduction.published import TABLE_2, printed_2
from reproduction.sections.against import near_differences, resolved_in_words
from reproduction.sections.standing import unfinished
from reproduction.sections.tuning import settings_in_words, switched_off
from sahcns.lab import (
    Board,
    Figure,
    Section,
    Table,
    bars,
    joined,
    long_name,
    main_table,
    number,
    pairwise_table,
    ranking,
    summary,
)

READ_AT = {"best": "at the best validation epoch", "last": "where training stopped"}
SOUND_AS_PRINTED = ("DNS", "DNS(M,N)", "MixGCF", "BNS", "DivNS")  # DENS and AHNS do not train so everywhere


def table_2_board(evidence: Evidence) -> Board | None:
    """The nine methods, SAHC-NS with what tuning chose where it has."""
    return evidence.board("table2", [row for row in evidence.rows("table2") if row.label != UNTUNED])


def table_2_section(evidence: Evidence) -> Section:
    board = table_2_board(evidence)
    found: list[str | Table | Figure] = [*unfinished(evidence, "table2")]
    if board is None:
        return Section("Table II: the paper's protocol", found)
    found += [settings_in_words(evidence), *switched_off(evidence, [one.folder for one in evidence.design.sets])]
    for reading, words in READINGS.items():
        found.append(main_table(board, METRICS, None, reading, name=f"table-2-{reading}", title=f"Ours, {words}"))
    found += [*readings_in_words(evidence, board), *resolved_in_words(board)]
    for reading, words in READINGS.items():
        title = f"{METHOD} against the strongest other, {words}"
        table = lead_table(board, METRICS, reading, name=f"table-2-lead-{reading}", title=title)
        found += [table] if table else []
    for one in evidence.design.sets:
        if one.name not in board.data:
            continue
        if one.printed:
            name, title = f"table-2-{one.folder}", f"{one.name}: ours beside the paper"
            numbers = printed_2(one.like)
            found += far_from_paper(board, one.name, "lightgcn", numbers) if one.same else []
            found.append(
                beside_paper(board, one.name, "lightgcn", numbers, METRICS, name=name, title=title, same=one.same)
            )
        found.append(bars(board, one.name, board.of("lightgcn"), one.name, AT_20))
        drawn = near_differences(board, one.name, one.name)
        found += [drawn] if drawn else []
    pairs = pairwise_table(board, AT_20, METHOD, name="table-2-pairs", title="over seeds")
    found += [*([pairs] if pairs else []), *_untuned(evidence)]
    return Section("Table II: the paper's protocol", found)


def readings_in_words(evidence: Evidence, board: Board) -> list[str]:
    """Which reading the paper's numbers fit, and where SAHC-NS stands under each; computed from what was run."""
    told = _fits_in_words(evidence, board)
    places = {reading: places_of_method(board, reading) for reading in READINGS}
    for reading, found in places.items():
        first = sum(place == 1 for place in found)
        told.append(
            f"Read at the {_epoch(reading)}, {METHOD} has the highest mean in {first} of {len(found)} cells "
            "(a cell is a metric on a set)."
        )
    mixed = places_of_method(board, "best", others="last")
    first = sum(place == 1 for place in mixed)
    if first <= max(sum(place == 1 for place in found) for found in places.values()):
        told.append(f"Reading {METHOD} at its best epoch and the others where they stopped would not change that.")
        return told
    told.append(
        f"If {METHOD} alone were read at its best validation epoch and the others where they stopped, it would be first in "
        f"{first} of {len(mixed)}: how runs are read decides the ranking. {_same_favour(board)}This says nothing about how the "
        "paper's numbers came about."
    )
    return told


def _fits_in_words(evidence: Evidence, board: Board) -> list[str]:
    """How far the printed numbers are from either reading, set by set, and in which metrics which of them is the nearer."""
    told: list[str] = []
    beside: dict[str, list[str]] = {METHOD: [], "RNS": []}
    for one in evidence.design.sets:
        gaps = fit_of_readings(evidence, board, one.folder)
        if not gaps:
            continue
        nearer: dict[str, list[str]] = {}
        for metric in METRICS:
            here = fit_of_readings(evidence, board, one.folder, metrics=(metric,))
            nearer.setdefault(min(here, key=lambda reading: here[reading]), []).append(long_name(metric))
        sides = [
            f"nearer {READ_AT[reading]} in {joined(metrics) if len(nearer) > 1 else 'all four'}"
            for reading, metrics in nearer.items()
        ]
        told.append(
            f"On {one.name} what the paper prints for {joined(SOUND_AS_PRINTED)} differs from ours, in points on average over "
            f"the four metrics, by {_by_reading(gaps)}: {joined(sides)}."
        )
        for method, lines in beside.items():
            own = fit_of_readings(evidence, board, one.folder, methods=(method,))
            lines += [f"{_by_reading(own)}, on {one.name}"] if own else []
    if beside[METHOD]:
        told.append(f"What it prints for {METHOD} differs from ours by {'; '.join(beside[METHOD])}.")
    if beside["RNS"]:
        told.append(
            f"What it prints for RNS, which has no hard negatives to overfit to, differs by {'; '.join(beside['RNS'])}: where "
            "that is much, ours and the paper's are apart for other reasons than the reading, such as another split."
        )
    return told


def _by_reading(gaps: Mapping[str, float]) -> str:
    return joined([f"{number(gap)} {READ_AT[reading]}" for reading, gap in gaps.items()])


def _same_favour(board: Board) -> str:
    """In how many cells each other method would be first, were it the one that is read at its best epoch."""
    firsts = {
        row.method: sum(place == 1 for place in places_of_method(board, "best", "last", row.method))
        for row in board.of("lightgcn")
        if row.method != METHOD
    }
    order = sorted((method for method in firsts if firsts[method]), key=lambda method: -firsts[method])
    if not order:
        return ""
    told = joined([f"{method} in {firsts[method]}" for method in order])
    return f"It does so for others too: the same favour to one alone would make it first, {told}. "


def fit_of_readings(
    evidence: Evidence,
    board: Board,
    data: str | None = None,
    methods: Sequence[str] = SOUND_AS_PRINTED,
    metrics: Sequence[str] = METRICS,
    seed: int | None = None,
) -> dict[str, float]:
    """Mean |ours − paper| in points over some methods and metrics, on the paper's own sets or on one of them.

    Ours are means over seeds, or those of one seed.
    """
    found: dict[str, list[float]] = {reading: [] for reading in READINGS}
    for one in evidence.design.sets:
        if not (one.printed and one.same and one.name in board.data) or data not in (None, one.folder):
            continue
        for method in methods:
            row = board.row("lightgcn", method)
            if row is None or not board.seeds(one.name, row):
                continue
            for metric in metrics:
                for reading, gaps in found.items():
                    own = summary(board, one.name, row, metric, reading)
                    mean = own.mean if seed is None else own.values[own.seeds.index(seed)]
                    gaps.append(abs(100 * mean - TABLE_2[one.like][method][metric][0]))
    return {reading: sum(gaps) / len(gaps) for reading, gaps in found.items() if gaps}


def places_of_method(board: Board, reading: str, others: str | None = None, method: str = METHOD) -> list[int]:
    """The place of a method in each cell; `others` is the reading of the rest, where it is another."""
    found = []
    for data in board.data:
        own = board.row("lightgcn", method)
        if own is None or not board.seeds(data, own):
            continue
        for metric in METRICS:
            mine = summary(board, data, own, metric, reading).mean
            rest = [row for row in ranking(board, data, "lightgcn", metric) if row != own]
            better = [row for row in rest if summary(board, data, row, metric, others or reading).mean > mine]
            found.append(1 + len(better))
    return found


def _epoch(reading: str) -> str:
    return {"best": "best validation epoch", "last": "epoch where training stopped"}[reading]


def _untuned(evidence: Evidence) -> Sequence[Table]:
    """SAHC-NS before and after tuning, where tuning chose other values than were run before."""
    rows = [row for row in evidence.rows("table2") if row.label in (METHOD, UNTUNED)]
    board = evidence.board("table2", rows) if any(row.label == UNTUNED for row in rows) else None
    if board is None:
        return []
    title = "SAHC-NS as tuned on validation and with α = 0.3, λmax = 0.5"
    return [main_table(board, METRICS, None, "best", name="table-2-untuned", title=title)]
