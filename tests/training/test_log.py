"""Logs of a run: what they are told, that the run does not notice, and what each tool is left with."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch

from sahcns.backbones import Backbone, LightGCN, SimGCL
from sahcns.errors import SahcnsError, SettingError, TrainingError
from sahcns.graph import Graph
from sahcns.model import fit
from sahcns.rng import Rng
from sahcns.samplers import DENS, DNS, RNS, SAHC, DivNS, Matching, Mixture, Sampler
from sahcns.training import JsonLines, Log, MLflow, Protocol, TensorBoard, WandB
from sahcns.training.watch import statistics
from tests.splits import random_split

SPLIT = random_split(24, 40, each=8, seed=2)
RULES = Protocol(batch=64, learning_rate=0.05, epochs=3, evaluate_every=2)
SMALL = LightGCN(dim=4, depth=2)


class Told(Log):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.settings: list[dict[str, Any]] = []
        self.entries: list[dict[str, float]] = []
        self.summaries: list[dict[str, Any]] = []

    def begin(self, settings: dict[str, Any], epochs: int) -> None:
        self.settings.append(settings)

    def epoch(self, entry: dict[str, float]) -> None:
        self.entries.append(entry)

    def end(self, summary: dict[str, Any]) -> None:
        self.summaries.append(summary)


@dataclass(frozen=True)
class Counting(Sampler):
    """Keeps what it has chosen, in place, and draws from torch's own generator: a look that left a trace would show."""

    name: ClassVar[str] = ""

    def begin(self, graph: Graph) -> dict[str, torch.Tensor]:
        return {"used": torch.zeros(graph.n_items)}

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        used = match.state["used"]
        n = (used[match.candidates] + torch.rand(match.candidates.shape)).argmin(1)
        used.index_add_(0, match.chosen(n), torch.ones(len(n)))
        return match.pick(n)


@pytest.mark.parametrize(
    ("backbone", "sampler"),
    [(SMALL, SAHC()), (SMALL, DivNS()), (SMALL, Counting()), (SimGCL(dim=4, depth=2), DENS())],
    ids=lambda part: type(part).__name__,
)
def test_a_run_does_not_notice_its_logs(backbone: Backbone, sampler: Sampler) -> None:
    told = Told()
    watched = fit(SPLIT, backbone, sampler, protocol=RULES, device="cpu", log=told)
    alone = fit(SPLIT, backbone, sampler, protocol=RULES, device="cpu")
    for name, table in alone.recommender.weights.items():
        assert torch.equal(table, watched.recommender.weights[name])
    assert [entry["loss"] for entry in told.entries] == [entry["loss"] for entry in alone.record.history]
    assert "log" in watched.record.seconds
    assert "log" not in alone.record.seconds


def test_what_is_told() -> None:
    first, second = Told(), Told()
    record = fit(SPLIT, SimGCL(dim=4), DENS(), protocol=RULES, device="cpu", seed=5, log=[first, second]).record
    assert (first.settings, first.entries, first.summaries) == (second.settings, second.entries, second.summaries)
    (settings,), (summary,) = first.settings, first.summaries
    assert (settings["seed"], settings["sampler/name"], settings["protocol/batch"]) == (5, "dens", 64)
    assert (summary["stopped"], summary["best_epoch"], summary["epochs"]) == ("epochs", record.best_epoch, 3)
    assert summary["test/recall@20"] == record.test["best"]["recall@20"]
    for entry, kept in zip(first.entries, record.history, strict=True):
        assert {"epoch", "seconds", "learning_rate", "memory_mib"} <= entry.keys()
        assert {"loss", "loss/objective", "loss/l2", "loss/sampler", "loss/backbone"} <= entry.keys()
        assert {"sampler/lambda", "sampler/gap", "sampler/false_negatives"} <= entry.keys()
        assert entry.get("valid/recall@20") == kept.get("valid", {}).get("recall@20")
        assert all(isinstance(value, int | float) for value in entry.values())


