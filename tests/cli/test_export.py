"""`sahcns export`: the folder, said and written; never over a model."""

import json
from pathlib import Path

from tests.cli.conftest import Sahcns, refused
from tests.model.films import films
from tests.model.test_recommender import made


def test_an_export_is_written_and_replaced(sahcns: Sahcns, tmp_path: Path) -> None:
    run = made(films()).save(tmp_path / "run")
    told = sahcns("export", run, "--to", tmp_path / "out", "--format", "npy", "--json").json
    assert told["folder"] == str(tmp_path / "out")
    assert "npy" in sahcns("export", run, "--to", tmp_path / "out", "--format", "npy").out  # again, over the former
    assert set(json.loads((tmp_path / "out" / "export.json").read_text())["files"]) == {
        "users.npy", "items.npy", "user_ids.npy", "item_ids.npy"
    }  # fmt: skip
    assert str(run) in refused(sahcns("export", run, "--to", run))
