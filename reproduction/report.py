"""The whole study as one report, rebuilt from the small files in a folder; nothing is trained and no torch is needed."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from reproduction.claims import BEYOND, CLAIMS, Judgement, counts_in_words, judge
from reproduction.evidence import Evidence, NotRun
from reproduction.experiments import TITLES
from reproduction.methods import METHOD
from reproduction.scores import MARGIN
from reproduction.sections import alike, inside, methods, settings
from reproduction.sections.tables import Blocks, compared, differences_figure
from reproduction.verdicts import VERDICTS, Instance
from sahcns.lab import Figure, Report, Section, Table, joined

MANY = f"Each method minus {METHOD}, many seeds"
MINIATURE = "A miniature: small models, few epochs, another set than the paper's. It shows that all parts run."
RULES = (
    "A difference holds or does not hold where a paired t-test over the same seeds resolves it, p < 0.05 after Holm over the "
    "cells of the claim; otherwise it is not resolved. That SAHC-NS is first is tested against the strongest other method of "
    "a cell; that another is ahead of it is corrected over all methods and cells, since the strongest of many equals is the "
    "luckiest. What is not resolved is equivalent where two one-sided t-tests over three seeds or more resolve, after Holm "
    f"over the cells, that the difference is less than {MARGIN:g} points either way. A claim fails where it fails in one cell, "
    "and holds, or is equivalent, where it does so in all. A share that the paper prints for "
    "Yelp is not resolved by Yelp-like, which is another set."
)


class Shown(NamedTuple):
    """A section of the report: what docs/results.md shows too, and what only the report has."""

    title: str
    part: str  # of the study
    short: Callable[[Evidence], Blocks] | None
    more: Callable[[Evidence], Blocks] | None = None


SECTIONS = (
    Shown("Table II: nine methods on three sets", "table2", methods.nine, methods.nine_beside),
    Shown("Equal tuning, equal pools", "equal", methods.equal, partial(compared, part="equal")),
    Shown("Equal tuning of everything", "alike", alike.everything),
    Shown("Baselines without gradient", "baselines", alike.without_gradient),
    Shown("The size of the pool", "pools", settings.pools, settings.pools_figure),
    Shown("Table III: SAHC-NS without one of its parts", "table3", methods.parts, methods.parts_beside),
    Shown("Many seeds", "power", methods.many_seeds, partial(compared, part="power", figure=MANY)),
    Shown("Fig. 4: how much of each part", "figure4", settings.sweep, settings.sweep_figures),
    Shown("Table IV: other backbones", "table4", methods.backbones, partial(compared, part="table4")),
    Shown("Choices of the protocol", "choices", settings.choices),
    Shown("Other splits", "splits", settings.splits),
    Shown("Fig. 3: accuracy against time", "table2", None, inside.figure_3),
    Shown("Inside the samplers: Figs 1 and 5", "mechanisms", None, inside.mechanisms),
    Shown("Figs 1 and 5 under other readings", "mechanisms", None, inside.other_readings),
    Shown("Efficiency", "efficiency", None, inside.efficiency),
)


def study_report(evidence: Evidence) -> Report:
    """Every table and figure of the study; what was not run is named."""
    judgements, beyond = judge(evidence), judge(evidence, BEYOND)
    title = f"Each method minus {METHOD}, tuned alike with equal pools"
    figure = differences_figure(evidence, evidence.places("equal"), title)
    sections = [
        Section(
            "Claim by claim", [claims_table(judgements, "The paper's claims"), claims_table(beyond, "Beyond"), RULES]
        ),
        Section("Paper and ours, cell by cell", cells_tables([*judgements, *beyond])),
        *(_section(evidence, shown) for shown in SECTIONS),
        Section("What has been run", [progress_table(evidence)]),
    ]
    lead: list[Table | Figure] = [figure, verdicts_table(judgements)]
    words = [counts_in_words(judgements)]
    words += [] if any(one.printed for one in evidence.design.sets) else [MINIATURE]
    words += [settings.settings_in_words(evidence), *missing_parts(evidence)]
    return Report(evidence.design.title, words, sections, facts(evidence), lead=lead)


def _section(evidence: Evidence, shown: Shown) -> Section:
    """With a sentence where something of its part is missing."""
    progress, content = evidence.progress[shown.part], Blocks()
    if not progress.complete:
        content.append(f"Not finished ({progress}).")
    for blocks in (shown.short, shown.more):
        with suppress(NotRun):
            content += blocks(evidence.on_known_sets) if blocks and progress.there else []
    return Section(shown.title, [_plain(block) if isinstance(block, str) else block for block in content])


def _plain(text: str) -> str:
    """Without links, which lead nowhere from the page."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)


