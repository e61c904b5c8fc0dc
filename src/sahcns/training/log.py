"""Who is told of a run while it goes on: a file of JSON lines, TensorBoard, Weights & Biases, MLflow, or a class of one's own.

    class Print(Log):
        def epoch(self, entry):
            print(entry["epoch"], entry["loss"], entry.get("valid/recall@20"))

What is told is flat, names with slashes and numbers, so that every tool takes it as it is.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from sahcns.errors import SahcnsError

Flat = dict[str, Any]


class Log:
    """What `fit(log=…)` calls; each method may be left out."""

    def begin(self, settings: Flat, epochs: int) -> None:
        """{"seed": 0, "sampler/name": "sahc", "sampler/alpha": 0.3, …}; of a run that goes on, the epochs it has had."""

    def epoch(self, entry: dict[str, float]) -> None:
        """After each: {"epoch": 0, "seconds": …, "loss": …, "loss/l2": …, "valid/recall@20": …, "sampler/lambda": …, …}."""

    def end(self, summary: Flat) -> None:
        """Once, however the run ended: {"stopped": "patience", "best_epoch": 40, "test/recall@20": …, …}."""


class JsonLines(Log):
    """One line an epoch, written at once, so that it can be followed."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.file: IO[str] | None = None

    def begin(self, settings: Flat, epochs: int) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            former = self.path.read_text("utf-8").splitlines(keepends=True)[:epochs]
            self.path.write_text("".join(former), "utf-8")
        self.file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 (end closes it)

    def epoch(self, entry: dict[str, float]) -> None:
        if self.file is not None:
            print(json.dumps(entry), file=self.file, flush=True)

    def end(self, summary: Flat) -> None:
        if self.file is not None:
            self.file.close()


class TensorBoard(Log):
    """Event files in a folder; `tensorboard --logdir` draws those of all runs below one."""

    def __init__(self, folder: str | Path) -> None:
        _needed("tensorboard", "tensorboard")
        self.folder, self.tool = str(folder), import_module("torch.utils.tensorboard")

    def begin(self, settings: Flat, epochs: int) -> None:
        self.writer = self.tool.SummaryWriter(self.folder, purge_step=epochs)
        self.writer.add_text("settings", "\n".join(f"    {name} = {value}" for name, value in settings.items()))

    def epoch(self, entry: dict[str, float]) -> None:
        for name, value in entry.items():
            self.writer.add_scalar(name, value, int(entry["epoch"]))
        self.writer.flush()

    def end(self, summary: Flat) -> None:
        self.writer.close()


class WandB(Log):
    """A run of Weights & Biases; `options` are those of `wandb.init`, and WANDB_MODE=offline keeps it on this machine."""

    def __init__(self, **options: Any) -> None:
        self.wandb, self.options = _needed("wandb", "wandb"), options

    def begin(self, settings: Flat, epochs: int) -> None:
        self.run = self.wandb.init(**{"project": "sahcns", "config": settings, **self.options})

    def epoch(self, entry: dict[str, float]) -> None:
        self.run.log(entry, step=int(entry["epoch"]))

    def end(self, summary: Flat) -> None:
        self.run.summary.update(summary)
        self.run.finish()


class MLflow(Log):
    """A run of an MLflow experiment, at `uri` or where MLFLOW_TRACKING_URI says; `@` is not for its names, so recall_20."""

    def __init__(self, experiment: str = "sahcns", uri: str | None = None, name: str | None = None) -> None:
        self.mlflow, self.experiment, self.name = _needed("mlflow", "mlflow"), experiment, name
        self.client = self.mlflow.MlflowClient(tracking_uri=uri)

    def begin(self, settings: Flat, epochs: int) -> None:
        found = self.client.get_experiment_by_name(self.experiment)
        at = self.client.create_experiment(self.experiment) if found is None else found.experiment_id
        self.run = self.client.create_run(at, run_name=self.name).info.run_id
        self.client.log_batch(self.run, params=self._all("Param", settings))

    def epoch(self, entry: dict[str, float]) -> None:
        at = {"timestamp": int(time.time() * 1000), "step": int(entry["epoch"])}
        self.client.log_batch(self.run, metrics=self._all("Metric", entry, **at))

    def end(self, summary: Flat) -> None:
        self.client.log_batch(self.run, tags=self._all("RunTag", summary))
        self.client.set_terminated(self.run, "FINISHED" if summary["stopped"] else "FAILED")

    def _all(self, kind: str, values: Flat, **more: Any) -> list[Any]:
        make = getattr(self.mlflow.entities, kind)
        plain = {name: value if kind == "Metric" else str(value) for name, value in values.items()}
        return [make(re.sub(r"[^\w./ -]", "_", name), value, **more) for name, value in plain.items()]


# What `--log` names, each beside the JSON lines in a run's folder of logs.
LOGS: dict[str, Callable[[Path], list[Log]]] = {
    "jsonl": lambda folder: [],
    "tensorboard": lambda folder: [TensorBoard(folder)],
    "wandb": lambda folder: [WandB(name=folder.stem, dir=str(folder))],
    "mlflow": lambda folder: [MLflow(name=folder.stem)],
}


def flat(values: Mapping[str, Any], prefix: str = "") -> Flat:
    """{"valid": {"recall@20": 0.1}} → {"valid/recall@20": 0.1}."""
    made: Flat = {}
    for name, value in values.items():
        made |= flat(value, f"{prefix}{name}/") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return made


def _needed(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise SahcnsError(
            f"logging to {module} needs it, and it is not installed; pip install 'sahcns[{extra}]'"
        ) from None
