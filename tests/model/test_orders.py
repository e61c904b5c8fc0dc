"""From a shop's export to a recommender: what is held out, who is judged how, and what is kept."""

import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from sahcns.baselines import EASE
from sahcns.baselines.base import interaction_matrix
from sahcns.errors import DataError, SettingError
from sahcns.model import Recommender
from sahcns.model.choice import Judged, _judged, baselines, pick, search
from sahcns.model.orders import QUICK, Orders, read_orders
from sahcns.ranking import Truth, evaluate
from tests.data.hand_made import interactions
from tests.orders import write_orders

training = sys.modules["sahcns.training.train"]  # the package has a function of this name
SHORT = replace(QUICK, epochs=3)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_orders(tmp_path_factory.mktemp("shop") / "orders.csv", 3000)


@pytest.fixture(scope="module")
def orders(file: Path) -> Orders:
    return read_orders(file)


def test_the_latest_rows_are_held_out_and_nothing_is_lost_of_the_rest(file: Path, orders: Orders) -> None:
    rows = pl.read_csv(file, columns=["Customer No.", "article", "qty", "ordered_at"], infer_schema=False)
    moments = rows["ordered_at"].str.to_datetime(time_zone="UTC")
    first = rows.with_columns(at=moments).group_by("Customer No.", "article").agg(pl.col("at").min())
    whole = orders.whole
    pairs = zip(whole.train.users, whole.train.items, strict=True)
    bought = {(whole.user_ids[user], whole.item_ids[item]) for user, item in pairs}
    returned = set(rows.filter(pl.col("qty") == "-1").select("Customer No.", "article").rows())
    assert set(first.select("Customer No.", "article").rows()) - bought <= returned
    at = {(user, item): when for user, item, when in first.rows()}
    judged = orders.judged
    times = {
        name: [at[judged.user_ids[u], judged.item_ids[i]] for u, i in zip(pairs.users, pairs.items, strict=True)]
        for name, pairs in judged.parts().items()
    }
    assert max(times["train"]) <= min(times["valid"])
    assert max(times["valid"]) <= min(times["test"])
    trained = set(judged.train.users.tolist())
    assert {*judged.valid.users.tolist(), *judged.test.users.tolist()} <= trained  # nobody of whom nothing is known


def test_without_times_rows_are_held_out_at_random_and_too_few_are_an_error() -> None:
    rows = [(f"u{user}", item) for user in range(12) for item in range(12) if (user + item) % 3]
    made = read_orders(interactions(rows))
    assert made.judged.manifest["recipe"]["split"] == "random"  # type: ignore[index]
    assert len(made.judged.test) > 0
    with pytest.raises(DataError, match="2 rows"):
        read_orders(interactions([("a", 1), ("b", 2)]))


def test_the_model_is_judged_as_evaluate_does(orders: Orders) -> None:
    """Its row of the table is Recall@20 and NDCG@20 over the same people, with what they had left out."""
    made = learn_of(orders)
    *_, model = made.candidates
    truth = Truth.of(orders.judged, "test", "train+valid")
    exact = evaluate(made.trained.users, made.trained.items, truth, (20,))
    shown = model.to_dict()
    assert {name: shown[name] for name in exact} == pytest.approx(exact, abs=1e-6)
    assert made.trained.record.test["best"]["recall@20"] == pytest.approx(exact["recall@20"], abs=1e-6)
    assert [one.name for one in made.candidates] == ["popular", "item-knn", "ease", "als", "gf-cf", "model"]


def learn_of(orders: Orders, **options: Any) -> Any:
    from sahcns.model.orders import train_orders

    return train_orders(orders, protocol=SHORT, device="cpu", quiet=True, **options)


