"""A model folder gives back what was saved, finds every damage, and needs nothing of the machine it was made on."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from sahcns.backbones import NGCF, LightGCN
from sahcns.data import Recipe, prepare
from sahcns.errors import DataError
from sahcns.model import Recommender, fit
from sahcns.model.folder import check_place
from sahcns.samplers import DENS
from sahcns.training import Protocol
from tests.data.hand_made import interactions
from tests.model.films import films
from tests.sealing import write_sealed


@pytest.fixture(scope="module")
def model() -> Recommender:
    """With weights of every kind: tables, matrices, and gates of the sampler's own."""
    backbone, protocol = NGCF(dim=4, depth=1), Protocol(epochs=2, batch=64, evaluate_every=1)
    return fit(films(), backbone, DENS(pool=3), protocol=protocol, device="cpu").recommender


def same(one: Recommender, other: Recommender) -> None:
    for name in ("user_vectors", "item_vectors", "known_users", "known_items", "known_part"):
        before, after = getattr(one, name), getattr(other, name)
        assert before.dtype == after.dtype, name
        assert torch.equal(before, after), name
    assert one.weights.keys() == other.weights.keys()
    assert all(torch.equal(one.weights[name], other.weights[name]) for name in one.weights)
    for name in ("user_ids", "item_ids"):
        before, after = getattr(one, name), getattr(other, name)
        assert before.decode(range(len(before))) == after.decode(range(len(after)))


def test_what_is_saved_is_what_is_loaded(model: Recommender, tmp_path: Path) -> None:
    loaded = Recommender.load(model.save(tmp_path / "run"))
    same(model, loaded)
    assert {"ego", "W1.0"} < loaded.weights.keys()
    assert any(name.startswith("sampler.") for name in loaded.weights)
    assert {name: loaded.record[name] for name in model.record} == model.record
    assert loaded.recommend(["p03", "p04"], 5) == model.recommend(["p03", "p04"], 5)
    assert loaded.similar_items(103, 3) == model.similar_items(103, 3)
    assert str(loaded.recommend(["p03"], 1)[0][0].title).endswith("☕")


def test_a_loaded_model_is_saved_again_byte_for_byte(model: Recommender, tmp_path: Path) -> None:
    first = model.save(tmp_path / "first")
    second = Recommender.load(first).save(tmp_path / "second")
    assert {path.name for path in first.iterdir()} == {path.name for path in second.iterdir()}
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


def test_the_data_it_was_trained_on_comes_back_from_it(model: Recommender, tmp_path: Path) -> None:
    split = Recommender.load(model.save(tmp_path / "run")).split()
    assert split.fingerprint == films().fingerprint == model.record["data"]["fingerprint"]


def test_nothing_in_the_folder_is_a_pickle(model: Recommender, tmp_path: Path) -> None:
    for path in model.save(tmp_path / "run").iterdir():
        assert path.suffix in (".json", ".npy", ".safetensors", ".md")
        if path.suffix == ".npy":
            np.load(path, allow_pickle=False)


def test_it_loads_without_the_table_libraries_and_without_a_gpu(model: Recommender, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    code = (
        "import sys\n"
        "for name in ('polars', 'pandas', 'pyarrow', 'altair', 'rich', 'typer'): sys.modules[name] = None\n"
        "from sahcns.model import Recommender\n"
        "model = Recommender.load(sys.argv[1])\n"
        "assert model.user_vectors.device.type == 'cpu'\n"
        "print(model.recommend(['p03'], 1)[0][0].item)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, env={"CUDA_VISIBLE_DEVICES": ""}, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert int(done.stdout) == model.recommend(["p03"], 1)[0][0].item


@pytest.mark.parametrize(
    "name", ["weights.safetensors", "vectors.safetensors", "known.safetensors", "user_ids.utf8.npy", "item_ids.npy"]
)
def test_one_changed_byte_is_found_and_its_file_named(model: Recommender, tmp_path: Path, name: str) -> None:
    path = model.save(tmp_path / "run") / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=rf"run/{name} .*SHA-256"):
        Recommender.load(tmp_path / "run")


def rewritten(change: Callable[[Path], None], folder: Path) -> None:
    """Damage a folder as a hand would that keeps the checksums right."""
    change(folder)
    record = json.loads((folder / "run.json").read_text("utf-8"))
    contents = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "run.json"}
    record["files"] = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in contents.items()
    }
    write_sealed(folder / "run.json", record)


