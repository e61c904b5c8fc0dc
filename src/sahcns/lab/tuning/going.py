"""How each search went: what came to its end, what was cut off and when, and how close the best are to each other."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from sahcns.lab.report.parts import Cell, Table
from sahcns.lab.tuning.tables import percent, said_of
from sahcns.lab.tuning.trials import Search, Trial

FEW = 5  # of the best, whose distance tells how sharp a choice is


def going_table(search: Search) -> Table:
    """A row for each sampler with something to tune; distances only of those that are finished."""
    rows: list[list[Cell | str]] = []
    for name in search.samplers:
        if search.spaces[name]:
            cut = [trial for trial in search.of(name) if trial.state == "pruned"]
            whole = len(search.complete(name))
            rows.append([name, state_in_words(search, name), str(whole), str(len(cut)), epochs_in_words(cut)])
            told = foretold(search, name)
            rows[-1] += [
                "" if told is None else f"{told:+.2f}",
                _distance(search, name, 2),
                _distance(search, name, FEW),
            ]
    columns = ["sampler", "search", ">to the end", ">cut off", "at epochs", ">foretold", ">best two", ">best five"]
    caption = (
        "at epochs: where trials were cut off, in brackets how many where it is more than one. foretold: rank correlation, "
        "over trials that ran to their end, between what they had reached after half the patience and what they came to; "
        "where it is not near 1 pruning cuts off the wrong ones, and where it is below 0 the best of all. best two, best "
        f"five: how far the best trials are apart, in points of {search.monitor} on validation, with one seed for all."
    )
    return Table("going", "How each search went", columns, rows, caption)


def state_in_words(search: Search, name: str) -> str:
    """`finished`, `not begun`, or `23 of 49 trials`."""
    if search.finished(name):
        return "finished"
    ended = sum(trial.ended for trial in search.of(name))
    return f"{ended} of {search.wanted(name)} trials" if search.of(name) else "not begun"


def epochs_in_words(trials: Iterable[Trial]) -> str:
    """`25 (31), 40, 95`: at which epochs trials were cut off, in brackets how many."""
    counts = Counter(trial.last_look for trial in trials if trial.last_look is not None)
    return ", ".join(f"{epoch} ({counts[epoch]})" if counts[epoch] > 1 else f"{epoch}" for epoch in sorted(counts))


def foretold(search: Search, name: str) -> float | None:
    """Spearman's ρ between the best look until half the patience and the final value; None of fewer than five trials."""
    early = max(1, search.protocol.get("patience", 0) // 2) * search.protocol.get("evaluate_every", 1)
    done = [trial for trial in search.complete(name) if trial.looks and min(trial.looks) <= early]
    if len(done) < FEW:
        return None
    begun = [max(value for epoch, value in trial.looks.items() if epoch <= early) for trial in done]
    ends = [trial.value or 0.0 for trial in done]
    if len(set(begun)) == 1 or len(set(ends)) == 1:
        return None
    return statistics.correlation(_ranks(begun), _ranks(ends))


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1 on; equals share the mean of their places."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def apart(search: Search, name: str, count: int = FEW) -> float | None:
    """How far the best `count` complete trials are apart, as a share; None where there are fewer, or more may come."""
    values = [trial.value for trial in search.complete(name) if trial.value is not None]
    return values[0] - values[count - 1] if search.finished(name) and len(values) >= count else None


def _distance(search: Search, name: str, count: int) -> Cell | str:
    far = apart(search, name, count)
    if far is None:
        return ""
    named = [f"{said_of(trial)}: {percent(trial.value or 0.0)}" for trial in search.complete(name)[:count]]
    return Cell(percent(far), hint="; ".join(named))
