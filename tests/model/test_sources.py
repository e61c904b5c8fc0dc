"""Nobody gets a list that means nothing, and every list says what it rests on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from sahcns.baselines import EASE, GFCF, ItemKNN, ItemWeights
from sahcns.baselines.base import Baseline, interaction_matrix
from sahcns.data import Recipe, Split, prepare
from sahcns.errors import SettingError
from sahcns.model import Recommender
from sahcns.model.lists import lists
from tests.data.hand_made import interactions
from tests.model.films import films
from tests.model.test_recommender import made


def partly_trained(held_out: bool = True) -> Split:
    """p2 has no training pair: a held-out one, or none at all."""
    rows = [("p1", "a"), ("p1", "b"), ("q", "a"), ("q", "c"), ("q", "d"), ("r", "c"), ("r", "a"), ("p2", "b")]
    split = prepare(interactions(rows), Recipe(ratios=(1, 0, 0)))
    own = split.train.users == split.user_ids.find("p2")
    return replace(split, train=split.train.take(~own), test=split.train.take(own & held_out))


def test_untrained_people_are_folded_in_and_unknown_ones_get_what_is_popular() -> None:
    model = made(partly_trained())
    assert {one.source for one in model.recommend(["p1"])[0]} == {"model"}
    folded = model.recommend(["p2"])[0]
    assert {one.source for one in folded} == {"fold-in"}
    alone = model.recommend_new(["b"])
    assert [one.item for one in folded] == [one.item for one in alone]
    assert [one.score for one in folded] == pytest.approx([one.score for one in alone])
    assert [one.item for one in model.popular(2)] == ["a", "b"]  # equals by their order
    assert {one.source for one in model.popular(2)} == {"popular"}


def test_a_known_user_of_whom_nothing_is_left_gets_what_is_popular() -> None:
    model = made(partly_trained(held_out=False))
    found = model.recommend(["p2"])[0]
    assert [(one.item, one.source) for one in found] == [(one.item, "popular") for one in model.popular()]
    frame = lists(model, k=1)
    assert dict(frame.select("user", "source").rows()) == {"p1": "model", "p2": "popular", "q": "model", "r": "model"}


def test_only_some_items_may_be_shown() -> None:
    model = made(films())
    allowed = [101, 105, 119, 999]
    for found in (
        model.recommend(["p07"], only=allowed, exclude="nothing")[0],
        model.recommend_new([100], only=allowed),
        model.similar_items(100, only=allowed),
        model.popular(only=allowed),
    ):
        assert {one.item for one in found} == {101, 105, 119}
    assert [one.item for one in model.popular(only=[101, 105], without=[105])] == [101]
    assert model.recommend(["p07"], only=[])[0] == []


def test_similar_users_are_those_with_the_same_direction() -> None:
    model = made(films())
    vectors = model.user_vectors / model.user_vectors.norm(dim=1, keepdim=True)
    cosines = (vectors @ vectors[7]).tolist()
    best = sorted((u for u in range(24) if u != 7), key=lambda u: -cosines[u])[:3]
    found = model.similar_users("p07", 3)
    assert [user for user, _ in found] == [f"p{u:02}" for u in best]
    assert [cosine for _, cosine in found] == pytest.approx([cosines[u] for u in best], abs=1e-6)
    assert len(model.similar_users("p07", 100)) == 23


def test_what_has_learnt_nothing_says_so() -> None:
    with pytest.raises(SettingError, match="fit"):
        Recommender().popular()


@pytest.mark.parametrize("baseline", [EASE(l2=2.0), GFCF(vectors=3), ItemKNN(neighbours=3, shrinkage=1.0)])
def test_a_baseline_of_item_weights_ranks_and_is_stored_as_any_model(baseline: Baseline, tmp_path: Path) -> None:
    split = films()
    matrix = interaction_matrix(split.train, split.n_users, split.n_items)
    weights = baseline.fit(matrix)
    assert isinstance(weights, ItemWeights)
    table = csr_matrix(weights.weights).toarray()
    nothing = torch.zeros(split.n_users, 0), torch.zeros(split.n_items, 0)
    model = Recommender.of(split, *nothing, {}, {"baseline": {"name": baseline.name}}, weights)
    scores = (
        np.asarray(matrix @ weights.weights)
        if isinstance(baseline, EASE | GFCF)
        else (matrix @ weights.weights).toarray()
    )
    expected = {user: -np.sort(-np.where(matrix[user].toarray()[0] > 0, -np.inf, scores[user]))[:5] for user in (0, 7)}
    model.save(tmp_path / "run")
    for one in (model, Recommender.load(tmp_path / "run")):
        for user, best in expected.items():
            found = one.recommend([f"p{user:02}"], 5, exclude="train")[0]
            assert [item.score for item in found] == pytest.approx(best.tolist(), abs=1e-5)
            assert [float(one.score([f"p{user:02}"], [item.item])[0, 0]) for item in found] == pytest.approx(
                best.tolist(), abs=1e-5
            )
        assert one.similar_items(105, 1)[0].score == pytest.approx(np.delete(table[5], 5).max(), abs=1e-6)
        assert one.recommend_new([105], 1)[0].source == "fold-in"
        with pytest.raises(SettingError, match="users"):
            one.similar_users("p07")
