"""Table IV: the nine methods on NGCF and SimGCL."""

from reproduction.evidence import Evidence
from reproduction.methods import NINE
from reproduction.published import printed_4
from reproduction.scores import AT_20, RECALL
from reproduction.sections import Blocks, unfinished
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
from sahcns.lab import Section, Table

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


def table_4_section(evidence: Evidence) -> Section:
    blocks: Blocks = unfinished(evidence, "table4")
    places = [
        Place("table4", one.folder, backbone)
        for backbone in NAMES
        for one in evidence.design.pair_sets
        if evidence.methods("table4", one.folder, RECALL, backbone=backbone)
    ]
    if places:
        blocks += [backbones_table(evidence), *resolved_in_words(evidence, places)]
    for place in places:
        one = evidence.design.data(place.data)
        numbers = printed_4(place.backbone, one.like) if one.printed else {}
        name, title = (
            f"table4-{place.backbone}-{one.folder}",
            f"{NAMES[place.backbone]}, {one.name}: ours beside the paper",
        )
        blocks.append(beside_paper(evidence, place, one, numbers, AT_20, name, title))
    table = pairs_table(evidence, places, "table4-pairs")
    return Section("Table IV: other backbones", [*blocks, *([table] if table else [])])
