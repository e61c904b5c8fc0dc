"""One pair in full: every number against plain Python loops."""

import json
import math
from typing import Any

import pytest

from sahcns.errors import DataError
from sahcns.lab.inspect.model import SampledEpoch
from sahcns.lab.inspect.pairs import inspect_pairs
from sahcns.lab.inspect.results import PairView
from sahcns.samplers import (
    AHNS,
    DNS,
    RNS,
    SAHC,
    DivNS,
    HCOnly,
    MixGCF,
    Sampler,
    SAOnly,
    WithoutDiscrepancy,
    WithoutMean,
)
from tests.lab.inspect.small_models import Chosen, all_chosen, gaps, opened, profile_of, sigma, small, trained
from tests.model.films import films
from tests.samplers.oracle import Pair, first_largest, mean

BATCH = 16


SAMPLERS: list[Sampler] = [SAHC(pool=6, alpha=0.8), MixGCF(pool=5), RNS(pool=3), DivNS(pool=6, ratio=2), AHNS(pool=5)]


@pytest.mark.parametrize("model", ["lightgcn", "ngcf"])
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda one: one.name)
def test_against_plain_loops(model: str, sampler: Sampler) -> None:
    inspected = opened(model)
    views = inspect_pairs(inspected, sampler=sampler, seed=4, count=65, batch=BATCH)  # all of them
    every = all_chosen(SampledEpoch(inspected, sampler, 4, BATCH))
    held = {
        key: part
        for part, pairs in (("test", small().test), ("valid", small().valid))
        for key in zip(pairs.users.tolist(), pairs.items.tolist(), strict=True)
    }
    assert len(views) == len(every) == 65
    for view, several in zip(views, every, strict=True):
        check_pool(view, several, held)
        check_layers(view, several)
    assert any(one.held_out for view in views for one in view.pool)


def z(values: list[float], at: int) -> float:
    spread = math.sqrt(mean([(value - mean(values)) ** 2 for value in values]))
    return (values[at] - mean(values)) / (spread + 1e-8)


def check_pool(view: PairView, several: list[Chosen], held: dict[tuple[int, int], str]) -> None:
    pair: Pair = several[0].pair
    mus = [mean(profile_of(pair, j)) for j in pair.pool]
    sigmas = [sigma(profile_of(pair, j)) for j in pair.pool]
    hardest = first_largest([pair.score(j) for j in pair.pool])
    assert (view.user, view.item) == (pair.user, pair.positive)
    assert [one.item for one in view.pool] == pair.pool
    for n, (one, item) in enumerate(zip(view.pool, pair.pool, strict=True)):
        assert list(one.profile) == pytest.approx(profile_of(pair, item))
        assert one.score == pytest.approx(pair.score(item))
        assert (one.mu, one.sigma) == pytest.approx((mus[n], sigmas[n]))
        assert (one.z_mu, one.z_sigma) == pytest.approx((z(mus, n), z(sigmas, n)), abs=1e-6)
        if view.sampler["name"] == "sahc":
            assert one.q == pytest.approx(z(mus, n) + 0.8 * z(sigmas, n), abs=1e-6)
        else:
            assert one.q is None
        assert one.dns == (n == hardest)
        assert one.held_out == held.get((pair.user, item))
        assert one.popularity == small().train.items.tolist().count(item)
        shares = [layer.get(item, 0.0) for other in several for layer in other.shares()]
        assert one.share == pytest.approx(mean(shares))


def check_layers(view: PairView, several: list[Chosen]) -> None:
    pair = several[0].pair
    assert list(view.positive) == pytest.approx(profile_of(pair, pair.positive))
    assert view.positive_score == pytest.approx(pair.score(pair.positive))
    assert list(view.hardest) == pytest.approx([pair.at(pair.hardest_at(t), t) for t in pair.layers])
    assert list(view.gaps) == pytest.approx(gaps(pair))
    assert list(view.rho) == pytest.approx([math.exp(-max(gap, 0.0)) for gap in gaps(pair)])
    assert len(view.negatives) == len(several)
    for found, one in zip(view.negatives, several, strict=True):
        assert list(found.strength) == pytest.approx(one.strength())
        assert list(found.profile_before) == pytest.approx(one.profile(one.shares()))
        assert list(found.profile) == pytest.approx(one.profile(one.negative))
        assert found.score_before == pytest.approx(one.score(one.shares()))
        assert found.score == pytest.approx(one.score(one.negative))
        mixed: list[dict[int, float]] = [{} for _ in one.negative]
        for part in found.ingredients:
            assert part.positive == (part.item == pair.positive)
            for t, weight in enumerate(part.weights):
                if weight:
                    mixed[t][int(part.item)] = weight
        for layer, expected in zip(mixed, one.negative, strict=True):
            assert layer == pytest.approx(expected)


@pytest.mark.parametrize(
    ("sampler", "selects_by_q"),
    [(SAOnly(), True), (WithoutDiscrepancy(), True), (WithoutMean(), True), (HCOnly(), False), (DNS(), False)],
)
def test_q_is_shown_where_it_decides(sampler: Sampler, selects_by_q: bool) -> None:
    for view in inspect_pairs(opened("lightgcn"), sampler=sampler, count=20, batch=BATCH):
        if selects_by_q:
            best = max(view.pool, key=lambda one: -math.inf if one.q is None else one.q)
            assert best.item == view.chosen[0].item
        else:
            assert all(one.q is None for one in view.pool)
            assert view.chosen[0].item == view.dns.item


def test_titles_and_original_ids() -> None:
    model = trained("lightgcn", split=films())
    (view,) = inspect_pairs(model, user="p03", count=1, device="cpu")
    assert view.user == "p03"
    assert view.title == f"Film {view.item} ☕"
    assert all(one.title == f"Film {one.item} ☕" for one in view.pool)
    assert [one.title for one in view.negatives[0].ingredients] == [f"Film {view.chosen[0].item} ☕"]
    (same,) = inspect_pairs(model, user="p03", item=view.item, device="cpu")
    assert same == view
    assert PairView.from_dict(json.loads(json.dumps(view.to_dict()))) == view


def test_a_user_s_pairs_are_theirs_and_the_seed_draws_them() -> None:
    model = opened("lightgcn")
    views = inspect_pairs(model, sampler=DNS(), user=5, count=3)
    mine = [item for user, item in zip(small().train.users, small().train.items, strict=True) if user == 5]
    assert len({view.item for view in views}) == 3
    assert {view.item for view in views} <= set(mine)
    assert [view.item for view in inspect_pairs(model, sampler=DNS(), user=5, count=99)] == sorted(mine)
    drawn = [inspect_pairs(model, seed=seed, count=6) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"user": 99}, "user 99"),
        ({"user": 2, "item": 99}, "item 99"),
        ({"user": 2, "item": 17}, "item 17 .* user 2"),  # nobody's
    ],
)
def test_a_mistake_names_the_value(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        inspect_pairs(opened("lightgcn"), **asked)
