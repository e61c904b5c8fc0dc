"""`sahcns data stats`."""

from pathlib import Path

import numpy as np
import pytest

from sahcns.data import Split, save_split
from tests.cli.conftest import Sahcns, refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four users, five items; ten pairs of twenty."""
    train = np.array([[0, 0], [0, 1], [1, 1], [1, 2], [2, 3], [3, 4], [3, 0]])
    split = Split.from_pairs(train, [[0, 2]], [[1, 4], [2, 0]])
    return save_split(split, tmp_path / "small")


def test_table_one(sahcns: Sahcns, folder: Path) -> None:
    done = sahcns("data", "stats", folder, folder)
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[0] == ["set", "users", "items", "interactions", "density", "train", "valid", "test", "fingerprint"]
    assert [row[:8] for row in rows[2:]] == [["small", "4", "5", "10", "50.000%", "7", "1", "2"]] * 2


def test_one_set_with_its_degrees(sahcns: Sahcns, folder: Path) -> None:
    done = sahcns("data", "stats", folder)
    assert done.code == 0
    assert "density 50.0000%" in done.out
    assert "interactions per" in done.out
    assert "fingerprint" in done.out


def test_json(sahcns: Sahcns, folder: Path) -> None:
    (found,) = sahcns("data", "stats", folder, "--json").json
    assert (found["users"], found["items"], found["interactions"], found["density"]) == (4, 5, 10, 0.5)
    assert found["folder"] == str(folder)
    assert found["parts"]["test"] == {"interactions": 2, "users": 2, "items": 2}
    assert found["item_degrees"]["max"] == 3


def test_plot(sahcns: Sahcns, folder: Path, tmp_path: Path) -> None:
    done = sahcns("data", "stats", folder, "--json", "--plot", tmp_path / "degrees.svg")
    assert done.code == 0
    assert (tmp_path / "degrees.svg").read_text().lstrip().startswith("<svg")
    assert done.err == f"drawn in {tmp_path / 'degrees.svg'}\n"
    assert len(done.json) == 1


def test_what_it_refuses(sahcns: Sahcns, folder: Path, tmp_path: Path) -> None:
    assert "is not a prepared set" in refused(sahcns("data", "stats", tmp_path / "none"))
    assert "is not a prepared set" in refused(sahcns("data", "stats", tmp_path))
    assert ".png, .svg, .pdf" in refused(sahcns("data", "stats", folder, "--plot", tmp_path / "x.gif"))
    assert "--plot draws one set, and 2 were given" in refused(
        sahcns("data", "stats", folder, folder, "--plot", tmp_path / "x.png")
    )
    assert "missing argument" in refused(sahcns("data", "stats"))
    damaged = folder / "train.items.npy"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    assert "train.items.npy is not as it was written" in refused(sahcns("data", "stats", folder))
