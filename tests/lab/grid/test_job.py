"""A job: its key covers what decides the result and nothing else, its result agrees with `fit`, and it names its set."""

import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sahcns.backbones import MF, LightGCN
from sahcns.data import load_split, save_split
from sahcns.data.catalogue import CATALOGUE, named_set
from sahcns.errors import DataError
from sahcns.importing import import_files
from sahcns.lab.grid.job import Job, data_name
from sahcns.model import fit
from sahcns.objectives import BPR, SampledSoftmax
from sahcns.samplers import DNS, SAHC, Sampler
from sahcns.settings import class_named
from sahcns.training.record import described
from tests.lab.grid.jobs import QUICK, job, prepared
from tests.model.films import films
from tests.own_samplers import SOFTEST, write_samplers


def test_a_key_is_readable_and_fit_for_a_file_name(tmp_path: Path) -> None:
    made = job(prepared(tmp_path), SAHC(), backbone=LightGCN(dim=4))
    assert re.fullmatch(r"lightgcn-sahc-s2020-[0-9a-f]{10}", made.key)
    odd = dataclasses.replace(made, sampler={"name": "My Sampler/2 ☕", "pool": 3})
    assert re.fullmatch(r"lightgcn-my-sampler-2-s2020-[0-9a-f]{10}", odd.key)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2021},
        {"backbone": MF(dim=5)},
        {"sampler": SAHC(alpha=0.4)},
        {"protocol": dataclasses.replace(QUICK, mask="train+valid")},
        {"protocol": dataclasses.replace(QUICK, draw="users")},
        {"kernels": "reference"},
        {"objective": SampledSoftmax()},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_key_changes_with_what_decides_the_result(tmp_path: Path, change: dict[str, Any]) -> None:
    data = prepared(tmp_path)
    assert job(data, **{"sampler": SAHC(), **change}).key != job(data, SAHC()).key


def test_a_key_changes_with_the_data_and_not_with_its_place_or_the_label(tmp_path: Path) -> None:
    data = prepared(tmp_path)
    moved = tmp_path / "elsewhere"
    shutil.copytree(data, moved)
    assert job(moved, label="ours", imports=["x.py"]).key == job(data, objective=BPR()).key == job(data).key
    assert job(save_split(films(seed=1), tmp_path / "other")).key != job(data).key


def test_a_number_is_the_same_however_it_was_typed(tmp_path: Path) -> None:
    data = prepared(tmp_path)
    typed: list[Any] = [1, 1.0, np.float64(1), np.int64(1)]
    keys = {job(data, SAHC(alpha=alpha)).key for alpha in typed}
    assert len(keys) == 1
    assert job(data, SAHC(alpha=2)).key not in keys


def test_the_keys_of_the_runs_in_the_tree_are_those_that_their_settings_give() -> None:
    """So a folder of an earlier version goes on without running anything again."""
    paths = list((Path(__file__).parents[3] / "reproduction" / "results" / "runs").glob("*.json"))
    assert len(paths) > 1000
    for path in paths:
        told = json.loads(path.read_text("utf-8"))
        parts = (told["backbone"], told["sampler"], told["protocol"], told["seed"])
        assert Job("", told["data"]["fingerprint"], "", *parts).key == told["key"] == path.stem


def test_the_result_is_that_of_fit_and_its_users_average_to_it(tmp_path: Path) -> None:
    data = prepared(tmp_path)
    softmax, sampler = SampledSoftmax(temperature=0.3), SAHC(alpha=0.7)
    wanted = job(data, sampler, seed=3, backbone=LightGCN(dim=4), label="ours", objective=softmax)
    seen: list[dict[str, Any]] = []
    result = wanted.run("cpu", seen.append)
    run = fit(load_split(data), LightGCN(dim=4), sampler, softmax, protocol=QUICK, seed=3, device="cpu")
    assert (result.test, result.valid) == (run.record.test, run.record.valid)
    assert result.sampler == {"name": "sahc", "pool": 10, "alpha": 0.7, "lambda_max": 0.5}
    assert (result.objective, result.around["objective.temperature"]) == (described(softmax), 0.3)
    assert (result.key, result.label, result.seed, result.stopped) == (wanted.key, "ours", 3, "epochs")
    assert result.data["name"] == "films"
    assert result.data["fingerprint"] == films().fingerprint
    assert [entry["epoch"] for entry in seen] == [0, 1]
    assert result.history["loss"] == pytest.approx([entry["loss"] for entry in run.record.history], rel=1e-4)
    users = result.users()
    assert users is not None
    assert users["user"].tolist() == sorted(set(films().test.users.tolist()))
    assert set(users) == {"user", "recall@10", "recall@20", "ndcg@10", "ndcg@20"}
    for name in ("recall@10", "ndcg@10", "ndcg@20"):
        assert users[name].shape == users["user"].shape
        assert users[name].std() > 0
        assert users[name].mean() == pytest.approx(result.metric(name), abs=1e-6)


