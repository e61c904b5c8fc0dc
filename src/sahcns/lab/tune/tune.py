"""Tune samplers: the same budget for each, judged on validation, with the test part out of reach.

search = tune("films", [SAHC, DNS], "tuned", trials=20)
search.chosen["sahc"]                     {"alpha": 0.5, "lambda_max": 0.3, "pool": 10, "protocol.l2": 0.003, …}
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from sahcns.data.prepared import load_split
from sahcns.data.split import Pairs, Split
from sahcns.errors import DataError, DeviceError, SahcnsError, SettingError, TrainingError
from sahcns.lab.grid.job import data_name
from sahcns.lab.grid.run import one_sentence
from sahcns.lab.grid.workers import end_children, order_of_parent, start_child
from sahcns.lab.tune.folder import SearchFolder, open_folder
from sahcns.lab.tune.propose import import_optuna, pruner
from sahcns.lab.tune.search import Search, Trial
from sahcns.lab.tune.space import Space, Values, spaces_of
from sahcns.settings import Between, Configured
from sahcns.sources import own_code, source_commit

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.objectives import Objective
    from sahcns.samplers import Sampler
    from sahcns.training import Protocol
    from sahcns.training.record import Record

WAIT = 0.2  # seconds between checks of trials that another process is at
AFTER_TRIALS = 5  # complete trials before one is pruned

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


class _Pruned(Exception):
    """Raised through `fit` to leave a trial."""


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
    workers: int = 1,
    imports: Iterable[str | os.PathLike[str]] = (),
    device: str = "auto",
    kernels: str = "auto",
    watch: Watch | None = None,
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
    workers  processes to share the work; `data` must then be a folder, and `imports` the user's own files
    watch    is called after each epoch and each trial of this process
    """
    from sahcns.backbones import LightGCN
    from sahcns.objectives import BPR
    from sahcns.training import Protocol
    from sahcns.training.device import pick_device
    from sahcns.training.record import described

    import_optuna()
    for argument, value in {"trials": trials, "trial_seeds": trial_seeds, "workers": workers}.items():
        if value < 1:
            raise SettingError(f"{argument}={value} must be 1 or more")
    if epoch_budget is not None and epoch_budget < 1:
        raise SettingError(f"epoch_budget={epoch_budget} must be 1 or more, or None for as many as the trials take")
    if workers > 1 and isinstance(data, Split):
        raise SettingError(f"workers={workers} needs the data as a prepared folder, which processes can share")
    pick_device(device)  # refused now rather than by every trial
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
    order = terms | {
        "data": str(data),
        "samplers": [space.name for space in spaces],
        "out": str(out),
        "trials": trials,
        "epoch_budget": epoch_budget,
        "fixed": fixed,
        "search": {name: vars(one) if isinstance(one, Between) else one for name, one in wanted.items()},
        "first": first,
        "imports": [str(path) for path in imports],
        "device": device,
    }
    options, watch = {"device": device, "kernels": kernels}, watch or (lambda progress: None)
    with open_folder(Path(out), terms) as folder:
        codes = {space.name: own_code(space.kind, *map(type, parts.values())) for space in spaces}
        watch(SearchProgress(folder.enrol(spaces, trials, codes, epoch_budget)))
        with _helpers(workers - 1, order):
            _work(spaces, folder, without_test(split), options, watch)
        return folder.state()


def _work(
    spaces: Sequence[Space], folder: SearchFolder, split: Split, options: Mapping[str, Any], watch: Watch
) -> None:
    """One trial after the other, until every sampler has spent its budget, whoever made them."""
    while True:
        taken = next(((space, trial) for space in spaces if (trial := folder.take(space)) is not None), None)
        if taken is not None:
            _attempt(*taken, folder, split, options, watch)
            continue
        own, trials = {space.name for space in spaces}, folder.state().trials
        if not any(trial.state == "running" and trial.sampler in own for trial in trials):
            return
        time.sleep(WAIT)


