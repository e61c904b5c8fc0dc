"""Somebody new, from what they have: the equation by other means, and as good as the user whom the model knows."""

import numpy as np
import pytest
import torch

from sahcns.backbones import LightGCN
from sahcns.data import Split
from sahcns.errors import DataError, SettingError
from sahcns.model import Recommender
from sahcns.model.fold_in import ELSEWHERE, RIDGE
from sahcns.samplers import RNS
from sahcns.training import Protocol, fit
from tests.model.films import films
from tests.model.test_recommender import made


@pytest.fixture(scope="module")
def trained() -> Recommender:
    protocol = Protocol(epochs=40, batch=32, learning_rate=0.05, evaluate_every=20)
    return fit(films(), LightGCN(dim=8, depth=2), RNS(), protocol=protocol, device="cpu").recommender


def test_the_vector_solves_the_least_squares_it_stands_for() -> None:
    """Near 1 on what they have, near 0 on everything, not too long: stacked rows, solved by numpy."""
    model = made(films())
    items = model.item_vectors.double().numpy()
    own, n = [0, 1, 5], len(items)
    ridge = RIDGE * (items**2).sum(0).mean()
    rows = np.concatenate([items[own], np.sqrt(ELSEWHERE) * items, np.sqrt(ridge) * np.eye(items.shape[1])])
    user = np.linalg.lstsq(rows, np.array([1.0] * 3 + [0.0] * (len(rows) - 3)), rcond=None)[0]
    scores = items @ user
    ranked = sorted((item for item in range(n) if item not in own), key=lambda item: -scores[item])
    found = model.recommend_new([100, 101, 105], n)
    assert [one.item for one in found] == [100 + item for item in ranked]
    assert [one.score for one in found] == pytest.approx(scores[ranked].tolist(), abs=1e-5)


def test_a_model_of_zeros_is_no_reason_to_break_off() -> None:
    model = made(films())
    model.item_vectors.zero_()
    assert [one.score for one in model.recommend_new([101], 3)] == [0, 0, 0]


def test_it_is_asked_for_by_original_ids_and_titles_come_back(trained: Recommender) -> None:
    odd = trained.recommend_new([101, 103, "107"], 3)
    assert {int(one.item) % 2 for one in odd} == {1}
    assert not {one.item for one in odd} & {101, 103, 107}
    assert all(one.title == f"Film {one.item} ☕" for one in odd)


def test_somebody_new_gets_nearly_what_the_same_known_user_gets(trained: Recommender) -> None:
    shared = 0
    for row in range(len(trained.user_ids)):
        have = trained.item_ids.decode(trained.known(row, "train").tolist())
        known = trained.recommend([trained.user_ids[row]], 3, exclude="train")[0]
        shared += len({one.item for one in trained.recommend_new(have, 3)} & {one.item for one in known})
    assert shared > 0.8 * 3 * len(trained.user_ids)


def test_repeats_and_order_do_not_matter(trained: Recommender) -> None:
    assert trained.recommend_new([101, 104], 5) == trained.recommend_new([104, 101, 101], 5)


def test_what_is_never_to_be_shown(trained: Recommender) -> None:
    first = trained.recommend_new([101], 3)
    assert [one.item for one in trained.recommend_new([101], 2, without=[first[0].item])] == [
        one.item for one in first[1:]
    ]
    mine = trained.recommend(["p03"], 3)[0]
    assert [one.item for one in trained.recommend(["p03"], 2, without=[mine[0].item])[0]] == [
        one.item for one in mine[1:]
    ]


def test_what_the_model_does_not_know_is_never_shown_anyway(trained: Recommender) -> None:
    assert trained.recommend(["p03"], 3, without=["novelty", 7]) == trained.recommend(["p03"], 3)
    assert trained.recommend_new([101], 3, without=["novelty"]) == trained.recommend_new([101], 3)


def test_somebody_who_has_everything_gets_nothing() -> None:
    model = made(films())
    assert model.recommend_new(list(range(100, 120)), 5) == []


def test_refusals(trained: Recommender) -> None:
    with pytest.raises(SettingError, match="items is empty; somebody new is known by at least one item"):
        trained.recommend_new([])
    with pytest.raises(SettingError, match=r"items='101' must be a list of ids, such as \['101'\]"):
        trained.recommend_new("101")
    with pytest.raises(SettingError, match=r"without=101 must be a list of ids, such as \[101\]"):
        trained.recommend(["p03"], without=101)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="item 7 is not in the data"):
        trained.recommend_new([101, 7])
    with pytest.raises(SettingError, match="k=0 must be a whole number, 1 or more"):
        trained.recommend_new([101], 0)


def test_users_about_whom_nothing_was_learnt_are_named() -> None:
    model = made(Split.from_pairs([[0, 0], [2, 1]], valid=[[1, 1]], n_users=4, n_items=3))
    assert model.untrained(torch.tensor([0, 1, 2])).tolist() == [1]
    assert model.untrained(torch.arange(4)).tolist() == [1, 3]
