"""Where a search stands: a live view on a terminal, a line for each trial elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sahcns.cli.console import err, tell
from sahcns.cli.train_progress import clock

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sahcns.lab.tuning.trials import Search
    from sahcns.lab.tuning.tune import Standing

Watch = Callable[["Standing"], None]


@contextmanager
def tune_progress(begin: Sequence[str], quiet: bool = False) -> Iterator[Watch | None]:
    """A function for `tune(watch=…)`, which says `begin` when the search begins; None, and nothing to see, if quiet."""
    if quiet:
        yield None
        return
    from rich.live import Live

    said, live = False, Live(console=err(), transient=True, refresh_per_second=5)

    def watch(standing: "Standing") -> None:
        nonlocal said
        if not said:
            said = True
            for line in (*begin, *made_again(standing.search)):
                tell(line)
            if live.console.is_terminal:
                live.start()
        if live.is_started:
            live.update(_view(standing))
        elif standing.ended is not None:
            tell(ended(standing))

    try:
        yield watch
    finally:
        live.stop()


def done(search: "Search") -> tuple[int, int]:
    """Trials that have come to their end, and how many there will be."""
    ended = sum(trial.ended for name in search.samplers for trial in search.of(name))
    return ended, sum(search.wanted(name) for name in search.samplers)


def made_again(search: "Search") -> list[str]:
    """What a search without pruning does with trials that were cut off in it before."""
    there = [(trial.sampler, trial.point) for trial in search.trials if trial.counts]
    cut = [trial for trial in search.trials if trial.state == "replaced" and (trial.sampler, trial.point) not in there]
    return [f"{len(cut)} trials that were cut off before are made again, to their end"] if cut else []


def seconds_left(search: "Search") -> float | None:
    """By the mean of a sampler's own trials, or of all where it has none yet, shared by those who are at it."""
    took = {name: [t.seconds for t in search.of(name) if t.ended and t.seconds] for name in search.samplers}
    everyone = [seconds for own in took.values() for seconds in own]
    if not everyone:
        return None
    left = 0.0
    for name, own in took.items():
        ended = sum(trial.ended for trial in search.of(name))
        mean = sum(own or everyone) / len(own or everyone)
        left += mean * max(0, search.wanted(name) - ended)
    running = sum(trial.state == "running" for trial in search.trials)
    return left / max(1, running)


def ended(standing: "Standing") -> str:
    """`sahc 7 of 20: alpha=0.3 …: recall@20 12.34 % at epoch 40; best 12.51 %; 27 of 61, 0:42 left`."""
    search, trial = standing.search, standing.ended
    assert trial is not None
    from sahcns.lab.tuning.tables import said_of

    here = sum(other.ended for other in search.of(trial.sampler))
    if trial.error:
        came = f"failed: {trial.error}"
    elif trial.value is None:
        came = trial.state
    else:
        cut = ", then cut off" if trial.state == "pruned" else ""
        came = f"{search.monitor} {trial.value:.2%} at epoch {trial.epoch}{cut}"
    at = f"{trial.sampler} {here} of {search.wanted(trial.sampler)}" + (f": {said_of(trial)}" if trial.point else "")
    parts = [f"{at}: {came}", _best(standing)]
    return "; ".join([part for part in parts if part] + [_overall(search)])


def lines(standing: "Standing") -> tuple[str, str, str]:
    """Where the search stands; the sampler's best; what is being tried. Each fits into 80 columns."""
    from sahcns.lab.tuning.space import short

    search, name = standing.search, standing.sampler or standing.search.samplers[0]
    here = sum(trial.ended for trial in search.of(name))
    now = ", ".join(f"{key}={short(value)}" for key, value in standing.settings.items()) or "as it is"
    at = "" if standing.entry is None else f" · epoch {standing.entry['epoch']}"
    return (
        f"{name} {min(here + 1, search.wanted(name))} of {search.wanted(name)} · {_overall(search)}",
        _best(standing) or f"no {search.monitor} yet",
        f"now {now}{at}",
    )


def _best(standing: "Standing") -> str:
    from sahcns.lab.tuning.tables import said_of

    best = standing.search.best(standing.sampler) if standing.sampler else None
    if best is None or best.value is None or not best.point:
        return ""
    return f"best {best.value:.2%} with {said_of(best)}"


def _overall(search: "Search") -> str:
    ended, total = done(search)
    left = seconds_left(search)
    return f"{ended} of {total} trials" + ("" if left is None or ended == total else f", about {clock(left)} left")


def _view(standing: "Standing") -> "RenderableType":
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    ended, total = done(standing.search)
    texts = [Text(line, no_wrap=True, overflow="ellipsis") for line in lines(standing)]
    return Group(ProgressBar(total=total, completed=ended, width=48), *texts)
