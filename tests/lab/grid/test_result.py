"""A result's file: what goes in comes out, what is broken or foreign is named, and terms decide who shares a table."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sahcns.errors import DataError, SettingError
from sahcns.lab.grid.result import Result, columns, results_in, terms_differ


def result(seed: int = 1, label: str = "sahc", **rest: object) -> Result:
    """A result made by hand."""
    values: dict[str, object] = {
        "key": f"mf-sahc-s{seed}-00",
        "label": label,
        "seed": seed,
        "backbone": {"name": "mf", "dim": 4},
        "sampler": {"name": "sahc", "alpha": 0.3},
        "protocol": {"batch": 64, "mask": "train"},
        "data": {"name": "films", "fingerprint": "f" * 64, "users": 3},
        "machine": {"torch": "2", "kernels": "cpu", "device": "cpu"},
        "best_epoch": 5,
        "epochs_run": 7,
        "stopped": "patience",
        "valid": {"best": {"recall@20": 0.5}, "last": {"recall@20": 0.25}},
        "test": {"best": {"recall@20": 0.4, "ndcg@20": 0.1 + 0.2}, "last": {"recall@20": 0.3, "ndcg@20": 0.2}},
        "seconds": {"total": 1.5},
        "history": {"loss": [0.6], "seconds": [0.1], "looks": {"epoch": [0], "seconds": [0.1], "recall@20": [0.5]}},
    }
    return Result(**{**values, **rest})  # type: ignore[arg-type]


def test_what_is_saved_is_loaded_to_the_last_bit(tmp_path: Path) -> None:
    users = {"user": np.array([0, 2], np.int32), "recall@20": np.array([1 / 3, 0.0], np.float32)}
    saved = result(commit="abc", imports=["mine.py"], per_user=users).save(tmp_path)
    assert saved.path == tmp_path / "runs" / "mf-sahc-s1-00.json"
    loaded = Result.load(saved.path)
    assert loaded.to_dict() == saved.to_dict()
    assert loaded.test["best"]["ndcg@20"] == 0.1 + 0.2
    found = loaded.users()
    assert found is not None
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in users.items()
    }
    assert json.loads(saved.path.read_text())["format"] == "sahcns-result"


def test_users_may_be_left_behind_and_broken_or_pickled_ones_are_refused(tmp_path: Path) -> None:
    path = result().save(tmp_path).path
    assert path is not None
    assert Result.load(path).users() is None
    (tmp_path / "users").mkdir()
    users = tmp_path / "users" / "mf-sahc-s1-00.npz"
    users.write_bytes(b"torn")
    with pytest.raises(DataError, match="mf-sahc-s1-00"):
        Result.load(path).users()
    np.savez(users, user=np.array([{"an": "object"}], dtype=object))
    with pytest.raises(DataError, match="allow_pickle"):
        Result.load(path).users()


def test_all_results_of_a_folder_in_order(tmp_path: Path) -> None:
    for seed, label in ((3, "b"), (1, "b"), (2, "a")):
        result(seed, label).save(tmp_path)
    (tmp_path / "runs" / ".half.json.1f3a9c04").write_text("{")
    (tmp_path / "runs" / "notes.txt").write_text("mine")
    assert [(one.label, one.seed) for one in results_in(tmp_path)] == [("a", 2), ("b", 1), ("b", 3)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"format": "sahcns-result", ', "JSON"),
        ('{"format": "something"}', ""),
        ("[]", ""),
        ('{"format": "sahcns-result", "format_version": 9}', "9"),
        ('{"format": "sahcns-result", "format_version": 1, "key": "k"}', "'label'"),
        (result(1).to_json(), "'mf-sahc-s1-00'"),  # a copy would be counted as one more seed
    ],
)
def test_what_is_no_result_is_named(tmp_path: Path, text: str, named: str) -> None:
    result().save(tmp_path)
    (tmp_path / "runs" / "mf-sahc-s9-00.json").write_text(text)
    with pytest.raises(DataError, match=f"mf-sahc-s9-00.json.*{named}"):
        results_in(tmp_path)


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'runs'"):
        results_in(tmp_path)
    with pytest.raises(DataError, match="none"):
        Result.load(tmp_path / "none.json")


def test_a_metric_by_reading_and_part() -> None:
    one = result()
    assert one.metric("recall@20") == 0.4
    assert one.metric("recall@20", "last") == 0.3
    assert one.metric("recall@20", part="valid") == 0.5
    with pytest.raises(SettingError, match="recal@20"):
        one.metric("recal@20")
    with pytest.raises(SettingError, match="first"):
        one.metric("recall@20", "first")
    with pytest.raises(SettingError, match="train"):
        one.metric("recall@20", part="train")


def test_terms_that_differ_are_said_in_words() -> None:
    one = result()
    other = dataclasses.replace(
        one,
        protocol={"batch": 32, "mask": "train+valid", "monitor": "ndcg@20"},  # how it was trained is its row's own
        data={"name": "shop", "fingerprint": "a" * 64},
        machine={"kernels": "triton"},
    )
    assert one.terms != other.terms
    assert terms_differ(one.terms, other.terms) == [
        "data: films (ffffffffff) and shop (aaaaaaaaaa)",
        "kernels: cpu and triton",
        "mask: train and train+valid",
        "monitor: not given and ndcg@20",
    ]


def test_the_history_as_columns_with_few_digits() -> None:
    history: list[dict[str, Any]] = [
        {"epoch": 0, "loss": 0.693147180, "seconds": 0.0123456, "valid": {"recall@20": 0.123456789}},
        {"epoch": 1, "loss": 0.512345678, "seconds": 10.5},
        {"epoch": 2, "loss": 1.5e-7, "seconds": 1.0, "valid": {"recall@20": 0.2}},
    ]
    assert columns(history) == {
        "loss": [0.69315, 0.51235, 1.5e-7],
        "seconds": [0.01235, 10.5, 1.0],
        "looks": {"epoch": [0, 2], "seconds": [0.012, 11.512], "recall@20": [0.123457, 0.2]},
    }
