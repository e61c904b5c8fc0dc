"""What has been run, part by part; and the sentence that stands in the place of what has not."""

from sahcns.reports.parts import Cell, Section, Table
from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.experiments import GRIDS, OTHERS

TITLES = {"tuning": OTHERS["tuning"], **{part.name: part.title for part in GRIDS}, **OTHERS}


def unfinished(evidence: Evidence, part: str) -> list[str]:
    """A sentence where something is missing, else nothing."""
    standing = evidence.standing(part)
    if standing.complete:
        return []
    if not standing.found:
        return [f"Not run yet (0 of {standing.wanted} {standing.what}); `sahcns reproduce … --only {part}` runs it."]
    return [
        f"Not finished: {standing.found} of {standing.wanted} {standing.what}. What follows is what there is; "
        f"`sahcns reproduce … --only {part}` runs the rest."
    ]


def standing_section(evidence: Evidence) -> Section:
    rows: list[list[Cell | str]] = []
    for name, title in TITLES.items():
        standing = evidence.standing(name)
        state = "complete" if standing.complete else "not run yet" if not standing.found else "not finished"
        rows.append([title, name, state, f"{standing.found:,}", f"{standing.wanted:,}", standing.what])
    table = Table(
        "parts",
        "Parts of the study",
        ["part", "--only", "state", ">there", ">of", "of what"],
        rows,
        "Runs that several parts share are made once and counted in each of them.",
    )
    return Section("What has been run", [table])
