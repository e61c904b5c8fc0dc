"""How far a search is: a live view on a terminal, a line for each trial elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sahcns.cli.console import tell
from sahcns.cli.progress import clock, live_view

if TYPE_CHECKING:
    from sahcns.lab.tune.search import Search
    from sahcns.lab.tune.tune import SearchProgress


@contextmanager
def tune_progress(lines: Sequence[str], quiet: bool = False) -> "Iterator[Callable[[SearchProgress], None] | None]":
    """A function for `tune(watch=…)`, which says `lines` when the search begins; None if quiet."""
    if quiet:
        yield None
        return
    unsaid = list(lines)
    with live_view() as show:

        def watch(progress: "SearchProgress") -> None:
            if show is not None:
                show(*_counts(progress.search), *live_lines(progress), above=unsaid)
            else:
                for line in [*unsaid, *([trial_line(progress)] if progress.trial is not None else [])]:
                    tell(line)
            unsaid.clear()

        yield watch


def trial_line(progress: "SearchProgress") -> str:
    """`sahc 7 of 20: alpha=0.3: recall@20 12.34% at epoch 40; best 12.51% with alpha=0.1; 27 of 61 trials, 0:42 left`."""
    search, trial = progress.search, progress.trial
    assert trial is not None
    if trial.value is None:
        result = f"failed: {trial.error}" if trial.error else trial.state
    else:
        cut = ", then cut off" if trial.state == "pruned" else ""
        result = f"{search.monitor} {trial.value:.2%} at epoch {trial.epoch}{cut}"
    name, settings = trial.sampler, f": {trial.label}" if trial.point else ""
    at = f"{name} {search.count_ended(name)} of {search.wanted(name)}{settings}"
    return "; ".join(filter(None, [f"{at}: {result}", _best(progress), _overall(search)]))


def live_lines(progress: "SearchProgress") -> tuple[str, str, str]:
    """How far the search is; the sampler's best; what is being tried."""
    from sahcns.lab.tune.space import short

    search, name = progress.search, progress.sampler or progress.search.samplers[0]
    now = ", ".join(f"{key}={short(value)}" for key, value in progress.point.items()) or "defaults"
    at = "" if progress.entry is None else f" · epoch {progress.entry['epoch']}"
    return (
        f"{name} {min(search.count_ended(name) + 1, search.wanted(name))} of {search.wanted(name)} · {_overall(search)}",
        _best(progress) or f"no {search.monitor} yet",
        f"now {now}{at}",
    )


def seconds_left(search: "Search") -> float | None:
    """By the mean of a sampler's own trials, or of all where it has none yet, shared by the processes at work."""
    times = {name: [t.seconds for t in search.of(name) if t.has_ended and t.seconds] for name in search.samplers}
    everyone = [seconds for own in times.values() for seconds in own]
    if not everyone:
        return None
    left = 0.0
    for name, own in times.items():
        left += sum(own or everyone) / len(own or everyone) * max(0, search.wanted(name) - search.count_ended(name))
    return left / max(1, sum(trial.state == "running" for trial in search.trials))


def _best(progress: "SearchProgress") -> str:
    best = progress.search.best(progress.sampler) if progress.sampler else None
    return f"best {best.value:.2%} with {best.label}" if best is not None and best.point else ""


def _counts(search: "Search") -> tuple[int, int]:
    """Trials that have ended, and how many there will be."""
    return sum(map(search.count_ended, search.samplers)), sum(map(search.wanted, search.samplers))


def _overall(search: "Search") -> str:
    (done, total), left = _counts(search), seconds_left(search)
    return f"{done} of {total} trials" + ("" if left is None or done == total else f", about {clock(left)} left")
