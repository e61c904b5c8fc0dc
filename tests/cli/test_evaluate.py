"""Ranking a stored model again gives the numbers of training, and only against the data of training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from sahcns.backbones import LightGCN
from sahcns.data import save_split
from sahcns.model import Recommender
from sahcns.ranking import Truth, evaluate, rank
from sahcns.samplers import DNS
from sahcns.training import Protocol, fit
from tests.cli.conftest import Sahcns, refused
from tests.model.films import films


@pytest.fixture(scope="module")
def model() -> Recommender:
    """Masks training and validation in the test ranking, which is not the default."""
    protocol = Protocol(epochs=3, batch=64, mask="train+valid")
    return fit(films(), LightGCN(dim=4), DNS(pool=4), protocol=protocol, device="cpu").recommender


@pytest.fixture
def run(model: Recommender, tmp_path: Path) -> Path:
    model.record["data"]["folder"] = str(save_split(films(), tmp_path / "films"))
    return model.save(tmp_path / "run")


def test_it_gives_the_numbers_of_training(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    done = sahcns("evaluate", run, "--json")
    assert (done.code, done.err) == (0, "")
    recorded = model.record["test"]["best"]
    assert done.json["metrics"] == pytest.approx(recorded)
    assert done.json["metrics"].keys() == recorded.keys()
    assert (done.json["part"], done.json["mask"]) == ("test", "train+valid")
    assert done.json["users"] == len(set(films().test.users.tolist()))
    assert done.json["data"] == model.record["data"]["folder"]
    valid = sahcns("evaluate", run, "--part", "valid", "--json").json
    assert valid["mask"] == "train"
    assert valid["metrics"] == pytest.approx(model.record["valid"]["best"])


def test_other_cuts_metrics_and_masks(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    asked = ("--mask", "none", "-k", "5,1", "--metrics", "ndcg,hit", "--json")
    found = sahcns("evaluate", run, *asked).json["metrics"]
    truth = Truth.of(films(), "test", "none")
    assert found == evaluate(model.user_vectors, model.item_vectors, truth, [1, 5], ["ndcg", "hit"])
    assert set(found) == {"ndcg@1", "ndcg@5", "hit@1", "hit@5"}


def test_the_table_is_in_percent_where_that_makes_sense(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    done = sahcns("evaluate", run)
    rows = {line.split()[0]: line.split() for line in done.out.splitlines() if line}
    recorded = model.record["test"]["best"]
    assert rows["recall"][1:3] == [f"{recorded['recall@10']:.2%}", f"{recorded['recall@20']:.2%}"]
    assert rows["popularity"][1] == f"{recorded['popularity@10']:.3f}"
    *_, how, beside = done.out.splitlines()
    assert how.endswith("users, train+valid items left out of the ranking")
    assert beside.startswith("with the most popular items for everybody: recall ")


def test_the_most_popular_items_stand_beside_it(sahcns: Sahcns, run: Path) -> None:
    split, asked = films(), ("-k", "3,5", "--metrics", "recall,hit")
    found = sahcns("evaluate", run, *asked, "--json").json["popular"]
    often = np.bincount(split.train.items, minlength=split.n_items)
    hits = []
    for user in sorted(set(split.test.users.tolist())):
        seen = {int(i) for part in (split.train, split.valid) for i in part.items[part.users == user]}
        best = [int(i) for i in np.argsort(-often, kind="stable") if int(i) not in seen][:3]
        hits.append(bool(set(best) & set(split.test.items[split.test.users == user].tolist())))
    assert found["hit@3"] == pytest.approx(np.mean(hits))
    assert set(found) == {"recall@3", "recall@5", "hit@3", "hit@5"}
    last = sahcns("evaluate", run, *asked).out.splitlines()[-1]
    numbers = f"recall {found['recall@3']:.2%} and {found['recall@5']:.2%}"
    assert last == f"with the most popular items for everybody: {numbers}"
    assert sahcns("evaluate", run, "--metrics", "hit").out.endswith("left out of the ranking\n")


def test_other_data_is_refused(sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path) -> None:
    other = save_split(films(seed=1), tmp_path / "other")
    sentence = refused(sahcns("evaluate", run, "--data", other))
    assert f"{other} holds other data (fingerprint {films(seed=1).fingerprint[:12]}…)" in sentence
    assert f"({films().fingerprint[:12]}…), so its numbers would mean nothing; give the run's own data" in sentence


def test_newer_data_in_the_same_folder_are_not_mistaken_for_those_of_the_run(
    sahcns: Sahcns, run: Path, model: Recommender
) -> None:
    save_split(films(seed=1), model.record["data"]["folder"])
    done = sahcns("evaluate", run, "--json")
    assert done.json["metrics"] == pytest.approx(model.record["test"]["best"])
    assert (done.json["data"], done.json["fingerprint"]) == (None, films().fingerprint)
    assert done.err.endswith("holds other data by now; the pairs kept with the model are used\n")


def test_a_run_that_was_moved_is_ranked_by_what_it_holds(
    sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path
) -> None:
    moved = Path(model.record["data"]["folder"]).rename(tmp_path / "elsewhere")
    done = sahcns("evaluate", run, "--json")
    assert done.json["metrics"] == pytest.approx(model.record["test"]["best"])
    assert done.json["data"] is None
    assert done.err.endswith("is not here; the pairs kept with the model are used\n")
    assert sahcns("evaluate", run, "--data", moved, "--json").json["data"] == str(moved)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--part", "train"], "part='train' is not one of valid, test"),
        (["--part", "tets"], "part='tets' is not one of valid, test; did you mean 'test'?"),
        (["--mask", "trian"], "did you mean 'train'?"),
        (["--part", "valid", "--mask", "train+valid"], "would hide the validation items"),
        (["-k", "0"], "-k '0' must be whole numbers, 1 or more"),
        (["-k", "5;10"], "-k '5;10' must be whole numbers, 1 or more, with commas between, such as 5,10,20"),
        (["--metrics", "recal"], "metric 'recal' is not known; did you mean 'recall'?"),
        (["--data", "nowhere"], "nowhere is not a prepared set: it is not there"),
        (["--device", "gpu"], "device='gpu' is not a device"),
        (["-k", "5,1000000"], "-k 1000000: there are only 20 items; rank fewer"),
    ],
)
def test_a_mistake_is_one_sentence(sahcns: Sahcns, run: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in refused(sahcns("evaluate", run, *arguments))


def test_no_run(sahcns: Sahcns, tmp_path: Path) -> None:
    sentence = refused(sahcns("evaluate", tmp_path / "nothing"))
    assert sentence.endswith("is not a trained model: it is not there; make one with `sahcns train`")


def test_only_the_model_is_ranked(sahcns: Sahcns, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The most popular items were ranked as a model of one dimension, over everybody once more."""
    ranked = list[int]()

    def counted(users: Tensor, items: Tensor, truth: Truth, *told: Any) -> Tensor:
        ranked.append(len(truth))
        return rank(users, items, truth, *told)

    monkeypatch.setattr("sahcns.ranking.evaluation.rank", counted)
    assert sahcns("evaluate", run, "--json").json["popular"]
    assert len(ranked) == 1
