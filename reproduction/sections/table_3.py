"""Table III: what each part of SAHC-NS is worth."""

from reproduction.beside import beside_paper
from reproduction.evidence import Evidence
from reproduction.leading import AT_20
from reproduction.methods import METHOD
from reproduction.published import printed_3
from reproduction.sections.against import near_differences, resolved_in_words
from reproduction.sections.standing import unfinished
from reproduction.sections.tuning import parts_in_words
from reproduction.sections.worth import departures_in_words, worth_table
from sahcns.lab import Figure, Section, Table, bars, pairwise_table

ALIKE = (
    "HC-only and SAHC w/o Discrepancy are the same algorithm on LightGCN, whose score is the mean over the layers; they are "
    "run once and stand in two rows."
)


def table_3_section(evidence: Evidence) -> Section:
    board = evidence.board("table3")
    found: list[str | Table | Figure] = [*unfinished(evidence, "table3")]
    if board is None:
        return Section("Table III: ablation", found)
    printed = {
        one.name: printed_3(one.like) if one.printed else {} for one in map(evidence.design.data, evidence.design.pair)
    }
    found += [ALIKE, *parts_in_words(evidence, evidence.design.pair), *departures_in_words(board, printed)]
    found += resolved_in_words(board)
    worth = worth_table(board, printed)
    found += [worth] if worth else []
    for data in evidence.design.pair:
        one = evidence.design.data(data)
        if one.name not in board.data:
            continue
        name, title = f"table-3-{data}", f"{one.name}: ours beside the paper"
        theirs = printed[one.name]
        found.append(beside_paper(board, one.name, "lightgcn", theirs, AT_20, name=name, title=title, same=one.same))
        found.append(bars(board, one.name, board.of("lightgcn"), f"ablation, {one.name}", AT_20))
        drawn = near_differences(board, one.name, f"ablation, {one.name}", f"{one.name}, its variants")
        found += [drawn] if drawn else []
    pairs = pairwise_table(board, AT_20, METHOD, name="table-3-pairs", title="over seeds")
    return Section("Table III: ablation", [*found, *([pairs] if pairs else [])])
