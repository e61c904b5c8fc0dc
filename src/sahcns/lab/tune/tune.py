"""Tune samplers: the same budget for each, judged on validation, with the test part out of reach.

search = tune("films", [SAHC, DNS], "tuned", trials=20)
search.chosen["sahc"]                     {"alpha": 0.5, "lambda_max": 0.3, "pool": 10, "protocol.l2": 0.003, …}
"""

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.data.prepared import load_split
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.lab.grid.job import data_name
from sahcns.lab.places import HERE, place_named
from sahcns.lab.places.place import Here, Place, Report, sigterm_as_ctrl_c
from sahcns.lab.tune.attempt import Attempt, without_test
from sahcns.lab.tune.folder import SearchFolder, open_folder
from sahcns.lab.tune.propose import import_optuna
from sahcns.lab.tune.search import Search, Trial
from sahcns.lab.tune.space import Space, Values, key, spaces_of
from sahcns.settings import Configured
from sahcns.sources import own_code, source_commit

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.objectives import Objective
    from sahcns.samplers import Sampler
    from sahcns.training import Protocol

AFTER_TRIALS = 5  # complete trials before one is pruned
TRIES = 3  # at one point whose process, GPU or machine is lost, before the trial has failed

Settings = Mapping[str, Mapping[str, Any]]
"""Of each sampler, by its name."""


@dataclass(frozen=True)
class SearchProgress:
    """How far a search is: everything so far, and what this process is at, once it has begun."""

    search: Search
    sampler: str = ""
    point: Mapping[str, Any] = field(default_factory=dict)
    entry: Mapping[str, Any] | None = None  # of the epoch: loss, seconds, validation if there was one
    trial: Trial | None = None  # the one that has just ended


Watch = Callable[[SearchProgress], None]


