"""What the logs of a run are told: each epoch's numbers, and a look at one batch that training itself does not notice."""

import copy
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from sahcns.data.split import Split
from sahcns.errors import SettingError
from sahcns.graph import among, pair_keys
from sahcns.kernels import make_rng
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.samplers.sahc import layer_gaps
from sahcns.training.device import seeded_generators
from sahcns.training.log import Log, flat
from sahcns.training.record import Record
from sahcns.training.step import TrainingStep


class Watch:
    """Tells `logs` of a run from `begin` on, and ends them when it is left; without logs it does nothing at all."""

    def __init__(self, log: Log | Sequence[Log] | None, silent: bool = False) -> None:
        """`silent` looks as the others do and tells nobody: of a run on several processes one speaks."""
        self.logs = [log] if isinstance(log, Log) else list(log or ())
        for one in self.logs:
            if not isinstance(one, Log):
                raise SettingError(f"fit: log={one!r:.60} must be a Log, such as JsonLines('run.jsonl'), or several")
        self.logs = [Log() for _ in self.logs] if silent else self.logs
        self.record: Record | None = None
        self.begun: list[Log] = []

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if (record := self.record) is None:
            return
        failed = {"stopped": "", "error": str(error) or kind.__name__} if kind else {"stopped": record.stopped}
        reached = {part: values["best"] for part, values in (("valid", record.valid), ("test", record.test)) if values}
        summary = flat({**failed, "best_epoch": record.best_epoch, "epochs": record.epochs_run, **reached})
        for log in self.begun:
            log.end(summary)

    def begin(self, step: TrainingStep, record: Record, split: Split) -> None:
        if not self.logs:
            return
        self.step, self.record = step, record
        self.rng = make_rng(record.seed, "log", step.graph.device)
        users, items = (
            torch.from_numpy(ids.astype("int64")).to(step.graph.device)
            for ids in (split.valid.users, split.valid.items)
        )
        self.valid_keys = pair_keys(step.graph, users, items).sort().values
        settings = ("seed", "backbone", "sampler", "objective", "protocol", "data", "machine")
        for log in self.logs:
            log.begin(flat({name: getattr(record, name) for name in settings}), record.epochs_run)
            self.begun.append(log)

    def epoch(self, entry: dict[str, Any]) -> None:
        """An entry of the run's history, with what is found by a look at one batch."""
        if not self.logs:
            return
        with self.step.profiler("log"), seeded_generators(self.rng.seed, self.rng.device), torch.no_grad():
            looked = self._look()
        rate, memory = self.step.protocol.learning_rate, peak_memory(self.rng.device)
        told = flat({**entry, **looked, "learning_rate": rate, **({"memory_mib": memory} if memory else {})})
        for log in self.logs:
            log.epoch(told)

    def _look(self) -> dict[str, Any]:
        """Parts of the loss, and what the sampler does, on pairs spread over all users: the same ones in each epoch.

        Random numbers are a stream of their own and the sampler's state is a copy (an objective changes its own between
        epochs only), so the run goes on as without it.
        """
        step, graph, rng = self.step, self.step.graph, self.rng
        rng.seek(0)
        size = min(step.protocol.batch, graph.n_pairs)
        pairs = torch.arange(size, device=graph.device) * graph.n_pairs // size
        users, positives = graph.pairs_at(pairs)
        candidates = graph.draw(users, step.sampler.pool, rng, step.unseen)
        layers = step.training_layers(step.parameters, graph, rng)
        match = step.matching(pairs, users, positives, candidates, layers)
        match.state = copy.deepcopy(match.state, {id(graph): graph})
        mixture = step.choose(match, rng).checked(size, len(layers), type(step.sampler).__name__, layers[0].dtype)
        losses = step.losses(step.batch(pairs, users, positives, layers), mixture, rng, fast=False)
        parts = {f"loss/{name}": float(value) for name, value in losses.items()}
        return parts | {"sampler": statistics(match, mixture, self.valid_keys)}


def statistics(match: Matching, mixture: Mixture, valid_keys: Tensor) -> dict[str, float]:
    """Of a batch: mean λ and gap where pairs have pools, and the share of negatives that the user has in validation."""
    positive = mixture.items == match.positives[:, None, None, None]  # [B, K, M, T or 1]
    excluded = mixture.excluded(match.positives)
    negative = ~positive if excluded is None else ~excluded[:, :, None, None]
    shares, found = mixture.layer_weights, {}
    if not mixture.shared:
        weights = torch.ones_like(match.p[:, None, None]) if shares is None else shares
        found["lambda"] = float((weights * positive).sum(2).mean())
    if match.candidates.shape[1]:
        found["gap"] = float(layer_gaps(match).mean())
    if len(valid_keys):
        false = among(valid_keys, pair_keys(match.graph, match.users, mixture.items)) & negative
        found["false_negatives"] = float(false.sum() / negative.sum().clamp(min=1))
    return found


def peak_memory(device: torch.device) -> float | None:
    """The most MiB that the process has held so far, of the GPU's where it is trained on one; None on Windows."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
