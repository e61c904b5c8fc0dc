"""A search of a second on a set of twenty films, here or in a process of its own that can be killed."""

from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sahcns.backbones import MF
from sahcns.data import Split
from sahcns.lab.tune.search import Search, Trial
from sahcns.lab.tune.tune import tune
from sahcns.samplers import DNSMN, SAHC
from sahcns.training import Protocol
from tests.lab.killing import die_at_write, forked
from tests.model.films import films

# of twenty films, the first twenty say nothing
QUICK = Protocol(epochs=3, batch=64, evaluate_every=1, learning_rate=0.05, monitor="ndcg@10")
MODEL = MF(dim=4)
PRELOAD = (__name__, "optuna")


HELD: dict[str, Any] = {"protocol.l2": (), "protocol.learning_rate": ()}


def quick(out: Path, *samplers: Any, data: Split | Path | None = None, **rest: Any) -> Search:
    """SAHC-NS and DNS(M,N) unless told otherwise, and of them their own settings alone."""
    told = {"trials": 4, "pool": (4,), "device": "cpu", "backbone": MODEL, "protocol": QUICK, **rest}
    told["search"] = HELD | rest.get("search", {})
    return tune(films() if data is None else data, samplers or (SAHC, DNSMN), out, **told)


def essence(search: Search) -> list[tuple[Any, ...]]:
    """What a search came to, without what differs from process to process: times, and trials of dead ones."""
    return [essence_of(trial) for name in search.samplers for trial in search.of(name)]


def essence_of(trial: Trial) -> tuple[Any, ...]:
    return trial.sampler, trial.state, tuple(trial.point.items()), trial.value, trial.epoch, tuple(trial.looks.items())


def searcher(out: Path, **rest: Any) -> BaseProcess:
    """A process that searches."""
    return forked(PRELOAD, _search, out, rest)


def dying_searcher(out: Path, at: int, **rest: Any) -> BaseProcess:
    """One that is killed as it brings its `at`-th piece of writing to the disk."""
    return forked(PRELOAD, _search_and_die, out, at, rest)


def _search(out: Path, rest: dict[str, Any]) -> None:
    import torch

    torch.set_num_threads(1)
    quick(out, **rest)


def _search_and_die(out: Path, at: int, rest: dict[str, Any]) -> None:
    die_at_write(at)
    _search(out, rest)
