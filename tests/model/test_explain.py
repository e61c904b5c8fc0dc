"""An explanation is checked against the score itself: its parts must sum to it, and leaving a thing out must show."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from sahcns.backbones import MF, NGCF, Backbone, LightGCN, SimGCL
from sahcns.baselines import EASE
from sahcns.baselines.base import interaction_matrix
from sahcns.data import Split
from sahcns.model import Recommender, fit
from sahcns.samplers import RNS
from sahcns.training import Protocol
from tests.model.films import films


def trained(backbone: Backbone, split: Split | None = None) -> Recommender:
    protocol = Protocol(epochs=3, batch=16, learning_rate=0.05)
    return fit(split or films(), backbone, RNS(), protocol=protocol, device="cpu").recommender


@pytest.mark.parametrize("backbone", [LightGCN(dim=4, depth=1), LightGCN(dim=4, depth=3), SimGCL(dim=4, depth=2)])
def test_the_parts_of_a_linear_model_sum_to_its_score(backbone: Backbone) -> None:
    model = trained(backbone)
    for user in ("p00", "p07", "p23"):
        score = float(model.score([user], [105])[0, 0])
        why = model.explain(user, 105)
        assert why.exact
        assert why.score == pytest.approx(score, abs=1e-6)
        assert why.own + sum(reason.part for reason in why.reasons) == pytest.approx(score, abs=1e-5)
        assert all(reason.part == pytest.approx(sum(reason.paths), abs=1e-6) for reason in why.reasons)
        assert len(why.reasons[0].paths) == backbone.depth
        have = model.item_ids.decode(model.known(int(model.rows([user])[0]), "train"))
        assert sorted(reason.item for reason in why.reasons) == sorted(have)
        assert [reason.part for reason in why.reasons] == sorted((one.part for one in why.reasons), reverse=True)
    assert (why.own == 0) == isinstance(backbone, SimGCL)  # whose layer 0 does not count


def test_a_path_of_length_one_is_the_item_s_own_vector() -> None:
    model = trained(LightGCN(dim=4, depth=3))
    user, item = int(model.rows(["p07"])[0]), 5
    ego = model.weights["ego"]
    degree = torch.bincount(model.known_items[model.known_part == 0], minlength=len(model.item_ids))
    have = model.known(user, "train")
    why = {reason.item: reason.paths[0] for reason in model.explain("p07", 105).reasons}
    for thing in have.tolist():
        weight = 1 / np.sqrt(len(have) * int(degree[thing]))
        own = float(ego[len(model.user_ids) + thing] @ model.item_vectors[item]) * weight / 4
        assert why[model.item_ids[thing]] == pytest.approx(own, abs=1e-6)


@pytest.mark.parametrize("backbone", [MF(dim=4), NGCF(dim=4, depth=1)])
def test_other_backbones_say_that_it_is_not_exact(backbone: Backbone) -> None:
    model = trained(backbone)
    why = model.explain("p07", 105)
    assert not why.exact
    assert sum(reason.part for reason in why.reasons) == pytest.approx(why.score, rel=1e-3)


def test_somebody_new_is_explained_by_the_basket() -> None:
    model = trained(LightGCN(dim=4))
    listed = model.recommend_new([101, 104, 104], 20)
    why = model.explain_new([101, 104], listed[3].item)
    assert why.exact
    assert why.score == pytest.approx(listed[3].score, abs=1e-5)
    assert sum(reason.part for reason in why.reasons) == pytest.approx(why.score, abs=1e-5)
    assert {reason.item for reason in why.reasons} == {101, 104}


def test_item_weights_are_their_own_explanation() -> None:
    split = films()
    weights = EASE(l2=1.0).fit(interaction_matrix(split.train, split.n_users, split.n_items))
    nothing = torch.zeros(split.n_users, 0), torch.zeros(split.n_items, 0)
    model = Recommender.of(split, *nothing, {}, {"baseline": {"name": "ease"}}, weights)
    why = model.explain("p07", 105)
    assert why.exact
    assert why.score == pytest.approx(float(model.score(["p07"], [105])[0, 0]), abs=1e-6)
    table = np.asarray(weights.weights)
    for reason in why.reasons:
        assert reason.part == pytest.approx(table[model.item_ids.find(reason.item), 5], abs=1e-6)


@pytest.mark.parametrize("change", [lambda table: table.flip(0), lambda table: (2 * table).half()])
def test_weights_that_do_not_give_the_vectors_explain_nothing_exactly(change: Callable[[Tensor], Tensor]) -> None:
    model = trained(LightGCN(dim=4))
    other = dataclasses.replace(model, weights={"ego": change(model.weights["ego"])})
    assert not other.explain("p07", 105).exact
