"""One trial: train at a point, tell how it goes, and note down how it ended."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sahcns.data.split import Split
from sahcns.errors import SahcnsError, TrainingError
from sahcns.lab.grid.run import one_sentence
from sahcns.lab.grid.sources import source_commit
from sahcns.lab.tuning.journal import Journal, Taken
from sahcns.lab.tuning.trials import Search, Trial

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.samplers import Sampler
    from sahcns.training import Protocol
    from sahcns.training.record import Record


@dataclass(frozen=True)
class Standing:
    """Where a search stands: everything so far, and what this process is at, once it has begun."""

    search: Search
    sampler: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    entry: Mapping[str, Any] | None = None  # of the epoch: loss, seconds, validation if it looked
    ended: Trial | None = None  # the trial that has just ended


Watch = Callable[[Standing], None]


class _Pruned(Exception):
    """Raised through `fit` to leave a trial that is not worth going on with."""


@dataclass(frozen=True)
class Trainer:
    """All that trials have in common."""

    split: Split
    backbone: "Backbone"
    protocol: "Protocol"
    seed: int
    device: str
    kernels: str

    def __call__(self, sampler: "Sampler", on_epoch: Callable[[dict[str, Any]], None]) -> "Record":
        from sahcns.training import fit

        run = fit(
            self.split,
            self.backbone,
            sampler,
            protocol=self.protocol,
            seed=self.seed,
            device=self.device,
            kernels=self.kernels,
            on_epoch=on_epoch,
        )
        if run.record.stopped == "interrupted":  # half a run is no trial
            raise KeyboardInterrupt
        return run.record


def attempt(taken: Taken, trainer: Trainer, journal: Journal, tell: Watch) -> None:
    """Train at one point and note down how it ended; whatever a sampler does, the others go on."""
    monitor, name = trainer.protocol.monitor, taken.space.name
    search, began = journal.save(), time.perf_counter()
    best, epochs = (-1.0, -1), 0

    def on_epoch(entry: dict[str, Any]) -> None:
        nonlocal best, epochs
        epochs = entry["epoch"] + 1
        tell(Standing(search, name, taken.point, entry))
        if "valid" in entry:
            value = float(entry["valid"][monitor])
            best = max(best, (value, entry["epoch"]))
            if taken.look(entry["epoch"], value):
                raise _Pruned

    def record(**more: Any) -> dict[str, Any]:
        seconds = round(time.perf_counter() - began, 3)
        epoch = None if best[1] < 0 else best[1]
        return {"epochs_run": epochs, "seconds": seconds, "commit": source_commit(), "epoch": epoch, **more}

    try:
        run = trainer(taken.space.sampler(taken.point), on_epoch)
        valid = {key: value for key, value in run.valid["best"].items() if key.startswith(("recall@", "ndcg@"))}
        full = {"full_users": found} if (found := run.data.get("users_with_every_item")) else {}
        came_to = record(epoch=run.best_epoch, valid=valid, machine=run.machine, **full)
        taken.end("complete", came_to, float(valid[monitor]))
    except _Pruned:
        taken.end("pruned", record())
    except Exception as error:
        if isinstance(error, SahcnsError) and not isinstance(error, TrainingError):
            taken.give_back()  # what is wrong here, such as a GPU that died, is wrong for every trial of this process
            raise
        taken.end("failed", record(error=one_sentence(error)))
    except BaseException:
        taken.give_back()
        raise
    search = journal.save()
    ended = next(trial for trial in search.of(name) if trial.number == taken.number)
    tell(Standing(search, name, taken.point, ended=ended))
