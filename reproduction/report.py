"""The whole study as one report, rebuilt from the small files in a folder; nothing is trained and no torch is needed."""

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from reproduction.claims import BEYOND, CLAIMS, Judgement, counts_in_words, judge
from reproduction.evidence import Evidence, NotRun
from reproduction.experiments import TITLES
from reproduction.scores import joined
from reproduction.sections import Blocks
from reproduction.sections.ablation import power_blocks, table_3_blocks
from reproduction.sections.equal import equal_blocks, equal_figure
from reproduction.sections.figure_3 import figure_3_blocks
from reproduction.sections.figure_4 import figure_4_blocks, pools_blocks
from reproduction.sections.mechanisms import efficiency_blocks, mechanisms_blocks, other_readings_blocks
from reproduction.sections.nine_methods import table_2_blocks, table_4_blocks
from reproduction.sections.robustness import choices_table, splits_table
from reproduction.sections.tuning import settings_in_words, tuning_blocks
from reproduction.verdicts import VERDICTS, Instance
from sahcns.lab import Cell, Figure, Report, Section, Table

MINIATURE = "A miniature: small models, few epochs, another set than the paper's. It shows that all parts run."
RULES = (
    "A difference holds or does not hold where a paired t-test over the same seeds resolves it, p < 0.05 after Holm over the "
    "cells of the claim; otherwise it is not resolved. That SAHC-NS is first is tested against the strongest other method of "
    "a cell; that another is ahead of it is corrected over all methods and cells, since the strongest of many equals is the "
    "luckiest. A claim fails where it fails in one cell, and holds where it holds in all. A share that the paper prints for "
    "Yelp is not resolved by Yelp-like, which is another set."
)


SECTIONS: Mapping[str, tuple[str, Callable[[Evidence], Blocks]]] = {
    "Table II: the paper's protocol": ("table2", table_2_blocks),
    "Equal tuning, equal pools": ("equal", equal_blocks),
    "Many seeds": ("power", power_blocks),
    "Table III: ablation": ("table3", table_3_blocks),
    "Table IV: other backbones": ("table4", table_4_blocks),
    "Fig. 3: accuracy against time": ("table2", figure_3_blocks),
    "Fig. 4: α, λmax and N": ("figure4", figure_4_blocks),
    "Pool size": ("pools", pools_blocks),
    "Figs 1 and 5: inside the samplers": ("mechanisms", mechanisms_blocks),
    "Figs 1 and 5 under other readings": ("mechanisms", other_readings_blocks),
    "Efficiency": ("efficiency", efficiency_blocks),
    "Other splits": ("splits", lambda evidence: [splits_table(evidence)]),
    "Choices of the protocol": ("choices", lambda evidence: [choices_table(evidence)]),
    "Tuning": ("tuning", tuning_blocks),
}
"""Title → the part of the study that it shows, and its blocks."""


def study_report(folder: str | os.PathLike[str]) -> Report:
    """Every table and figure of the study from the results in a folder; what was not run is named."""
    evidence = Evidence.of(folder)
    judgements, beyond = judge(evidence), judge(evidence, BEYOND)
    lead: list[Table | Figure] = [equal_figure(evidence), verdicts_by_source(judgements)]
    claims: Blocks = [claims_table(judgements), claims_table(beyond, "beyond", "Beyond the paper"), RULES]
    cells = [cells_table(source, cells) for source, cells in cells_by_source([*judgements, *beyond]).items()]
    sections = [
        Section("Claim by claim", claims),
        Section("Paper and ours, cell by cell", cells),
        *(_section(evidence, title, part, blocks) for title, (part, blocks) in SECTIONS.items()),
        Section("What has been run", [progress_table(evidence)]),
    ]
    return Report(evidence.design.title, summary(evidence, judgements), sections, facts(evidence), lead=lead)


def _section(evidence: Evidence, title: str, part: str, blocks: Callable[[Evidence], Blocks]) -> Section:
    """With a sentence where something of its part is missing."""
    progress, content = evidence.progress[part], list[str | Table | Figure]()
    if not progress.complete:
        counts = f"{progress.count} of {progress.wanted} {progress.unit}"
        content.append(f"{progress.state.capitalize()} ({counts}); `make reproduce ONLY={part}` runs the rest.")
    if progress.count:
        with suppress(NotRun):
            content += blocks(evidence.on_known_sets())
    return Section(title, content)


