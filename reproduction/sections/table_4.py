"""Table IV: the nine methods on NGCF and SimGCL."""

from reproduction.evidence import Evidence
from reproduction.methods import NINE
from reproduction.published import printed_4
from reproduction.scores import AT_20
from reproduction.sections import Blocks
from reproduction.sections.comparison import (
    Column,
    Place,
    beside_paper,
    methods_table,
    ours,
    pairs_table,
    printed,
    resolved_in_words,
)
from reproduction.sections.table_2 import TWINS
from sahcns.lab import Table

NAMES = {"ngcf": "NGCF", "simgcl": "SimGCL"}


def backbones_table(evidence: Evidence) -> Table:
    columns: dict[str, Column] = {}
    for backbone, shown in NAMES.items():
        for one in evidence.design.pair_sets:
            columns[f"{shown}, {one.name}"] = ours(evidence, Place("table4", one.folder, backbone))
            if one.printed and one.same:
                columns[f"{shown}, {one.name}, paper"] = printed(printed_4(backbone, one.like))
    caption = f"{TWINS} The paper gives no settings of these backbones; SAHC-NS is as tuned on LightGCN."
    return methods_table("table4", "Nine methods on other backbones", NINE, columns, caption)


def table_4_blocks(evidence: Evidence) -> Blocks:
    places = [Place("table4", one.folder, backbone) for backbone in NAMES for one in evidence.design.pair_sets]
    blocks: Blocks = [backbones_table(evidence), *resolved_in_words(evidence, places)]
    for place in places:
        one = evidence.design.data(place.data)
        blocks.append(beside_paper(evidence, place, printed_4(place.backbone, one.like) if one.printed else {}, AT_20))
    return [*blocks, pairs_table(evidence, places, "table4-pairs")]