def cells_tables(judgements: Sequence[Judgement]) -> list[Table]:
    """For each table and figure of the paper the cells of its claims, each with the number of its claim."""
    cells: dict[str, list[tuple[int, Instance]]] = {}
    for at, one in enumerate(judgements, 1):
        cells.setdefault(one.claim.source, []).extend((at, part) for part in one.instances)
    columns = ["claim", "where", "paper", "ours", "verdict"]
    rows = {source: [[str(at), *part] for at, part in parts] for source, parts in cells.items() if parts}
    return [Table(f"cells-{one}", one[:1].upper() + one[1:], columns, lines) for one, lines in rows.items()]


def missing_parts(evidence: Evidence) -> list[str]:
    """`Not finished: Table II (5 of 150 runs). …`; nothing where all is there."""
    missing = {name: one for name, one in evidence.progress.items() if not one.complete}
    parts = joined([f"{TITLES[name].partition(':')[0]} ({one})" for name, one in missing.items()])
    words = f"Not finished: {parts}. `make reproduce ONLY={','.join(missing)}` runs the rest."
    return [words] * bool(missing)


def verdicts_table(judgements: Sequence[Judgement]) -> Table:
    """How many claims hold, and where in the paper they stand."""
    rows = []
    for verdict in VERDICTS:
        sources = Counter(one.claim.source for one in judgements if one.verdict == verdict)
        where = ", ".join(source + f" ({count})" * (count > 1) for source, count in sources.items())
        rows += [[verdict, str(sources.total()), where]] * bool(sources)
    return Table("verdicts", "The paper's claims", ["verdict", ">claims", "where in the paper"], rows)


def claims_table(judgements: Sequence[Judgement], title: str) -> Table:
    """A row for each claim: what it says, what became of it, and the most likely reason."""
    rows = [[one.claim.source, one.claim.words, one.verdict, one.counts, _plain(one.reason)] for one in judgements]
    return Table(title, title, ["where", "claim", "verdict", "cells", "most likely reason"], rows)


def progress_table(evidence: Evidence) -> Table:
    progress = evidence.progress.items()
    rows = [[TITLES[name], name, f"{one.there:,}", f"{one.wanted:,}", one.unit] for name, one in progress]
    caption = "Runs that several parts share are made once and counted in each of them."
    return Table("parts", "Parts of the study", ["part", "ONLY=", ">there", ">of", "of what"], rows, caption)


def facts(evidence: Evidence) -> list[tuple[str, str]]:
    """What one must know to trust the report, and to repeat it."""
    runs = evidence.results.values()
    machines = {", ".join(str(run.machine.get(name)) for name in ("device", "torch", "kernels")) for run in runs}
    if not runs:
        return []
    return [
        ("Runs", runs_in_words(evidence)),
        ("Claims", f"{len(CLAIMS)} of the paper and {len(BEYOND)} beyond it"),
        *((f"Data {name}", f"fingerprint {mark}") for name, mark in evidence.prints.items()),
        ("Backbone", ", ".join(f"{name} {value}" for name, value in evidence.design.backbone().items())),
        ("Protocol", ", ".join(f"{name} {value}" for name, value in evidence.design.protocol.items())),
        ("Device, torch, kernels", "; ".join(sorted(machines))),
        ("To repeat it", "make reproduce"),
    ]


def runs_in_words(evidence: Evidence) -> str:
    """`1,180 runs on NVIDIA H200, 89 minutes in all`."""
    runs = evidence.results.values()
    devices = " and ".join(sorted({str(run.machine.get("device", "unknown")) for run in runs}))
    minutes = sum(run.seconds.get("total", 0.0) / run.processes for run in runs) / 60
    return f"{len(runs):,} runs on {devices}, {minutes:.0f} minutes in all without the searches"