def cells_by_source(judgements: Sequence[Judgement]) -> dict[str, list[tuple[int, Instance]]]:
    """Where in the paper → the cells of its claims, each with the number of its claim."""
    cells: dict[str, list[tuple[int, Instance]]] = {}
    for at, one in enumerate(judgements, 1):
        if one.instances:
            cells.setdefault(one.claim.source, []).extend((at, part) for part in one.instances)
    return cells


def cells_table(source: str, cells: Sequence[tuple[int, Instance]]) -> Table:
    rows = [[str(at), part.where, part.paper, part.ours, part.verdict] for at, part in cells]
    title = f"{source[:1].upper()}{source[1:]}"
    return Table(f"cells-{source}", title, ["claim", "where", "paper", "ours", "verdict"], rows)


def summary(evidence: Evidence, judgements: Sequence[Judgement]) -> list[str]:
    """The verdict in a sentence, then what SAHC-NS was run with and what is missing."""
    words = [counts_in_words(judgements)]
    words += [] if any(one.printed for one in evidence.design.sets) else [MINIATURE]
    words += [settings_in_words(evidence)]
    left_out = f"{evidence.left_out} runs by other kernels than the rest are left out."
    return [*words, *[left_out] * bool(evidence.left_out), *missing_parts(evidence)]


def missing_parts(evidence: Evidence) -> list[str]:
    """`Not finished: Table II (5 of 150 runs).`; nothing where all is there."""
    parts = [
        f"{TITLES[name].partition(':')[0]} ({one.count} of {one.wanted} {one.unit})"
        for name, one in evidence.progress.items()
        if not one.complete
    ]
    return [f"Not finished: {joined(parts)}."] if parts else []


def verdicts_by_source(judgements: Sequence[Judgement]) -> Table:
    """How many claims of each table and figure hold."""
    shown = [verdict for verdict in VERDICTS if any(one.verdict == verdict for one in judgements)]
    rows = []
    for source in dict.fromkeys(one.claim.source for one in judgements):
        counts = Counter(one.verdict for one in judgements if one.claim.source == source)
        rows.append([source, *(str(counts[verdict] or "") for verdict in shown)])
    total = Counter(one.verdict for one in judgements)
    rows.append(["all", *(str(total[verdict]) for verdict in shown)])
    return Table("verdicts", "The paper's claims", ["Where in the paper", *(f">{one}" for one in shown)], rows)


def claims_table(
    judgements: Sequence[Judgement], name: str = "claims", title: str = "The paper's claims, one by one"
) -> Table:
    """A row for each claim: what it says, what became of it, and the most likely reason."""
    rows: list[list[Cell | str]] = []
    for one in judgements:
        reason = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", one.reason)  # links lead nowhere from the page
        rows.append([one.claim.source, one.claim.words, one.verdict, one.counts, reason])
    return Table(name, title, ["where", "claim", "verdict", "cells", "most likely reason"], rows)


def progress_table(evidence: Evidence) -> Table:
    rows = [
        [TITLES[name], name, one.state, f"{one.count:,}", f"{one.wanted:,}", one.unit]
        for name, one in evidence.progress.items()
    ]
    caption = "Runs that several parts share are made once and counted in each of them."
    return Table("parts", "Parts of the study", ["part", "ONLY=", "state", ">there", ">of", "of what"], rows, caption)


def facts(evidence: Evidence) -> list[tuple[str, str]]:
    """What one must know to trust the report, and to repeat it."""
    runs = list(evidence.results.values())
    if not runs:
        return []
    machines = {
        (str(run.machine.get("device")), str(run.machine.get("torch")), str(run.machine.get("kernels"))) for run in runs
    }
    return [
        ("Runs", runs_in_words(evidence)),
        ("Claims", f"{len(CLAIMS)} of the paper and {len(BEYOND)} beyond it"),
        *((f"Data {name}", f"fingerprint {mark}") for name, mark in evidence.prints.items()),
        ("Backbone", _settings(evidence.design.backbone())),
        ("Protocol", _settings(evidence.design.protocol)),
        ("Device, torch, kernels", "; ".join(", ".join(one) for one in sorted(machines))),
        ("To repeat it", "make reproduce"),
    ]


def runs_in_words(evidence: Evidence) -> str:
    """`1,180 runs on NVIDIA H200, 89 minutes in all`."""
    runs = list(evidence.results.values())
    devices = " and ".join(sorted({str(run.machine.get("device", "unknown")) for run in runs}))
    minutes = sum(run.seconds.get("total", 0.0) / run.processes for run in runs) / 60
    return f"{len(runs):,} runs on {devices}, {minutes:.0f} minutes in all without the searches"


def _settings(values: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
