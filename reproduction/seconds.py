"""Fig. 3 in numbers: who has reached what on validation after how many seconds of training, and which sources were timed."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from reproduction.evidence import Evidence
from reproduction.methods import METHOD, UNTUNED
from reproduction.sections.table_2 import table_2_board
from sahcns import Result

NEAR = 0.99  # of a run's best, which is as good as reached


@dataclass(frozen=True)
class Reached:
    """Recall@20 on validation of each method by seed: the best until a second, and the best of all."""

    when: float
    then: Mapping[str, Mapping[int, float]]
    in_the_end: Mapping[str, Mapping[int, float]]


def reached(evidence: Evidence, name: str) -> Reached | None:
    """On a set, at the time when SAHC-NS has found its best epoch; None while it was not run."""
    board = table_2_board(evidence)
    own = board.row("lightgcn", METHOD) if board is not None else None
    if board is None or own is None or not board.clocked(name, own):
        return None
    when = fmean(_seconds_to_best(run) for run in board.clocked(name, own).values())
    runs = {row.method: clocked for row in board.of("lightgcn") if (clocked := board.clocked(name, row))}
    return Reached(
        when,
        {method: {seed: _until(run, when) for seed, run in by_seed.items()} for method, by_seed in runs.items()},
        {method: {seed: max(_looks(run)) for seed, run in by_seed.items()} for method, by_seed in runs.items()},
    )


def pace(evidence: Evidence) -> str:
    """Who is ahead then and in the end, and seconds until runs have come near to their own best, in words."""
    return " ".join(filter(None, [_leaders(evidence), _needed(evidence)]))


def clock_in_words(evidence: Evidence) -> str:
    """What the seconds are, and by which sources they were taken where those differ."""
    board = table_2_board(evidence)
    sources = {one.name: board.timed_by(one.name) for one in evidence.design.sets} if board is not None else {}
    told = [f"{name}: {by}" for name, by in sources.items() if by]
    words = (
        "Recall@20 is that on validation, the best so far. Seconds are those of training alone, without looking at "
        "validation: epochs times the median one."
    )
    if told:
        words += (
            " Not all were timed by the same sources, and what was made faster in between is not in all of them, so these "
            f"seconds are for orientation. {'. '.join(told)}."
        )
    return words


def _leaders(evidence: Evidence) -> str:
    told = []
    for one in evidence.design.sets:
        found = reached(evidence, one.name)
        if found is not None:
            then, in_the_end = (_first(by_method) for by_method in (found.then, found.in_the_end))
            told.append(f"{one.name} {then} and {in_the_end}")
    return f"Highest at that second, and in the end: {'; '.join(told)}." if told else ""


def _first(by_method: Mapping[str, Mapping[int, float]]) -> str:
    return max(by_method, key=lambda method: fmean(by_method[method].values()))


def _needed(evidence: Evidence) -> str:
    board, told = table_2_board(evidence), []
    if board is None:
        return ""
    for one in evidence.design.sets:
        needed = {
            row.method: fmean(_seconds_to_near(run) for run in runs.values())
            for row in board.of("lightgcn")
            if row.method != UNTUNED and (runs := board.clocked(one.name, row))
        }
        if needed:
            order = sorted(needed, key=lambda method: needed[method])
            told.append(f"{one.name} {', '.join(f'{method} {needed[method]:.1f}' for method in order)}")
    near = f"{NEAR:.0%} of its own best Recall@20 on validation"
    return f"Measured, seconds until a run has {near.replace('%', ' %')}: {'; '.join(told)}." if told else ""


def _looks(run: Result) -> list[float]:
    return [float(value) for value in run.history["looks"]["recall@20"]]


def _seconds_to_best(run: Result) -> float:
    epochs: list[int] = run.history["looks"]["epoch"]
    return run.look_seconds[epochs.index(run.best_epoch)]


def _seconds_to_near(run: Result) -> float:
    looks = _looks(run)
    first = next(at for at, value in enumerate(looks) if value >= NEAR * max(looks))
    return run.look_seconds[first]


def _until(run: Result, when: float) -> float:
    return max((value for value, at in zip(_looks(run), run.look_seconds, strict=True) if at <= when), default=0.0)
