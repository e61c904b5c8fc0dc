"""Vectors for other systems: what stands in the files gives the model's own lists again."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from sahcns.baselines import ItemWeights
from sahcns.errors import SettingError
from sahcns.folders import read_folder
from sahcns.model.export import EXPORT, _index, export
from tests.model.films import films, hardly_trained
from tests.model.test_recommender import made


def test_tables_and_arrays_hold_the_vectors(tmp_path: Path) -> None:
    model = made(films())
    told = export(model, tmp_path / "out", ("npy", "parquet"))
    home, described = read_folder(EXPORT, tmp_path / "out")  # every file as it was written
    assert (told["users"], described["formats"]) == (24, ["npy", "parquet"])
    users, items = (np.load(home / f"{name}.npy", allow_pickle=False) for name in ("users", "items"))
    ids = np.load(home / "user_ids.npy", allow_pickle=False), np.load(home / "item_ids.npy", allow_pickle=False)
    best = ids[1][np.argsort(-users[ids[0] == "p03"] @ items.T, axis=1)[0, :5]]
    assert best.tolist() == [one.item for one in model.recommend(["p03"], 5, exclude="nothing")[0]]
    table = pl.read_parquet(home / "items.parquet")
    assert table["item"].to_list() == ids[1].tolist()
    assert table["title"][3] == "Film 103 ☕"
    assert np.array_equal(table["vector"].to_numpy(), items)
    assert np.array_equal(pl.read_parquet(home / "users.parquet")["vector"].to_numpy(), users)


def test_who_has_no_vector_gets_what_the_lists_rest_on(tmp_path: Path) -> None:
    model = made(hardly_trained())
    export(model, tmp_path / "out")
    users = pl.read_parquet(tmp_path / "out" / "users.parquet")
    assert users["source"].to_list()[:5] == ["model", "model", "fold-in", "popular", "model"]
    scores = users["vector"][2].to_numpy() @ model.item_vectors.numpy().T
    assert (
        model.item_ids[int(np.argmax(np.where(np.arange(20) == 5, -9, scores)))]
        == model.recommend(["p02"], 1)[0][0].item
    )
    assert not users["vector"][3].to_numpy().any()


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_an_index_says_how_much_it_finds(kind: str, tmp_path: Path) -> None:
    faiss = pytest.importorskip("faiss")
    split = films(people=200, count=3000)
    model = made(split, dim=16)
    told = export(model, tmp_path / "out", ("faiss",), index=kind, recall=0.9, k=10)["index"]
    assert told["recall@10"] >= 0.9
    assert told["kind"].lower().startswith(kind)
    index = faiss.read_index(str(tmp_path / "out" / "items.faiss"))
    found = index.search(model.user_vectors.numpy(), 10)[1]
    true = (model.user_vectors @ model.item_vectors.T).topk(10).indices
    share = np.mean([len(np.intersect1d(one, best)) / 10 for one, best in zip(found, true.numpy(), strict=True)])
    assert share == pytest.approx(told["recall@10"], abs=0.01)


def test_an_index_of_lists_searches_no_wider_than_it_must() -> None:
    pytest.importorskip("faiss")
    random = torch.Generator().manual_seed(0)
    users, items = torch.randn(50, 8, generator=random), torch.randn(4000, 8, generator=random)
    whole, some = (_index("ivf", users, items, recall, 10)[1] for recall in (1, 0.8))
    assert whole["recall@10"] == 1
    assert 0.8 <= some["recall@10"] < 1
    assert 1 < some["breadth"] < whole["breadth"]


def test_refusals(tmp_path: Path) -> None:
    model = made(films())
    for settings in ({"formats": ("parket",)}, {"formats": ()}, {"recall": 0.0}, {"index": "ifv"}):
        with pytest.raises(SettingError):
            export(model, tmp_path / "out", **settings)
    model.item_weights, model.record["baseline"] = ItemWeights(torch.eye(20).numpy()), {"name": "ease"}
    with pytest.raises(SettingError, match="ease"):
        export(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()