def fewer_vectors(folder: Path) -> None:
    tensors = load_file(folder / "vectors.safetensors")
    save_file({**tensors, "items": tensors["items"][:-1].clone()}, folder / "vectors.safetensors")


def diverged(folder: Path) -> None:
    tensors = load_file(folder / "vectors.safetensors")
    tensors["items"][3, 1] = -torch.inf
    save_file(tensors, folder / "vectors.safetensors")


def no_items(folder: Path) -> None:
    save_file({"users": torch.zeros(24, 8)}, folder / "vectors.safetensors")


def beyond(folder: Path) -> None:
    known = load_file(folder / "known.safetensors")
    aside = {name: torch.tensor([0, 24], dtype=torch.int32) for name in ("aside_users", "aside_items")}
    save_file({**known, **aside}, folder / "known.safetensors")


def not_tensors(folder: Path) -> None:
    (folder / "known.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0not json")


def pickled_ids(folder: Path) -> None:
    np.save(folder / "item_ids.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (fewer_vectors, r"item vectors of shape \(19, 8\) for 24 users and 20 items"),
        (diverged, "item_vectors row 3 is not finite"),
        (no_items, "no 'items' in it"),
        (beyond, "aside users at positions 0 to 24 of 24"),
        (not_tensors, "header"),
        (pickled_ids, "Python objects in dtype"),
        (lambda folder: (folder / "weights.safetensors").unlink(), r"weights\.safetensors"),
    ],
)
def test_a_folder_put_together_by_hand_is_refused(
    model: Recommender, tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    rewritten(change, model.save(tmp_path / "run"))
    with pytest.raises(DataError, match=f"run is not a whole trained model .*{message}"):
        Recommender.load(tmp_path / "run")


def test_a_file_that_goes_while_the_folder_is_read_is_no_crash(
    model: Recommender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch says it by a RuntimeError, which nobody who replaces a model under a service expects."""
    folder = model.save(tmp_path / "run")
    monkeypatch.setattr(
        "sahcns.folders._check", lambda *checked: (folder / "weights.safetensors").unlink(missing_ok=True)
    )
    with pytest.raises(DataError, match=r"is not a whole trained model \(.*No such file"):
        Recommender.load(folder)


def test_a_model_copied_over_one_with_other_ids_is_itself_and_can_be_replaced(tmp_path: Path) -> None:
    """Numbers and texts are sorted differently: with the former's ids, each user would have the lists of another."""
    rows = [(user, item) for user in (2, 10, 30) for item in (5, 40, 100)]
    numbers = prepare(interactions(rows, titles={5: "five"}), Recipe())
    texts = prepare(interactions([(str(user), str(item)) for user, item in rows]), Recipe())
    protocol = Protocol(epochs=1, batch=8, evaluate_every=1)
    old, new = (fit(split, LightGCN(dim=2), protocol=protocol, device="cpu").recommender for split in (numbers, texts))
    for first, second in ((old, new), (new, old)):
        place = first.save(tmp_path / "live")
        shutil.copytree(second.save(tmp_path / "copy"), place, dirs_exist_ok=True)
        same(Recommender.load(place), second)
        check_place(place)
        first.save(place)
        same(Recommender.load(place), first)
        assert {path.name for path in place.iterdir()} == {
            "run.json",
            "MODEL.md",
            *json.loads((place / "run.json").read_text())["files"],
        }


def test_only_a_model_is_replaced(model: Recommender, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    model.save(tmp_path / "run")
    check_place(tmp_path / "run")
    check_place(tmp_path / "a" / "b" / "c")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    for refused in (check_place, model.save):
        with pytest.raises(DataError, match=r"holds 'notes\.txt', which is not part of a trained model"):
            refused(tmp_path / "run")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="is not a folder that can be written to"):
        check_place(tmp_path / "file" / "run")
