"""`sahcns add-items`: orders of new items into a model that is there."""

from pathlib import Path

from sahcns.model import Recommender
from tests.cli.conftest import Sahcns
from tests.model.films import films
from tests.model.test_recommender import made


def test_new_items_join_the_model(sahcns: Sahcns, tmp_path: Path) -> None:
    run = made(films()).save(tmp_path / "run")
    (tmp_path / "orders.csv").write_text("user,item\np01,99\np03,99\nnobody,99\n")
    done = sahcns("add-items", run, tmp_path / "orders.csv", "--out", run, "--json")
    assert done.json["added"] == [99]
    assert "1 person" in done.err
    assert Recommender.load(run).item_ids[0] == 99