def _attempt(
    space: Space, trial: Trial, folder: SearchFolder, split: Split, options: Mapping[str, Any], watch: Watch
) -> None:
    """Train at one point, with each seed, and note how it ended; whatever a sampler does, the others go on."""
    from sahcns.model import fit

    parts, search, began = space.build(trial.point), folder.state(), time.perf_counter()
    monitor, cut_off = search.monitor, pruner(search.pruning, search.complete(space.name))
    looks, epochs, runs = dict[int, float](), 0, list["Record"]()

    def on_epoch(entry: dict[str, Any]) -> None:
        nonlocal epochs
        epochs = sum(run.epochs_run for run in runs) + entry["epoch"] + 1
        watch(SearchProgress(search, space.name, trial.point, entry))
        if "valid" in entry and not runs:  # of the first seed, as are those that it is held against
            looks[entry["epoch"]] = value = float(entry["valid"][monitor])
            if cut_off(entry["epoch"], value):
                raise _Pruned

    end: dict[str, Any] = {"state": "lost"}  # so ends what leaves this function: Ctrl-C, a GPU that died
    kept = folder.unfinished(trial)
    try:
        for seed in range(search.seed, search.seed + search.trial_seeds):
            checkpoint = kept / str(seed)  # of all until the trial has ended, which may be in another process
            run = fit(split, **parts, **options, seed=seed, on_epoch=on_epoch, checkpoint=checkpoint).record
            if run.stopped == "interrupted":  # half a run is no trial
                raise KeyboardInterrupt
            runs.append(run)
        end = {"state": "complete", **_judged(runs, monitor)}
    except _Pruned:
        end = {"state": "pruned"}
    except Exception as error:
        if isinstance(error, SahcnsError) and not isinstance(error, TrainingError):
            shutil.rmtree(kept, ignore_errors=True)  # it may be what cannot be gone on with
            raise  # it would meet every trial of this process
        end = {"state": "failed", "error": one_sentence(error)}
    finally:
        best = max(looks, key=looks.__getitem__, default=None)
        seconds = round(time.perf_counter() - began, 3)
        so_far = {"value": max(looks.values(), default=None), "looks": looks, "epoch": best, "epochs_run": epochs}
        ended = replace(trial, **{**so_far, "seconds": seconds, "commit": source_commit(), **end})
        search = folder.end(ended)
        if ended.state != "lost":
            shutil.rmtree(kept, ignore_errors=True)
    watch(SearchProgress(search, space.name, trial.point, trial=ended))


def _judged(runs: "Sequence[Record]", monitor: str) -> dict[str, Any]:
    """What the trainings of a trial came to: means over its seeds."""
    best = [run.valid["best"] for run in runs]
    valid = {key: fmean(one[key] for one in best) for key in best[0] if key.startswith(("recall@", "ndcg@"))}
    several = {run.seed: float(one[monitor]) for run, one in zip(runs, best, strict=True)} if len(runs) > 1 else {}
    first = runs[0]
    return {
        "value": valid[monitor],
        "epoch": first.best_epoch,
        "by_seed": several,
        "valid": valid,
        "machine": first.machine,
        "full_users": first.data.get("users_with_every_item", 0),
    }


def without_test(split: Split) -> Split:
    """The same split with an empty test part: what is not there cannot be looked at."""
    return replace(split, test=Pairs.none())


@contextlib.contextmanager
def _helpers(count: int, order: Mapping[str, Any]) -> Iterator[None]:
    """`count` further processes at the same search; each computes with its share of the threads, as do we."""
    if count == 0:
        yield
        return
    import torch

    threads = torch.get_num_threads()
    share = max(1, threads // (count + 1))
    module = "sahcns.lab.tune.tune"
    processes = [start_child(module, {**order, "threads": share}, subprocess.DEVNULL) for _ in range(count)]
    torch.set_num_threads(share)
    try:
        yield
        for process in processes:  # the search is finished, which each of them is about to see
            process.wait()
    finally:
        torch.set_num_threads(threads)
        end_children(processes)
        for process in processes:
            process.communicate()  # closes its pipe


def _help() -> None:
    """In a helper: the same search as that of the parent."""
    import torch

    from sahcns.backbones import Backbone
    from sahcns.importing import import_files
    from sahcns.objectives import Objective
    from sahcns.settings import by_name
    from sahcns.training import Protocol

    order = order_of_parent()
    torch.set_num_threads(order.pop("threads"))
    import_files(map(Path, order.pop("imports")))
    order["prune"] = order.pop("pruning")["on"]
    for word, base in (("backbone", Backbone), ("objective", Objective)):
        order[word] = by_name(base, order[word].pop("name"), order[word])
    order["protocol"] = Protocol.from_dict(order["protocol"])
    for name, values in order["search"].items():
        order["search"][name] = Between(**values) if isinstance(values, dict) else values
    tune(**order)


if __name__ == "__main__":
    try:
        _help()
    except DeviceError as error:
        sys.exit(f"a worker has ended, the others go on: {error}")
    except SahcnsError as error:
        sys.exit(f"error: {error}")