def test_data_that_changed_since_the_plan_is_refused(tmp_path: Path) -> None:
    data = prepared(tmp_path)
    planned = job(data)
    save_split(films(seed=1), data)
    with pytest.raises(DataError, match="films holds other data"):
        planned.run("cpu")


def test_a_users_own_file_is_imported_and_its_text_decides_too(tmp_path: Path) -> None:
    data, mine = prepared(tmp_path), tmp_path / "jobs_own.py"

    def softest(lines: str = SOFTEST) -> Job:
        import_files([write_samplers(mine, {"softest-of-jobs": lines})])
        kind = class_named(Sampler, "softest-of-jobs")
        return job(data, kind(), imports=[mine])

    first = softest()
    assert first.code is not None
    assert job(data, DNS(), imports=[mine]).code is None  # a built-in one does not change with that file
    assert job(data, DNS(), imports=[mine]).key == job(data, DNS()).key
    result = first.run("cpu")
    assert (result.sampler["name"], result.imports, result.code) == ("softest-of-jobs", [str(mine)], first.code)
    assert softest(SOFTEST.replace("argmin", "argmax")).key != first.key
    assert softest().key == first.key


def manifest(name: str, **changes: Any) -> dict[str, Any]:
    """As `prepare_named` writes it, without the pairs."""
    recipe = dataclasses.replace(named_set(name).recipe, **changes)
    return {"catalogue": {"name": name}, "recipe": recipe.to_dict(), "fingerprint": "0123456789abcdef"}


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_as_the_catalogue_prepares_it_it_has_the_catalogue_s_name(name: str) -> None:
    assert data_name(manifest(name), "here") == name


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"core": 5}, "ml-1m (5-core)"),
        ({"core": 1}, "ml-1m"),  # which is off, too
        ({"min_rating": None, "core": 10}, "ml-1m (all ratings, 10-core)"),
        ({"years": (2001, 2002)}, "ml-1m (2001–2002)"),
        ({"split": "time-user"}, "ml-1m (split time-user)"),
        ({"ratios": (0.8, 0.1, 0.1)}, "ml-1m"),
        ({"ratios": (7, 1, 2)}, "ml-1m (7:1:2)"),
        ({"seed": 3}, "ml-1m (seed 3)"),
        ({"events": ("purchase", "cart")}, "ml-1m (purchase+cart)"),
    ],
)
def test_what_is_not_the_catalogue_s_is_told(changes: dict[str, Any], told: str) -> None:
    assert data_name(manifest("ml-1m", **changes), "here") == told


def test_of_a_given_split_only_what_counts_is_told() -> None:
    assert data_name(manifest("amazon-toys", ratios=(0.9, 0.1, 0), seed=4), "here") == "amazon-toys"
    assert data_name(manifest("amazon-toys", unseen="drop"), "here") == "amazon-toys (unseen drop)"
    held_out = manifest("gowalla", ratios=(0.9, 0.1, 0))  # validation is drawn from the training rows, by the seed
    assert data_name(held_out, "here") == "gowalla"
    assert data_name(manifest("gowalla", seed=4), "here") == "gowalla (seed 4)"


def test_other_counts_are_other_data() -> None:
    given = manifest("ml-1m")
    given["catalogue"]["differs_from_catalogue"] = ["users 6,040 instead of 6,039"]
    assert data_name(given, "here") == "ml-1m (data 0123456789)"


def test_without_a_name_it_is_called_by_its_folder(tmp_path: Path) -> None:
    assert data_name({}, tmp_path / "shop") == "shop"
    assert data_name({"catalogue": {"name": "of my own"}, "recipe": {"core": 9}}, "here") == "of my own"
