"""The whole study as one report, rebuilt from the small files in a folder; nothing is trained and no torch is needed."""

import os
import re
from collections import Counter
from collections.abc import Sequence

from reproduction.claims import BEYOND, Judged, judge
from reproduction.evidence import Evidence
from reproduction.sections.choices import choices_section
from reproduction.sections.data import data_section
from reproduction.sections.efficiency import efficiency_section
from reproduction.sections.figure_3 import figure_3_section
from reproduction.sections.figure_4 import figure_4_section
from reproduction.sections.levels import level_section
from reproduction.sections.mechanisms import mechanisms_section
from reproduction.sections.other_readings import other_readings_section
from reproduction.sections.pools import pools_section
from reproduction.sections.splits import splits_section
from reproduction.sections.standing import TITLES, standing_section
from reproduction.sections.table_2 import readings_in_words, table_2_board, table_2_section
from reproduction.sections.table_3 import table_3_section
from reproduction.sections.table_4 import table_4_section
from reproduction.sections.tuning import settings_in_words, tuning_section
from reproduction.verdicts import UNRESOLVED, VERDICTS
from sahcns.lab import Cell, Report, Section, Table, boards_of, facts, joined


def paper_report(folder: str | os.PathLike[str]) -> Report:
    """Every table and figure of the study from the results in a folder; what was not run is named."""
    evidence = Evidence.of(folder)
    judged, beyond = judge(evidence), judge(evidence, BEYOND)
    sections = [
        Section("Does it hold?", [claims_table(judged), claims_table(beyond, "beyond", "Beyond the paper")]),
        standing_section(evidence),
        data_section(evidence),
        table_2_section(evidence),
        table_3_section(evidence),
        table_4_section(evidence),
        mechanisms_section(evidence),
        other_readings_section(evidence),
        figure_3_section(evidence),
        figure_4_section(evidence),
        efficiency_section(evidence),
        level_section(evidence, "equal"),
        level_section(evidence, "power"),
        splits_section(evidence),
        pools_section(evidence),
        choices_section(evidence),
        tuning_section(evidence),
    ]
    results = list(evidence.results.values())
    known = facts(boards_of(results), "sahcns reproduce prepared --out results") if results else []
    return Report(evidence.design.title, list(summary(evidence, judged, beyond)), sections, known)


def miniature(evidence: Evidence) -> list[str]:
    """What must be said of a study on no set of the paper's."""
    if any(one.printed for one in evidence.design.sets):
        return []
    return ["A miniature: small models, few epochs, another set than the paper's. It shows that all parts run."]


def summary(evidence: Evidence, judged: Sequence[Judged], beyond: Sequence[Judged]) -> list[str]:
    """What came out, in a few sentences made from the results; the claims themselves stand in the first table."""
    told = [counts_in_words(judged)]
    told += miniature(evidence)
    board = table_2_board(evidence)
    if board is not None:
        told += [settings_in_words(evidence), *readings_in_words(evidence, board)]
    for one in beyond:
        if one.verdict != "not run yet":
            became = f"{'is ' * (one.verdict == UNRESOLVED)}{one.verdict} ({one.ours})"
            told.append(f"{one.claim.source.capitalize()}: that {_inside(one.claim.words)} {became}.")
    if evidence.left_out:
        told.append(f"{evidence.left_out} runs by other kernels than the rest are left out of everything.")
    return [*told, standing_in_words(evidence)]


def counts_in_words(judged: Sequence[Judged]) -> str:
    """`Of 27 claims: 3 × holds, …`."""
    counts = Counter(one.verdict for one in judged)
    return f"Of {len(judged)} claims: {', '.join(f'{counts[one]} × {one}' for one in VERDICTS if counts[one])}."


def standing_in_words(evidence: Evidence) -> str:
    """`Complete: Table II. Not finished: … Not run yet: …`."""
    groups: dict[str, list[str]] = {"Complete": [], "Not finished": [], "Not run yet": []}
    for name, title in TITLES.items():
        standing = evidence.standing(name)
        state = "Complete" if standing.complete else "Not finished" if standing.found else "Not run yet"
        counts = "" if standing.complete else f" ({standing.found} of {standing.wanted} {standing.what})"
        groups[state].append(f"{title.partition(':')[0]}{counts}")
    return " ".join(f"{state}: {joined(names)}." for state, names in groups.items() if names)


def claims_table(judged: Sequence[Judged], name: str = "claims", title: str = "Claim by claim") -> Table:
    """A row for each claim: what it says, what became of it, and why where it did not simply hold."""
    rows: list[list[Cell | str]] = []
    for one in judged:
        hint = "; ".join(f"{part.where}: {part.ours} ({part.verdict})" for part in one.instances)
        why = _plain(" ".join(filter(None, [one.reason, one.besides])))
        rows.append([one.claim.source, one.claim.words, Cell(one.ours, hint=hint), one.verdict, why])
    return Table(
        name,
        title,
        ["where", "claim", "ours", "verdict", "most likely reason, and what else to know"],
        rows,
        "A difference holds or fails only where a paired t-test over the same seeds resolves it, p < 0.05 after Holm over "
        "the claim's cells, and over all rivals where one is ahead of SAHC-NS; a claim fails where it fails in any cell, "
        "and holds where it holds in all. A share that the paper prints for a set is not resolved on another one.",
    )


def _inside(sentence: str) -> str:
    """A sentence as a part of another: `with many seeds SAHC-NS is best`."""
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def _plain(text: str) -> str:
    """Without links, which lead nowhere from the page."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