def test_the_look_follows_the_sampler() -> None:
    found = {}
    for sampler in (SAHC(lambda_max=0.0), SAHC(lambda_max=1.0), DNS(), RNS(pool=1)):
        told = Told()
        fit(SPLIT, SMALL, sampler, protocol=RULES, device="cpu", log=told)
        found[str(sampler)] = told.entries[-1]
    none, much, dns, rns = found.values()
    assert none["sampler/lambda"] == dns["sampler/lambda"] == rns["sampler/lambda"] == 0 < much["sampler/lambda"] < 1
    assert rns["sampler/gap"] > dns["sampler/gap"]  # one random item stays further behind than the best of ten
    assert dns["loss/objective"] > rns["loss/objective"]


def test_statistics_of_two_pairs() -> None:
    graph = Graph.of(random_split(3, 9, each=2))
    layers = tuple(torch.full((graph.n, 2), float(t + 1)) for t in range(2))
    users, positives, candidates = torch.tensor([0, 2]), torch.tensor([4, 5]), torch.tensor([[0, 1], [2, 3]])
    match = Matching(users, positives, candidates, users, layers, graph, SMALL.aggregation, torch.zeros(()))
    match.layer_scores = torch.tensor([[1.0, 2.0], [5.0, 0.0]]), torch.tensor([[[0.0, 1.0], [0.5, 3.0]]] * 2)
    mixture = Mixture.blend(positives, torch.tensor([1, 3]), torch.tensor([[0.2, 0.4], [0.0, 0.6]]))
    valid = torch.tensor([0 * 9 + 1, 0 * 9 + 4, 2 * 9 + 1])  # user 0 has item 1 there; the positive 4 is no negative
    found = statistics(match, mixture, valid)
    assert found == pytest.approx({"lambda": 0.3, "gap": (0.5 - 1.0 + 4.5 - 3.0) / 4, "false_negatives": 0.5})
    assert "false_negatives" not in statistics(match, mixture, valid[:0])


def test_a_log_is_ended_however_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(entry: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    cut, broken, whole = Told(), Told(), Told()
    fit(SPLIT, SMALL, protocol=RULES, device="cpu", log=cut, on_epoch=stop)
    with pytest.raises(TrainingError):
        fit(SPLIT, SMALL, protocol=Protocol(learning_rate=1e30, batch=64), device="cpu", log=broken)
    fit(SPLIT, SMALL, protocol=RULES, device="cpu", log=whole, whole=True)
    assert [one.summaries[0]["stopped"] for one in (cut, broken, whole)] == ["interrupted", "", "epochs"]
    assert "learning rate" in broken.summaries[0]["error"]
    assert not any("valid" in name or "false" in name for entry in whole.entries for name in entry)


def test_one_that_begins_is_ended_where_the_next_cannot_begin() -> None:
    class Broken(Log):
        def begin(self, settings: dict[str, Any], epochs: int) -> None:
            raise OSError("full")

    told = Told()
    with pytest.raises(OSError, match="full"):
        fit(SPLIT, SMALL, protocol=RULES, device="cpu", log=[told, Broken()])
    assert told.summaries[0]["error"] == "full"


@pytest.mark.parametrize("log", ["text", [Told(), None]])
def test_what_is_no_log_is_refused(log: Any) -> None:
    with pytest.raises(SettingError, match="Log"):
        fit(SPLIT, SMALL, log=log)


def test_json_lines_can_be_followed(tmp_path: Path) -> None:
    path, lengths = tmp_path / "new" / "run.jsonl", list[int]()
    count = lambda entry: lengths.append(len(path.read_text("utf-8").splitlines()))  # noqa: E731
    run = fit(SPLIT, SMALL, protocol=RULES, device="cpu", log=JsonLines(path), on_epoch=count)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert lengths == [1, 2, 3]
    assert [line["loss"] for line in lines] == [entry["loss"] for entry in run.record.history]


def test_the_lines_of_a_run_that_goes_on_are_each_there_once(tmp_path: Path) -> None:
    """Killed after an epoch that no checkpoint has seen, that epoch is run, and told, again."""

    def killed(entry: dict[str, Any]) -> None:
        if entry["epoch"] == 1:
            raise MemoryError("killed")

    def run(**more: Any) -> list[dict[str, Any]]:
        log = JsonLines(tmp_path / "run.jsonl")
        kept: dict[str, Any] = {"checkpoint": tmp_path / "kept", "checkpoint_every": 0.0}
        return fit(SPLIT, SMALL, protocol=RULES, device="cpu", log=log, **kept, **more).record.history

    with pytest.raises(SahcnsError):
        run(on_epoch=killed)
    history = run()
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text("utf-8").splitlines()]
    assert [line["epoch"] for line in lines] == [0, 1, 2]
    assert [line["loss"] for line in lines] == [entry["loss"] for entry in history]


