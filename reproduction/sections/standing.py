"""What has been run, part by part; and the sentence that stands in the place of what has not."""

from reproduction.evidence import Evidence
from reproduction.experiments import GRIDS, OTHERS
from sahcns.lab import Cell, Section, Table, joined

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


def seeds_in_words(evidence: Evidence, part: str) -> list[str]:
    """How far an unfinished part is on each set: which methods with how many seeds, and which are missing; else nothing."""
    if evidence.standing(part).complete or not evidence.standing(part).found:
        return []
    seeds = evidence.seeds(part)
    found: dict[str, dict[int, list[str]]] = {}
    for row in evidence.rows(part):
        there = sum(evidence.key(row, seed) in evidence.results for seed in seeds)
        found.setdefault(row.data, {}).setdefault(there, []).append(row.label)
    told = []
    for data, counts in found.items():
        some = [f"{n} of {len(seeds)} seeds of {joined(counts[n])}" for n in sorted(counts, reverse=True) if n]
        none = [f"nothing of {joined(counts[0])}"] if 0 in counts else []
        told.append(f"{evidence.design.data(data).name}: {'; '.join([*some, *none])}.")
    return [" ".join(["There are, in all that follows:", *told])]


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