def tune(
    data: Split | str | os.PathLike[str],
    samplers: "type[Sampler] | str | Iterable[type[Sampler] | str]",
    out: str | os.PathLike[str],
    *,
    backbone: "Backbone | None" = None,
    objective: "Objective | None" = None,
    protocol: "Protocol | None" = None,
    trials: int = 20,
    epoch_budget: int | None = None,
    seed: int = 0,
    trial_seeds: int = 1,
    pool: Sequence[int] = (),
    fixed: Settings | None = None,
    search: Mapping[str, Mapping[str, Values] | Values] | None = None,
    first: Settings | None = None,
    prune: bool = False,
    workers: int | None = None,
    imports: Iterable[str | os.PathLike[str]] = (),
    device: str = "auto",
    kernels: str = "auto",
    on: str = HERE,
    watch: Watch | None = None,
    until: float | None = None,
) -> Search:
    """Search each sampler's settings, L2, step size and pool by the best validation value of the protocol's `monitor`.

    Every sampler gets the same number of `trials`, or of epochs; one with fewer points to try is tried at each of them
    once, one with nothing to tune is trained once. Trials are kept in the folder `out`: a search that was killed goes on
    there, several processes may share it, more trials or samplers may be added, and a search on other terms is refused.

    data     one set: a prepared folder, or a split
    samplers names or classes; one or several
    backbone, objective, protocol, device, kernels   as of `fit`, for every trial, but for what is searched of them
    epoch_budget  epochs for each sampler: once they are spent, no further trial is begun, though trials are left
    seed     of the trainings and of the search
    trial_seeds   trainings of a trial, from `seed` on; its value is their mean
    pool     one value sets the pool of all samplers, several are searched
    fixed    {"dens": {"schedule": "warmup"}}: settings held at a value
    search   {"sahc": {"alpha": (0.0, 0.5)}}: what to try instead of what the settings say of themselves; for all samplers
             {"protocol.l2": Between(1e-5, 1e-2, log=True), "backbone.depth": (1, 2, 3)}; () leaves a setting alone
    first    {"dens": {"alpha": 0.0}}: the trial to begin with, where it is not the sampler's defaults
    prune    cut off trials that do worse than the median at their epoch: quick, but unfair to settings that learn slowly
    workers  trials at once, in processes of their own; `data` must then be a folder, and `imports` the user's own files
    on       where the trials run: "here", "ray", "ray:HOST:PORT" or "slurm:NAME=VALUE,…", with all that `workers` needs
    watch    is called after each epoch and each trial of this process and its workers
    until    seconds as `time.time()` counts them: no trial is begun after it, and what is left is for another call
    """
    from sahcns.backbones import LightGCN
    from sahcns.objectives import BPR
    from sahcns.training import Protocol
    from sahcns.training.record import described

    import_optuna()
    for argument, value in {"trials": trials, "trial_seeds": trial_seeds}.items():
        if value < 1:
            raise SettingError(f"{argument}={value} must be 1 or more")
    if epoch_budget is not None and epoch_budget < 1:
        raise SettingError(f"epoch_budget={epoch_budget} must be 1 or more, or None for as many as the trials take")
    if isinstance(data, Split) and ((workers or 1) > 1 or on != HERE):
        raise SettingError(
            f"workers={workers}, on={on!r} needs the data as a prepared folder, which processes can share"
        )
    backbone, objective, protocol = backbone or LightGCN(), objective or BPR(), protocol or Protocol()
    parts: dict[str, Configured] = {"backbone": backbone, "objective": objective, "protocol": protocol}
    wanted: dict[str, Values] = {"pool": tuple(pool)} if pool else {}
    for name, values in (search or {}).items():
        own = {f"{name}.{key}": one for key, one in values.items()} if isinstance(values, Mapping) else {name: values}
        wanted |= own
    spaces = spaces_of(samplers, fixed=fixed, search=wanted, first=first, **parts)
    split = data if isinstance(data, Split) else load_split(data)
    if not len(split.valid):
        raise DataError("the split has no valid pairs to tune on; prepare the data with a valid share")
    after = max(1, protocol.patience // 2) * protocol.evaluate_every
    pruning = {"rule": "median", "on": True, "after_trials": AFTER_TRIALS, "after_epochs": after}
    about = {"fingerprint": split.fingerprint, "users": split.n_users, "items": split.n_items}
    name = data_name(split.manifest, "data" if isinstance(data, Split) else data)
    terms = {
        "data": {"name": name, **about, **{part: len(pairs) for part, pairs in split.parts().items()}},
        "backbone": described(backbone),
        "objective": described(objective),
        "protocol": protocol.to_dict(),
        "seed": seed,
        "trial_seeds": trial_seeds,
        "kernels": kernels,
        "pruning": pruning if prune else {"on": False},
    }
    place = place_named(on, Path(out), workers, device, trials * len(spaces))
    watch, held = watch or (lambda progress: None), without_test(split) if isinstance(place, Here) else None
    with place, open_folder(Path(out), terms) as folder:
        codes = {space.name: own_code(space.kind, *map(type, parts.values())) for space in spaces}
        watch(SearchProgress(folder.enrol(spaces, trials, codes, epoch_budget)))
        seeds, files = range(seed, seed + trial_seeds), tuple(map(str, imports))
        like = Attempt(str(data), split.fingerprint, seeds, kernels, files, held)
        _Searching(spaces, folder, place, like, watch, until).run()
        return folder.state()


@dataclass
class _Running:
    """A trial at work, and what was heard of it."""

    trial: Trial
    search: Search
    looks: dict[int, float] = field(default_factory=dict)
    epochs: int = 0
    began: float = field(default_factory=time.perf_counter)


@dataclass
class _Searching:
    """A call at work: it takes each trial as it is started, and notes how it ends. `like` is what all attempts share."""

    spaces: Sequence[Space]
    folder: SearchFolder
    place: Place
    like: Attempt
    watch: Watch
    until: float | None = None
    running: dict[str, _Running] = field(default_factory=dict)
    begun: Counter[str] = field(default_factory=Counter)  # trials of each sampler
    lost: Counter[Any] = field(default_factory=Counter)  # of each point
    all_taken: bool = False  # as far as was known when the last of ours ended

    def run(self) -> None:
        """Until every sampler has spent its budget, whoever made them."""
        try:
            with sigterm_as_ctrl_c():
                while self._start() or self.running or (not self._late and self._others()):
                    if not self.place.room or self.all_taken:
                        self.place.wait(self._hear)
        finally:
            self.place.close()  # before they are called lost: what is at work writes checkpoints
            for one in [*self.running]:
                self._end(one, state="lost")

    def _start(self) -> bool:
        """Begin a trial, if there is room for it and time: of several at once each is of another sampler, as far as can be.

        What is proposed for a sampler is the better, the more of its trials have ended.
        """
        if not self.place.room or (self.all_taken and self.running):
            return False
        at_work = Counter(one.trial.sampler for one in self.running.values())
        turn = sorted(self.spaces, key=lambda one: (at_work[one.name], self.begun[one.name] if self.running else 0))
        wanted = () if self._late else turn
        space, trial = next(((space, one) for space in wanted if (one := self.folder.take(space))), (None, None))
        self.all_taken = trial is None
        if space is None or trial is None:
            return False
        self.begun[space.name] += 1
        search, name = self.folder.state(), f"{trial.sampler}-{trial.number}"
        self.running[name] = _Running(trial, search)
        attempt = replace(
            self.like, key=name, parts=space.build(trial.point), pruning=search.pruning, monitor=search.monitor
        )
        attempt = replace(attempt, complete=search.complete(trial.sampler))
        self.place.start(attempt, self.folder.unfinished(trial))
        return True

    @property
    def _late(self) -> bool:
        return self.until is not None and time.time() >= self.until

    def _others(self) -> bool:
        """Whether other processes are at trials that might come back to us."""
        own = {space.name for space in self.spaces}
        return any(trial.state == "running" and trial.sampler in own for trial in self.folder.state().trials)

    def _hear(self, report: Report) -> None:
        one, fault = self.running[report.key], report.value
        if report.kind == "started":
            one.began = time.perf_counter()
        elif report.kind == "epoch":
            entry, search = report.value, one.search
            one.epochs = entry["epochs_run"]
            self.watch(SearchProgress(search, one.trial.sampler, one.trial.point, entry))
            if "valid" in entry:
                one.looks[entry["epoch"]] = float(entry["valid"][search.monitor])
        elif report.kind == "done":
            self._tell(one, self._end(report.key, **report.value))
        elif report.kind == "lost" or fault.of_device:
            point = one.trial.sampler, key(one.trial.point)
            self.lost[point] += 1
            state = "lost" if self.lost[point] < TRIES else "failed"
            self._tell(one, self._end(report.key, state=state, error=fault.sentence))
        elif fault.kind in ("", "TrainingError"):  # whatever a sampler does, the others go on
            self._tell(one, self._end(report.key, state="failed", error=fault.sentence))
        else:  # it would meet every trial
            shutil.rmtree(self.folder.unfinished(one.trial), ignore_errors=True)  # it may be what is wrong
            raise fault.error()

    def _end(self, name: str, **end: Any) -> Search:
        """Note how a trial ended; one that was lost is gone on with."""
        one = self.running.pop(name)
        best = max(one.looks, key=one.looks.__getitem__, default=None)
        seconds = round(time.perf_counter() - one.began, 3)
        so_far = {"value": max(one.looks.values(), default=None), "looks": one.looks, "epoch": best}
        one.trial = replace(
            one.trial, **{**so_far, "epochs_run": one.epochs, "seconds": seconds, "commit": source_commit(), **end}
        )
        search, self.all_taken = self.folder.end(one.trial), False
        if one.trial.state != "lost":
            shutil.rmtree(self.folder.unfinished(one.trial), ignore_errors=True)
        return search

    def _tell(self, one: _Running, search: Search) -> None:
        self.watch(SearchProgress(search, one.trial.sampler, one.trial.point, trial=one.trial))
