"""The folder of a search, which any number of processes may share: who takes which trial, and how each ended.

All of it stands in `trials.json`, written whole under a lock by whoever takes a trial or ends one, so that the budget is
kept exactly. It is no Optuna storage: the lock of Optuna's journal outlives a killed process, its heartbeat and retry need
a database, and the page of a search is made where there is no Optuna. A trial whose process died is marked lost, does not
count and is made again; so is a pruned one, once the search goes on without pruning.
"""

import contextlib
import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sahcns.errors import DataError
from sahcns.lab.grid.locks import LOCKS, lock, sweep, wait_for_lock
from sahcns.lab.grid.result import RUNS, UNFINISHED
from sahcns.lab.tune.propose import propose
from sahcns.lab.tune.search import TRIALS, Search, Trial, read_search
from sahcns.lab.tune.space import Space


@contextlib.contextmanager
def open_folder(path: Path, terms: Mapping[str, Any]) -> "Iterator[SearchFolder]":
    """The folder as one process at work sees it; one that holds something else is refused.

    terms  what all its trials have in common: data, backbone, objective, protocol, seed, trial_seeds, kernels, pruning
    """
    if path.exists() and not path.is_dir():
        raise DataError(f"{path} is a file, not a folder; choose another place for the search")
    names = sorted(one.name for one in path.iterdir()) if path.is_dir() else []
    foreign = [name for name in names if name not in (LOCKS, UNFINISHED) and not name.startswith(".")]
    if foreign and not {TRIALS, RUNS} & set(names):  # a search may stand beside a comparison
        raise DataError(f"{path} holds {foreign[0]!r} and no search; choose another folder")
    sweep(path)
    worker = f"worker-{secrets.token_hex(8)}"
    with lock(path, worker):
        yield SearchFolder(path, _plain(terms), worker)


@dataclass(frozen=True)
class SearchFolder:
    """Takes trials for this process, `worker`; made by `open_folder`."""

    path: Path
    terms: dict[str, Any]
    worker: str

    def enrol(
        self,
        spaces: Sequence[Space],
        budget: int,
        code: Mapping[str, str | None] | None = None,
        epochs: int | None = None,
    ) -> Search:
        """Begin or take up the samplers' searches; a folder with trials made under other terms is refused.

        budget, epochs  for each sampler: how many trials, and after how many epochs no further one is begun
        code            digests of the user's own files that the samplers come from
        """
        with self._alone():
            new = Search(**self.terms, folder=self.path)
            there = read_search(self.path) if (self.path / TRIALS).exists() else new
            self._mark_dead(there.trials)
            if difference := _difference(there, self.terms):
                self._refuse(there.trials, difference)
                there = new  # nothing came of it
            search = replace(there, **self.terms)
            for space in spaces:
                name, own = space.name, (code or {}).get(space.name)
                trials = [one for one in search.trials if one.sampler == name]
                rest = dict(space.rest)
                for one in trials:
                    rest |= {key: value for key, value in one.settings.items() if key in rest}
                same_space = there.spaces.get(name) == space.to_plain() and _plain(rest) == _plain(space.rest)
                if name in there.spaces and not (same_space and there.code.get(name) == own):
                    what = "before its file was changed" if same_space else "in another search space"
                    self._refuse(trials, f"of {name} {what}")
                    search.trials[:] = [one for one in search.trials if one.sampler != name]
                for at, one in enumerate(search.trials):
                    if one.sampler == name and one.state == "pruned" and not search.pruning["on"]:
                        search.trials[at] = replace(one, state="replaced")
                points = space.points()
                search.budget[name], search.sizes[name] = budget, None if points is None else len(points)
                search.spaces[name], search.fixed[name] = space.to_plain(), dict(space.fixed)
                search.epoch_budget.pop(name, None)
                if epochs is not None:
                    search.epoch_budget[name] = epochs
                if own:
                    search.code[name] = own
            return search.save()

    def take(self, space: Space) -> Trial | None:
        """The next trial of a sampler, ours from now on; None when all of the budget are done or being done."""
        with self._changed() as search:
            counted = search.of(space.name)
            if len(counted) >= search.budget[space.name] or search.out_of_epochs(space.name):
                return None
            every = [one for one in search.trials if one.sampler == space.name]
            known = [one.point for one in counted]
            again = (one.point for one in every if not one.counts and one.point not in known)
            point = next(again, None) or propose(space, counted, self.terms["seed"])
            if point is None:
                return None
            settings = space.settings(point)
            search.trials.append(
                Trial(space.name, len(every), "running", point, settings, value=None, worker=self.worker)
            )
        return search.trials[-1]

    def unfinished(self, trial: Trial) -> Path:
        """Where the training of a trial is kept; one that was lost is taken up at its point."""
        point = hashlib.sha256(json.dumps(_plain(trial.point), sort_keys=True).encode()).hexdigest()[:12]
        return self.path / UNFINISHED / f"{trial.sampler}-{point}"

    def end(self, trial: Trial) -> Search:
        """Note how a trial of ours ended."""
        with self._changed() as search:
            number = (trial.sampler, trial.number)
            search.trials[:] = [trial if (one.sampler, one.number) == number else one for one in search.trials]
        return search

    def state(self) -> Search:
        """Everything so far, of this process and all others."""
        with self._changed() as search:
            return search

    @contextlib.contextmanager
    def _changed(self) -> Iterator[Search]:
        """The search as it stands, saved in the end if another trial was begun or ended."""
        with self._alone():
            search = read_search(self.path)
            before = list(search.trials)
            self._mark_dead(search.trials)
            yield search
            if search.trials != before:
                search.save()

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        """No other process takes or ends a trial meanwhile."""
        return wait_for_lock(self.path, "search")

    def _mark_dead(self, trials: list[Trial]) -> None:
        for at, one in enumerate(trials):
            if one.state == "running" and one.worker != self.worker:
                with lock(self.path, one.worker or "nobody") as dead:
                    if dead:
                        trials[at] = replace(one, state="lost")

    def _refuse(self, trials: Sequence[Trial], difference: str) -> None:
        """An error unless nothing came of the trials."""
        if any(one.counts for one in trials):
            raise DataError(f"{self.path} holds trials {difference}; choose another folder")


def _plain(values: Any) -> Any:
    """As it comes back from a file."""
    return json.loads(json.dumps(values))


def _difference(search: Search, terms: Mapping[str, Any]) -> str | None:
    """In what trials differ from what is wanted now; settings that only one of them knows are newer than the other."""
    if terms["pruning"]["on"] and not search.pruning["on"]:
        return "that were made without pruning, so none can be cut off now (leave out --pruning, prune=True)"
    pairs = [("fingerprint of the data", *(one["fingerprint"][:12] for one in (search.data, terms["data"])))]
    for part in ("backbone", "objective", "protocol", *(["pruning"] if terms["pruning"]["on"] else [])):
        was, now = getattr(search, part), terms[part]
        pairs += [(f"{part} {name}", was[name], now[name]) for name in was if name in now]
    pairs += [(name, getattr(search, name), terms[name]) for name in ("seed", "trial_seeds", "kernels")]
    return next((f"with {name} = {was}, not {now}" for name, was, now in pairs if was != now), None)