def test_stopped_in_either_training_it_goes_on_there(
    orders: Orders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first signal ends the training that is judged early, the others the one of every pair."""
    peace, epoch, seen = learn_of(orders, keep="model"), training.timed_epoch, list[int]()

    def signalled(*values: Any) -> Any:
        seen.append(values[1])
        if len(seen) in (2, 3, 7):
            signal.raise_signal(signal.SIGTERM)
        return epoch(*values)

    monkeypatch.setattr(training, "timed_epoch", signalled)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            learn_of(orders, keep="model", checkpoint=tmp_path)
    made = learn_of(orders, keep="model", checkpoint=tmp_path)
    assert made.parts["record"]["judged"]["stopped"] == peace.parts["record"]["judged"]["stopped"] == "epochs"
    for name, table in peace.parts["weights"].items():
        assert made.parts["weights"][name].equal(table)
    assert made.trained.record.test == peace.trained.record.test
    assert seen == [0, 1, 0, 1, 2, 0, 1, 1, 2, 1, 2]


@pytest.mark.parametrize("keep", ["popular", "item-knn", "ease", "als", "gf-cf", "model"])
def test_whatever_is_kept_knows_every_pair_and_is_stored_and_asked_alike(
    orders: Orders, tmp_path: Path, keep: str
) -> None:
    made = learn_of(orders, keep=keep)
    assert made.kept == made.parts["record"]["judged"]["kept"] == keep
    assert made.parts["record"]["data"]["whole_of"] == orders.whole.fingerprint
    Recommender.of(**made.parts).save(tmp_path / "model")
    model = Recommender.load(tmp_path / "model")
    assert len(model.user_ids) == orders.whole.n_users
    everybody = model.user_ids.decode(range(len(model.user_ids)))
    lists = model.recommend(everybody, 5)
    assert {one.source for items in lists for one in items} == {"model"}
    for user, items in zip(everybody[:20], lists, strict=False):
        known = model.item_ids.decode(model.known(int(model.user_ids.encode([user])[0])).tolist())
        assert not {one.item for one in items} & set(known)
    assert model.recommend_new([lists[0][0].item], 3)[0].source == "fold-in"


def judged(name: str, recall: list[float]) -> Judged:
    return Judged(name, np.array(recall), np.array(recall), 0.0)


def test_the_model_is_kept_unless_a_baseline_beats_it_by_more_than_chance() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(500)
    others = [judged("popular", [*(base - 0.3)])]
    for shift, kept in ((0.1, "ease"), (0.0, "model"), (-0.1, "model")):
        noise = rng.normal(0, 0.05, 500)
        found = [*others, judged("ease", [*(base + shift + noise)]), judged("model", [*base])]
        name, why = pick(found)
        assert name == kept
        assert ("EASE" in why, "alike" in why) == (True, shift == 0.0)
        assert pick(found, "popular")[0] == "popular"


def test_what_so_many_items_do_not_allow_is_left_out_and_refused(orders: Orders) -> None:
    assert [one.name for one in baselines(200_000)] == ["popular", "als"]
    with pytest.raises(SettingError, match="'ease'"):
        learn_of(orders, keep="eas")


def test_no_candidate_has_seen_the_test_part(orders: Orders) -> None:
    """Popularity, by hand, from the training pairs alone."""
    split = orders.judged
    made = learn_of(orders)
    popular = made.candidates[0]
    counts = np.bincount(split.train.items, minlength=split.n_items).astype(float)
    hits = []
    for user in np.unique(split.test.users):
        scores = counts.copy()
        for part in (split.train, split.valid):
            scores[part.items[part.users == user]] = -1.0
        top = np.argsort(-scores, kind="stable")[:20]
        own = split.test.items[split.test.users == user]
        hits.append(np.isin(own, top).mean())
    assert popular.recall == pytest.approx(hits, abs=1e-6)


def test_a_table_is_learnt_from_and_a_notebook_shows_how_it_did(file: Path) -> None:
    frame = pl.read_csv(file, infer_schema=False).rename({"Customer No.": "wer"})
    model = Recommender()
    assert model.fit(frame, user="wer", protocol=SHORT, device="cpu", quiet=True) is model
    assert len(model.similar_items(model.item_ids[0], 3)) == 3
    html = model._repr_html_()
    assert html.count("<tr") == 7
    assert model.record["judged"]["why"] in html
    assert "<script" not in Recommender(record={"backbone": {"name": "<script>"}})._repr_html_()


def test_a_notebook_has_a_bar_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from sahcns.training.progress import bar

    cells: list[str] = []
    module = ModuleType("IPython.display")
    module.HTML = str  # type: ignore[attr-defined]
    module.display = lambda first, display_id: type("Handle", (), {"update": lambda self, html: cells.append(html)})()  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "IPython.display", module)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    with bar() as shown:
        shown.show(3, 10, "<b>", "second")
    assert cells[0].startswith('<progress value="3" max="10">')
    assert "&lt;b&gt;<br>second" in cells[0]
    with bar(quiet=True) as shown:
        shown.show(1, 2, "unseen")
    assert len(cells) == 1


def test_settings_of_a_baseline_are_those_that_do_best_on_validation(orders: Orders) -> None:
    split = orders.judged
    matrix, valid = interaction_matrix(split.train, split.n_users, split.n_items), Truth.of(split, "valid", "train")

    def recall(one: EASE) -> float:
        return float(_judged(one.fit(matrix), matrix, valid)[0].mean())

    values = (50.0, 200.0, 500.0, 1000.0, 2000.0)
    chosen, scorer = search(EASE(l2=50.0), matrix, valid)
    assert isinstance(chosen, EASE)
    assert recall(chosen) >= max(recall(EASE(l2=value)) for value in (50.0, 200.0))
    assert chosen.l2 in values
    assert torch.equal(
        scorer.scores(torch.arange(3), matrix[:3]), chosen.fit(matrix).scores(torch.arange(3), matrix[:3])
    )
