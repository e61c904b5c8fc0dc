"""A trial as a task: what is trained, on data without its test part, and what cuts it off."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from sahcns.data.split import Pairs, Split
from sahcns.importing import import_once
from sahcns.lab.grid.job import load_same
from sahcns.lab.parts import rebuilt
from sahcns.lab.tune.propose import pruner
from sahcns.lab.tune.search import Trial
from sahcns.settings import Configured

if TYPE_CHECKING:
    from sahcns.training.record import Record


class _Pruned(Exception):
    """Raised through `fit` to leave a trial."""


@dataclass(frozen=True)
class Attempt:
    """One trial. Its parts go to another process as their descriptions, which are made parts again there."""

    data: str  # the prepared folder
    fingerprint: str
    seeds: Sequence[int]  # a training with each; those that are looked at meanwhile are of the first
    kernels: str = "auto"
    imports: tuple[str, ...] = ()
    split: Split | None = None  # where this process has it
    key: str = ""
    parts: Mapping[str, Any] = field(default_factory=dict)  # sampler, backbone, protocol: what `fit` takes by name
    pruning: Mapping[str, Any] = field(default_factory=dict)
    complete: Sequence[Trial] = ()  # those it is judged by
    monitor: str = ""

    def __getstate__(self) -> dict[str, Any]:
        from sahcns.training.record import described

        return {**vars(self), "parts": {word: described(part) for word, part in self.parts.items()}, "split": None}

    def load(self) -> Split:
        """The split, which must be the one that the search was made for."""
        if self.split is not None:
            return self.split
        return without_test(load_same(self.data, self.fingerprint))

    def run(
        self, device: str, on_epoch: Callable[[dict[str, Any]], None], split: Split, checkpoint: Path | None
    ) -> dict[str, Any]:
        """What is known of the trial at its end, as fields of `Trial`."""
        from sahcns.model import fit

        parts, runs = self._built(), list["Record"]()
        monitor, cut_off = self.monitor, pruner(self.pruning, self.complete)

        def look(entry: dict[str, Any]) -> None:
            passed = sum(run.epochs_run for run in runs) + entry["epoch"] + 1
            seen = {name: value for name, value in entry.items() if name != "valid" or not runs}
            on_epoch({**seen, "epochs_run": passed})
            if "valid" in seen and cut_off(entry["epoch"], float(entry["valid"][monitor])):
                raise _Pruned

        terms: dict[str, Any] = {"kernels": self.kernels, "device": device, "on_epoch": look}
        try:
            for seed in self.seeds:
                kept = checkpoint and checkpoint / str(seed)  # of all until the trial has ended, perhaps elsewhere
                run = fit(split, **parts, **terms, seed=seed, checkpoint=kept).record
                if run.stopped == "interrupted":  # half a run is no trial
                    raise KeyboardInterrupt
                runs.append(run)
        except _Pruned:
            return {"state": "pruned"}
        return {"state": "complete", **_judged(runs, monitor)}

    def _built(self) -> Mapping[str, Any]:
        """The parts; in another process the user's own files are imported first."""
        if isinstance(self.parts["protocol"], Configured):
            return self.parts
        import_once(self.imports)
        return rebuilt(self.parts)


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
