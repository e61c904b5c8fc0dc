"""Going on from a former model: vectors go with their ids, and both models are judged alike."""

import numpy as np
import pytest
import torch

from sahcns.backbones import LightGCN
from sahcns.data import Recipe, Split, prepare
from sahcns.data.ids import Id
from sahcns.errors import SettingError
from sahcns.model import Recommender, fit
from sahcns.model.warm_start import carried_over, changes, compare
from sahcns.ranking import Truth, evaluate
from sahcns.samplers import RNS
from sahcns.training import Protocol
from tests.data.hand_made import interactions

TERMS = Protocol(epochs=30, batch=32, learning_rate=0.05, evaluate_every=10)


def orders(people: range, films: range) -> Split:
    """Odd people like odd films; ids are such that new ones come between old ones."""
    rows: list[tuple[Id, Id]] = [
        (f"p{person:02}", film)
        for person in people
        for film in films
        if film % 2 == person % 2 and (person + film // 2) % 3
    ]
    return prepare(interactions(rows), Recipe(seed=0))


@pytest.fixture(scope="module")
def former() -> Recommender:
    return fit(orders(range(4, 24), range(10, 60)), LightGCN(dim=8, depth=2), RNS(), protocol=TERMS).recommender


@pytest.fixture(scope="module")
def later() -> Split:
    return orders(range(2, 22), range(6, 56))


def test_a_vector_goes_with_its_id(former: Recommender, later: Split) -> None:
    fresh = {"ego": torch.full((later.n_users + later.n_items, 8), 7.0)}
    made = carried_over(former, later, fresh)["ego"]
    for ids, old_ids, first, old_first in (
        (later.user_ids, former.user_ids, 0, 0),
        (later.item_ids, former.item_ids, later.n_users, len(former.user_ids)),
    ):
        for place in range(len(ids)):
            old = old_ids.find(ids[place])
            expected = fresh["ego"][0] if old is None else former.weights["ego"][old_first + old]
            assert torch.equal(made[first + place], expected)
    told = changes(former, later)
    assert told["users"] == {"stay": 18, "new": 2, "gone": 2}
    assert told["items"] == {"stay": 46, "new": 4, "gone": 4}


def test_training_goes_on_where_it_was(former: Recommender, later: Split) -> None:
    short = Protocol(epochs=1, batch=32, learning_rate=0.001, evaluate_every=1)
    warm = fit(later, LightGCN(dim=8, depth=2), RNS(), protocol=short, start=former)
    cold = fit(later, LightGCN(dim=8, depth=2), RNS(), protocol=short)
    assert warm.test["ndcg@20"] > cold.test["ndcg@20"] + 0.1
    told = warm.recommender.record["data"]["start"]
    assert told["former"] == former.record["data"]["fingerprint"]
    assert told["same"] > 0.7


def test_both_are_judged_alike(former: Recommender, later: Split) -> None:
    """The former model on its own data is the same model, before and after."""
    again = former.split()
    told = compare(former, former, again)
    truth = Truth.of(again, "test", "train")
    expected = evaluate(former.user_vectors, former.item_vectors, truth, (20,))
    assert told["before"] == told["after"] == {name: pytest.approx(value) for name, value in expected.items()}
    assert (told["same"], told["judged"]) == (1.0, len(truth))
    other = fit(later, LightGCN(dim=8, depth=2), RNS(), protocol=TERMS, seed=1).recommender
    told = compare(former, other, later)
    known = [one for one in later.user_ids.decode(np.unique(later.test.users)) if former.user_ids.find(one) is not None]
    assert told["judged"] == len(known)
    assert 0 < told["same"] < 1
    whole = compare(former, other, later.whole())
    assert "before" not in whole


def test_another_backbone_is_refused(former: Recommender, later: Split) -> None:
    with pytest.raises(SettingError, match="ego"):
        fit(later, LightGCN(dim=4, depth=2), RNS(), protocol=TERMS, start=former)
    with pytest.raises(SettingError):
        fit(later, LightGCN(dim=8), RNS(), protocol=TERMS, start=Recommender())
