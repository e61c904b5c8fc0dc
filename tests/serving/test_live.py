"""A folder that changes under a model that answers: what is half there, damaged or made to harm is not taken up."""

import gc
import hashlib
import json
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from sahcns.backbones import LightGCN
from sahcns.baselines import ItemWeights
from sahcns.errors import DataError
from sahcns.model import fit
from sahcns.serving import live as live_module
from sahcns.serving.live import LiveModel
from sahcns.training import Protocol
from tests.model.films import films
from tests.model.test_recommender import made
from tests.sealing import write_sealed


def tensors(folder: Path, stem: str, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    found = {name: tensor.clone() for name, tensor in load_file(folder / f"{stem}.safetensors").items()}
    change(found)
    save_file(found, folder / f"{stem}.safetensors")
    record(folder)


def record(folder: Path, **values: Any) -> None:
    """Entries of the record, and digests that agree with the files."""
    described = json.loads((folder / "run.json").read_text()) | values
    for name, entry in described["files"].items() if isinstance(described["files"], dict) else ():
        content = (folder / name).read_bytes()
        entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    fresh = folder / "next.json"
    write_sealed(fresh, described)
    fresh.rename(folder / "run.json")


def spoil(name: str, value: float) -> Callable[[dict[str, torch.Tensor]], Any]:
    return lambda found: found[name].view(-1).__setitem__(3, value)


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "a vector that is not finite": lambda run: tensors(run, "vectors", spoil("items", np.nan)),
    "products that overflow": lambda run: tensors(run, "vectors", lambda found: [one.fill_(1e30) for one in found.values()]),
    "whole numbers for vectors": lambda run: tensors(run, "vectors", lambda found: found.update(items=found["items"].int())),
    "data that is a number": lambda run: record(run, data=5),
    "files that are a list": lambda run: record(run, files=["run.json"]),
    "a file half copied": lambda run: (run / "known.safetensors").write_bytes(b"half"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_it_is_not_taken_up(damage: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "RETRY_SECONDS", 0.0)
    messages: list[str] = []
    folder = made(films()).save(tmp_path / "run")
    live = LiveModel(folder, messages.append)
    former, list_before = live.loaded, live.model.recommend(["p03"], 5)
    damage(folder)
    (folder / "run.json").touch()
    live.refresh()
    live.refresh()
    assert live.loaded is former
    assert live.model.recommend(["p03"], 5) == list_before
    assert len(messages) == 1
    assert live.described()["not_loaded"]
    assert str(tmp_path) not in json.dumps(live.described())
    fresh = made(films(), seed=2)
    shutil.rmtree(folder)
    fresh.save(folder)
    live.refresh()
    assert live.model.recommend(["p03"], 5) == fresh.recommend(["p03"], 5)
    assert live.described()["not_loaded"] is None


def test_weights_that_are_not_finite_are_no_model(tmp_path: Path) -> None:
    """Of EASE and item-kNN, which have no vectors."""
    model = made(films())
    model.item_weights, model.record["baseline"] = ItemWeights(torch.eye(20).numpy()), {"name": "ease"}
    folder = model.save(tmp_path / "run")
    LiveModel(folder, print)
    tensors(folder, "item_weights", spoil("values", np.nan))
    with pytest.raises(DataError, match="item_weights"):
        LiveModel(folder, print)


def test_files_that_are_written_over_do_not_end_the_process(tmp_path: Path) -> None:
    """Another model is copied over the one that answers, with a moment in which its files are empty."""
    run = fit(films(), LightGCN(dim=4, depth=2), protocol=Protocol(epochs=1, batch=64))
    live = LiveModel(run.recommender.save(tmp_path / "run"), print)
    (tmp_path / "run" / "weights.safetensors").write_bytes(b"")
    why = live.loaded.explain(3, 2, user=3, have=torch.zeros(0, dtype=torch.int64))
    assert len(why["reasons"]) == 2
    assert live.loaded.model.weights["ego"].isfinite().all()


def test_a_model_that_was_replaced_is_gone_at_once(tmp_path: Path) -> None:
    """It may hold a gigabyte, and Python looks for circles of objects when it likes."""
    live = LiveModel(made(films()).save(tmp_path / "run"), print)
    former = weakref.ref(live.loaded)
    assert live.loaded.name_fields(0)
    gc.disable()
    try:
        made(films(), seed=1).save(tmp_path / "run")
        live.refresh()
        assert former() is None
    finally:
        gc.enable()


def test_a_third_model_waits_until_nobody_has_the_first(tmp_path: Path) -> None:
    live = LiveModel(made(films()).save(tmp_path / "run"), print)
    kept = []
    for seed in (1, 2, 3):
        kept.append(live.model)
        made(films(), seed=seed).save(tmp_path / "run")
        live.refresh()
    assert live.model is kept[2]
    del kept[0]
    live.refresh()
    assert live.model is not kept[-1]
