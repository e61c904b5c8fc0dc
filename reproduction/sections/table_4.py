"""Table IV: the nine methods on NGCF and SimGCL."""

from reproduction.beside import READINGS, beside_paper, far_from_paper
from reproduction.evidence import Evidence
from reproduction.leading import AT_20, lead_table
from reproduction.methods import METHOD
from reproduction.published import printed_4
from reproduction.sections.against import resolved_in_words
from reproduction.sections.standing import unfinished
from reproduction.sections.tuning import switched_off
from sahcns.lab import Figure, Section, Table

NAMES = {"ngcf": "NGCF", "simgcl": "SimGCL"}


def table_4_section(evidence: Evidence) -> Section:
    board = evidence.board("table4")
    found: list[str | Table | Figure] = [*unfinished(evidence, "table4")]
    if board is None:
        return Section("Table IV: other backbones", found)
    found.append(
        "α and λmax of SAHC-NS are those tuned on LightGCN, where they are tuned. The paper gives no settings of these "
        "backbones; ours are in the list of facts below."
    )
    found += [*switched_off(evidence, evidence.design.pair), *resolved_in_words(board)]
    for backbone in board.backbones:
        for data in evidence.design.pair:
            one = evidence.design.data(data)
            if not any(board.seeds(one.name, row) for row in board.of(backbone)):
                continue
            printed = printed_4(backbone, one.like) if one.printed else {}
            found += far_from_paper(board, one.name, backbone, printed) if one.same else []
            name, title = f"table-4-{backbone}-{data}", f"{NAMES[backbone]}, {one.name}: ours beside the paper"
            found.append(beside_paper(board, one.name, backbone, printed, AT_20, name=name, title=title, same=one.same))
    for reading, words in READINGS.items():
        title = f"{METHOD} against the strongest other, {words}"
        table = lead_table(board, AT_20, reading, name=f"table-4-lead-{reading}", title=title)
        found += [table] if table else []
    return Section("Table IV: other backbones", found)
