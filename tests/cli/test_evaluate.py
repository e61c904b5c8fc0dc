"""Ranking a stored model again gives the numbers of training, and only against the data of training."""

from pathlib import Path

import pytest

from sahcns.backbones import LightGCN
from sahcns.data import save_split
from sahcns.model import Recommender, fit
from sahcns.ranking import Truth, evaluate, means, measure, most_popular
from sahcns.samplers import DNS
from sahcns.training import Protocol
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


def test_the_most_popular_items_stand_beside_it(sahcns: Sahcns, run: Path) -> None:
    asked, truth = ("-k", "3,5", "--metrics", "recall,hit"), Truth.of(films(), "test", "train+valid")
    found = sahcns("evaluate", run, *asked, "--json").json["popular"]
    assert found == means(measure(most_popular(truth, 5), truth, [3, 5], ["recall", "hit"]), [3, 5])
    last = sahcns("evaluate", run, *asked).out.splitlines()[-1]
    numbers = f"recall {found['recall@3']:.2%} and {found['recall@5']:.2%}"
    assert last == f"with the most popular items for everybody: {numbers}"
    assert sahcns("evaluate", run, "--metrics", "hit").out.endswith("left out of the ranking\n")


def test_data_that_moved_or_changed(sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path) -> None:
    """The run's own data, wherever they are; else the pairs kept with the model; never other data."""
    folder = Path(model.record["data"]["folder"])
    moved = folder.rename(tmp_path / "elsewhere")
    gone = sahcns("evaluate", run, "--json")
    assert sahcns("evaluate", run, "--data", moved, "--json").json["data"] == str(moved)
    other = save_split(films(seed=1), folder)
    changed = sahcns("evaluate", run, "--json")
    for done in (gone, changed):
        assert done.json["metrics"] == pytest.approx(model.record["test"]["best"])
        assert (done.json["data"], done.json["fingerprint"]) == (None, films().fingerprint)
        assert str(folder) in done.err
    sentence = refused(sahcns("evaluate", run, "--data", other))
    assert f"{films(seed=1).fingerprint[:12]}…" in sentence
    assert f"{films().fingerprint[:12]}…" in sentence


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--part", "tets"], "part='tets' is not one of valid, test; did you mean 'test'"),
        (["--mask", "trian"], "did you mean 'train'"),
        (["--part", "valid", "--mask", "train+valid"], "mask='train+valid'"),
        (["-k", "0"], "-k '0'"),
        (["-k", "5;10"], "-k '5;10'"),
        (["-k", "5,1000000"], "-k 1000000: there are only 20 items"),
        (["--metrics", "recal"], "'recal' is not known; did you mean 'recall'"),
        (["--data", "nowhere"], "nowhere is not a prepared set"),
        (["--device", "gpu"], "device='gpu'"),
    ],
)
def test_a_mistake_is_one_sentence(sahcns: Sahcns, run: Path, arguments: list[str], names: str) -> None:
    assert names in refused(sahcns("evaluate", run, *arguments))
