"""The study's tables and figures, one file for each part; the report and docs/results.md are made of them."""

from reproduction.evidence import Evidence
from sahcns.lab import Figure, Table

Blocks = list[str | Table | Figure]


def unfinished(evidence: Evidence, part: str) -> Blocks:
    """A sentence where something of a part is missing."""
    progress = evidence.progress[part]
    if progress.complete:
        return []
    counts = f"{progress.count} of {progress.wanted} {progress.unit}"
    return [f"{progress.state.capitalize()} ({counts}); `make reproduce ONLY={part}` runs the rest."]