def test_tensorboard_draws_what_was_told(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    told = Told()
    fit(SPLIT, SMALL, protocol=RULES, device="cpu", log=[TensorBoard(tmp_path), told])
    found = events.EventAccumulator(str(tmp_path)).Reload()
    for name in ("loss", "loss/l2", "sampler/lambda", "valid/recall@20"):
        there = [entry for entry in told.entries if name in entry]
        assert [one.step for one in found.Scalars(name)] == [entry["epoch"] for entry in there]
        assert [one.value for one in found.Scalars(name)] == pytest.approx([entry[name] for entry in there])


def fake_wandb(calls: list[Any]) -> ModuleType:
    class Run:
        def __init__(self) -> None:
            self.summary: dict[str, Any] = {}

        def log(self, data: dict[str, Any], step: int | None = None) -> None:
            calls.append((step, data["loss"]))

        def finish(self, exit_code: int | None = None) -> None:
            calls.append(self.summary["stopped"])

    def init(*, project: str, config: dict[str, Any], name: str | None = None, dir: str | None = None) -> Run:
        calls.append((project, config["sampler/name"], name))
        return Run()

    module = ModuleType("wandb")
    vars(module).update(init=init)
    return module


def test_weights_and_biases_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[Any]()
    monkeypatch.setitem(sys.modules, "wandb", fake_wandb(calls))
    record = fit(SPLIT, SMALL, protocol=RULES, device="cpu", log=WandB(name="first")).record
    epochs = [(entry["epoch"], entry["loss"]) for entry in record.history]
    assert calls == [("sahcns", "sahc", "first"), *epochs, "epochs"]


def fake_mlflow(kept: dict[str, Any]) -> ModuleType:
    class Client:
        def __init__(self, tracking_uri: str | None = None) -> None:
            kept["uri"] = tracking_uri

        def get_experiment_by_name(self, name: str) -> Any:
            return None

        def create_experiment(self, name: str) -> str:
            return name

        def create_run(self, experiment_id: str, run_name: str | None = None) -> Any:
            return SimpleNamespace(info=SimpleNamespace(run_id=f"{experiment_id} {run_name}"))

        def log_batch(self, run_id: str, metrics: Any = (), params: Any = (), tags: Any = ()) -> None:
            kept.setdefault(run_id, []).extend([*metrics, *params, *tags])

        def set_terminated(self, run_id: str, status: str | None = None) -> None:
            kept["status"] = status

    module = ModuleType("mlflow")
    entities = SimpleNamespace(
        Metric=lambda key, value, timestamp, step: (key, value, step),
        Param=lambda key, value: (key, value),
        RunTag=lambda key, value: (key, value),
    )
    vars(module).update(MlflowClient=Client, entities=entities)
    return module


def test_mlflow_is_told_in_names_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = dict[str, Any]()
    monkeypatch.setitem(sys.modules, "mlflow", fake_mlflow(kept))
    record = fit(SPLIT, SMALL, protocol=RULES, device="cpu", log=MLflow(uri="here", name="first")).record
    entries = kept["sahcns first"]
    assert (kept["uri"], kept["status"]) == ("here", "FINISHED")
    assert ("sampler/name", "sahc") in entries
    assert ("valid/recall_20", record.history[2]["valid"]["recall@20"], 2) in entries
    assert not any("@" in entry[0] for entry in entries)


@pytest.mark.parametrize("tool", [TensorBoard, WandB, MLflow])
def test_a_tool_that_is_not_there_is_named_before_anything_is_trained(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = tool.__name__.lower()
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(SahcnsError, match=rf"sahcns\[{extra}\]"):
        tool(str(tmp_path)) if tool is TensorBoard else tool()
