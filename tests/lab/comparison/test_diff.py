"""How two runs differ: everything that was put in, whether they may share a table, and what came out."""

import copy
from pathlib import Path

import pytest

from sahcns.backbones import MF
from sahcns.errors import DataError
from sahcns.lab.comparison.diff import Difference, apart, differences, measured, read_run
from sahcns.model import fit
from sahcns.samplers import RNS
from sahcns.training import Protocol
from tests.lab.grid.test_result import result
from tests.model.films import films


def test_a_run_and_itself_differ_in_nothing() -> None:
    run = result().to_dict()
    assert (differences(run, copy.deepcopy(run)), apart(run, run)) == ([], [])
    assert {value.difference for value in measured(run, run)} == {0.0}


def test_every_difference_is_found_in_its_section() -> None:
    first = result().to_dict()
    second = result(
        7,
        sampler={"name": "dns", "pool": 5},
        protocol={"batch": 32, "mask": "train+valid"},
        data={"name": "copy", "fingerprint": "a" * 64, "users": 3},
        machine={"torch": "3", "kernels": "cpu", "device": "cpu", "sahcns": "0.2"},
        commit="abc",
        objective={"name": "hinge"},
        epochs_run=8,
        seconds={"total": 2.5},
    ).to_dict()
    assert differences(first, second) == [
        Difference("sampler", "name", "sahc", "dns"),
        Difference("sampler", "alpha", 0.3, None),
        Difference("sampler", "pool", None, 5),
        Difference("objective", "name", "bpr", "hinge"),
        Difference("protocol", "batch", 64, 32),
        Difference("protocol", "mask", "train", "train+valid"),
        Difference("run", "seed", 1, 7),
        Difference("run", "epochs_run", 7, 8),
        Difference("data", "fingerprint", "f" * 64, "a" * 64),
        Difference("sources", "sahcns", None, "0.2"),
        Difference("sources", "commit", None, "abc"),
        Difference("machine", "torch", "2", "3"),
        Difference("machine", "seconds", 1.5, 2.5),
    ]
    assert apart(first, second) == ["data: films (ffffffffff) and copy (aaaaaaaaaa)", "mask: train and train+valid"]


def test_metrics_of_both_test_first() -> None:
    second = result(2, test={"best": {"recall@20": 0.5, "map@10": 1.0}})
    found = [
        (one.part, one.reading, one.name, one.difference) for one in measured(result().to_dict(), second.to_dict())
    ]
    assert found == [
        ("test", "best", "recall@20", pytest.approx(0.1)),
        ("valid", "best", "recall@20", 0.0),
        ("valid", "last", "recall@20", 0.0),
    ]


def test_a_result_and_a_model_folder_are_read_alike(tmp_path: Path) -> None:
    run = fit(films(), MF(dim=4), RNS(), protocol=Protocol(epochs=1, batch=64), seed=3, device="cpu")
    folder = run.recommender.save(tmp_path / "model")
    assert read_run(folder) == read_run(folder / "run.json")
    assert read_run(folder)["test"] == run.record.test
    path = result().save(tmp_path).path
    assert path is not None
    assert Difference("run", "seed", 3, 1) in differences(read_run(folder), read_run(path))
    assert any(reason.startswith("data: ") for reason in apart(read_run(folder), read_run(path)))


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    for name in ("run.json", "gone.json", "other.json"):
        with pytest.raises(DataError, match=name):
            read_run(tmp_path / name)
