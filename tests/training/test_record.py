"""What is written down about a run, and that it survives JSON."""

import json
import math
from typing import Any

import numpy
import pytest
import torch

from sahcns.backbones import Backbone, LightGCN
from sahcns.model import Run, fit
from sahcns.samplers import SAHC, Sampler
from sahcns.settings import by_name
from sahcns.training import Protocol
from sahcns.version import __version__
from tests.splits import random_split

SPLIT = random_split(12, 25, each=5, seed=3)
BACKBONE, SAMPLER = LightGCN(dim=4, depth=2), SAHC(pool=4, alpha=0.7)
PROTOCOL = Protocol(batch=16, epochs=6, evaluate_every=2, mask="train+valid")


@pytest.fixture(scope="module")
def run() -> Run:
    return fit(SPLIT, BACKBONE, SAMPLER, protocol=PROTOCOL, seed=11, device="cpu")


@pytest.fixture(scope="module")
def read_back(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(run.record.to_dict(), allow_nan=False))
    return found


def test_json_loses_nothing(run: Run, read_back: dict[str, Any]) -> None:
    assert read_back == run.record.to_dict() == run.recommender.record
    assert read_back["format"] == "sahcns-run"


def test_what_was_trained_and_how(read_back: dict[str, Any]) -> None:
    assert read_back["seed"] == 11
    assert Protocol.from_dict(read_back["protocol"]) == PROTOCOL
    for base, key, part in ((Backbone, "backbone", BACKBONE), (Sampler, "sampler", SAMPLER)):
        values = dict(read_back[key])
        assert by_name(base, values.pop("name"), values) == part


def test_the_data_and_the_machine(read_back: dict[str, Any]) -> None:
    assert read_back["data"] == {
        "fingerprint": SPLIT.fingerprint,
        "users": 12,
        "items": 25,
        "train": 60,
        "valid": 12,
        "test": 12,
    }
    machine = read_back["machine"]
    assert machine["sahcns"] == __version__
    assert machine["torch"] == torch.__version__
    assert machine["numpy"] == numpy.__version__
    assert machine["device"] == machine["kernels"] == "cpu"
    assert {"python", "system"} <= machine.keys()
    assert machine["threads"] == torch.get_num_threads()  # the last bits of a matrix product depend on it


def test_every_epoch_has_its_loss_and_its_seconds(read_back: dict[str, Any]) -> None:
    assert [entry["epoch"] for entry in read_back["history"]] == list(range(6))
    for entry in read_back["history"]:
        assert math.isfinite(entry["loss"])
        assert 0 < entry["loss"] < 1
        assert entry["seconds"] > 0
    assert set(read_back["history"][0]["valid"]) == {"recall@10", "recall@20", "ndcg@10", "ndcg@20"}


def test_metrics_of_the_best_and_of_the_last_epoch(read_back: dict[str, Any]) -> None:
    names = {"recall", "ndcg", "precision", "hit", "mrr", "map", "coverage", "popularity", "bias", "gini"}
    for part in ("valid", "test"):
        assert set(read_back[part]) == {"best", "last"}
        for metrics in read_back[part].values():
            assert set(metrics) == {f"{name}@{k}" for name in names for k in (10, 20)}
    looks = {entry["epoch"]: entry["valid"] for entry in read_back["history"] if "valid" in entry}
    for reading, epoch in (("best", read_back["best_epoch"]), ("last", 5)):
        assert looks[epoch].items() <= read_back["valid"][reading].items()


def test_time_is_split_into_parts(read_back: dict[str, Any]) -> None:
    seconds = read_back["seconds"]
    parts = {"draw", "propagate", "match", "loss", "backward", "step", "evaluate"}
    assert parts | {"total"} <= seconds.keys()
    assert all(value > 0 for value in seconds.values())
    assert sum(seconds[part] for part in parts) <= seconds["total"]


def test_a_sampler_from_a_users_script_is_recorded_by_the_name_of_its_class() -> None:
    class Softest(Sampler):
        def choose(self, match: Any, rng: Any) -> Any:
            return match.pick(match.scores.argmin(1))

    record = fit(SPLIT, BACKBONE, Softest(pool=3), protocol=PROTOCOL, device="cpu").record
    assert record.sampler == {"name": "Softest", "pool": 3}
    assert json.loads(json.dumps(record.to_dict())) == record.to_dict()


def test_it_shows_itself_without_its_history(run: Run) -> None:
    assert "history" not in repr(run.record)
    assert f"best_epoch={run.record.best_epoch}" in repr(run.record)
