"""A RecBole configuration and its `.inter` folder, run as they are."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sahcns.data import load_split
from tests.cli.conftest import Sahcns, refused
from tests.cli.short_runs import record_of
from tests.model.films import films

BASE: dict[str, Any] = {
    "model": "LightGCN",
    "dataset": "films",
    "USER_ID_FIELD": "who",
    "ITEM_ID_FIELD": "what",
    "RATING_FIELD": "stars",
    "TIME_FIELD": "when",
    "load_col": {"inter": ["who", "what"]},
    "embedding_size": 4,
    "n_layers": 2,
    "reg_weight": "1e-4",
    "learning_rate": 0.01,
    "train_batch_size": 64,
    "epochs": 2,
    "stopping_step": 3,
    "valid_metric": "Recall@20",
    "topk": [5],
    "metrics": ["Recall", "NDCG", "AveragePopularity"],
    "use_gpu": False,
    "gpu_id": 0,
    "weight_decay": 0.1,
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """dataset/films/films.inter, and the same in three parts."""
    folder = tmp_path / "dataset" / "films"
    folder.mkdir(parents=True)
    header = "who:token\twhat:token\tstars:float\twhen:float"
    split = films()
    rows = {
        name: [f"{u}\t{i}\t{1 + (u + i) % 5}\t{1000 * u + i}" for u, i in zip(part.users, part.items, strict=True)]
        for name, part in split.parts().items()
    }
    for name, part in rows.items():
        (folder / f"films.{name}.inter").write_text("\n".join([header, *part]) + "\n")
    (folder / "films.inter").write_text("\n".join([header, *(row for part in rows.values() for row in part)]) + "\n")
    return tmp_path


def write(place: Path, **changes: Any) -> Path:
    file = place / "theirs.yaml"
    file.write_text(yaml.safe_dump({name: value for name, value in (BASE | changes).items() if value is not None}))
    return file


def test_it_prepares_trains_and_evaluates(sahcns: Sahcns, place: Path) -> None:
    done = sahcns("from-recbole", write(place), "--out", place / "run")
    assert done.code == 0, done.err
    record = record_of(place / "run")
    assert record["backbone"] == {"name": "lightgcn", "dim": 4, "depth": 2}
    assert record["sampler"] == {"name": "rns", "pool": 1}
    rules = {"epochs": 2, "batch": 64, "learning_rate": 0.01, "l2": 1e-4, "patience": 4, "monitor": "recall@20"}
    assert rules.items() <= record["protocol"].items()
    split = load_split(place / "run.data")
    assert len(split.train) + len(split.valid) + len(split.test) == sum(map(len, films().parts().values()))
    recipe: Any = split.manifest["recipe"]
    assert (recipe["split"], recipe["seed"]) == ("random-user", 2020)
    assert done.out.splitlines()[-1].startswith("with the most popular items for everybody: recall")
    assert "-k 5 --metrics recall,ndcg" in done.err
    assert "weight_decay" in done.err
    assert "AveragePopularity" in done.err
    assert "gpu_id" not in done.err
    assert "load_col" not in done.err


@pytest.mark.parametrize(
    ("changes", "part", "wanted"),
    [
        ({"train_neg_sample_args": {"dynamic": True, "candidate_num": 7}}, "sampler", {"name": "dns", "pool": 7}),
        (
            {"train_neg_sample_args": {"distribution": "popularity", "alpha": 0.5}},
            "sampler",
            {"name": "popularity", "pool": 1, "power": 0.5},
        ),
        ({"train_neg_sample_args": {"sample_num": 3}}, "sampler", {"name": "rns", "pool": 3}),
        ({"model": "BPR"}, "backbone", {"name": "mf", "dim": 4}),
        (
            {"model": "NGCF", "hidden_size_list": [4, 4]},
            "backbone",
            {"name": "ngcf", "dim": 4, "depth": 2, "variant": "original", "dropout": 0.1},
        ),
        (
            {"model": "SimGCL", "eps": 0.3},
            "backbone",
            {"name": "simgcl", "dim": 4, "depth": 2, "cl_weight": 0.1, "noise": 0.3, "temperature": 0.2},
        ),
    ],
)
def test_parts_of_the_run(sahcns: Sahcns, place: Path, changes: dict[str, Any], part: str, wanted: Any) -> None:
    config = write(place, **changes)
    assert sahcns("from-recbole", config, "--out", place / "run", "--dry-run").code == 0
    assert yaml.safe_load((place / "run.yaml").read_text())[part] == wanted


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"eval_args": {"split": {"RS": [8, 1, 1]}, "order": "TO"}}, "--split time-user --ratios 8:1:1"),
        ({"eval_args": {"group_by": None, "order": "TO"}}, "--split time --ratios 0.8:0.1:0.1"),
        ({"eval_args": {"split": {"LS": "valid_and_test"}, "order": "TO"}}, "--split leave-last-out"),
        ({"user_inter_num_interval": "[3,inf)", "item_inter_num_interval": "[3,inf)"}, "--core 3"),
        ({"val_interval": {"stars": "[2,inf)"}}, "--min-rating 2"),
        ({"benchmark_filename": ["train", "valid", "test"]}, "films.test.inter --valid"),
    ],
)
def test_how_the_set_is_made(sahcns: Sahcns, place: Path, changes: dict[str, Any], words: str) -> None:
    config = write(place, **changes)
    done = sahcns("from-recbole", config, "--out", place / "run", "--dry-run")
    assert words in done.err.replace(f"{place}/dataset/films/", "")
    assert not (place / "run.data").exists()
    line = next(line for line in done.err.splitlines() if "data prepare" in line).removeprefix("$ sahcns ")
    assert sahcns(*line.split()).code == 0  # which the command itself takes


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model": "LightGNC"}, "LightGCN"),
        ({"model": None}, "model"),
        ({"dataset": None}, "dataset"),
        ({"dataset": "other"}, "other.inter"),
        ({"epochs": "many"}, "many"),
        ({"user_inter_num_interval": "(1,5)"}, "(1,5)"),
        ({"eval_args": {"split": {"LS": "test_only"}}}, "test_only"),
        ({"train_neg_sample_args": {"distribution": "odd"}}, "odd"),
        ({"benchmark_filename": ["train"]}, "train"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(sahcns: Sahcns, place: Path, changes: dict[str, Any], named: str) -> None:
    config = write(place, **changes)
    assert named in refused(sahcns("from-recbole", config, "--out", place / "run"))
    assert not (place / "run.yaml").exists()


def test_a_file_of_somebody_else_s_is_left_alone(sahcns: Sahcns, place: Path) -> None:
    assert "theirs.yaml" in refused(sahcns("from-recbole", write(place), "--out", place / "theirs"))
    assert "not there" in refused(sahcns("from-recbole", place / "none.yaml", "--out", place / "run"))
