"""A walk shows every pair once, with the trainer's own draws, and with what a sampler keeps or has learnt."""

import math

import pytest
import torch

from sahcns.lab.inspection.walk import Negatives, Walk
from sahcns.rng import Rng
from sahcns.samplers import DENS, DNS, RNS, SAHC, DivNS, MixGCF, Popularity
from sahcns.samplers.divns import Caches
from tests.lab.inspection.inspected import rebuilt, small


def whole(walk: Walk) -> list[Negatives]:
    return list(walk)


def test_every_training_pair_once_and_never_a_seen_item() -> None:
    model = rebuilt("lightgcn")
    pairs = []
    seen = set(zip(small().train.users.tolist(), small().train.items.tolist(), strict=True))
    for negatives in Walk(model, DNS(pool=7), batch=16):
        match = negatives.match
        pairs += list(zip(match.users.tolist(), match.positives.tolist(), strict=True))
        for user, pool in zip(match.users.tolist(), match.candidates.tolist(), strict=True):
            assert not any((user, item) in seen for item in pool)
    assert sorted(pairs) == sorted(seen)
    assert len(Walk(model, DNS(), batch=16)) == 5
    assert len(Walk(model, DNS(), batch=65)) == 1


def test_pools_are_the_streams_of_the_trainer() -> None:
    model = rebuilt("lightgcn")
    walk = Walk(model, DNS(pool=7), seed=9, batch=16)
    rng = Rng(9, "pools")
    for step in range(5):
        rng.seek(step)
        users = model.graph.pair_users[step * 16 : step * 16 + 16]
        assert torch.equal(walk.at(step).match.candidates, model.graph.draw(users, 7, rng))


def test_a_batch_is_the_same_in_any_order_and_for_any_sampler() -> None:
    model = rebuilt("lightgcn")
    one, other = (Walk(model, MixGCF(pool=5), batch=16) for _ in range(2))
    forward = [one.at(step) for step in range(5)]
    backward = [other.at(step) for step in range(4, -1, -1)][::-1]
    for first, second in zip(forward, backward, strict=True):
        assert torch.equal(first.match.candidates, second.match.candidates)
        assert torch.equal(first.strength, second.strength)  # the sampler's own draws too
    small_pool = Walk(model, RNS(pool=2), batch=16).at(3)
    assert torch.equal(small_pool.match.candidates, forward[3].match.candidates[:, :2])
    assert not torch.equal(forward[0].strength, forward[1].strength)


def test_popularity_draws_from_its_own_pools() -> None:
    model = rebuilt("lightgcn")
    counts = model.graph.popularity.double()
    means = [
        float(torch.cat([counts[negatives.items.flatten()] for negatives in Walk(model, sampler, batch=16)]).mean())
        for sampler in (RNS(pool=5), Popularity(pool=5, power=2.0))
    ]
    assert means[1] > means[0] + 0.3


def test_a_sampler_that_keeps_something_has_seen_an_epoch() -> None:
    model = rebuilt("lightgcn")
    walk = Walk(model, DivNS(pool=6, ratio=3, lam=0.7), batch=16)
    assert walk.notes == ["what it keeps between epochs was filled by one epoch on this model"]
    assert isinstance(walk.state, Caches)
    assert bool((walk.state.queue >= 0).all())
    filled = walk.state.hard.clone()  # by pools that the epoch itself does not show
    mixed = [negatives.mixture for negatives in walk]
    assert not torch.equal(filled, walk.state.hard)
    companions = torch.cat([mixture.items[:, 0, 1, 0] for mixture in mixed])
    assert torch.equal(companions, walk.state.queue)
    assert {round(float(w), 6) for m in mixed if m.weights is not None for w in m.weights[:, 0, 0].flatten()} == {0.7}
    assert torch.equal(walk.at(0).match.candidates, Walk(model, DNS(pool=6), batch=16).at(0).match.candidates)


def test_trained_gates_are_used_on_their_own_model_and_fresh_ones_elsewhere() -> None:
    own, other = rebuilt("lightgcn", DENS(pool=4)), rebuilt("lightgcn")
    assert Walk(own, DENS(pool=9)).parameters is own.sampler_parameters
    assert Walk(own, DENS(pool=9)).notes == []
    strange = Walk(other, DENS(pool=9))
    assert strange.notes == ["its trainable parts are untrained: the model was made with another sampler"]
    assert not torch.equal(strange.parameters["item.weight"], own.sampler_parameters["item.weight"])
    assert Walk(own, DNS()).parameters == {}


def test_schedules_stand_at_the_model_s_epoch() -> None:
    model = rebuilt("lightgcn")
    assert float(Walk(model, DNS()).at(0).match.epoch) == model.record["best_epoch"]


@pytest.mark.parametrize("sampler", [SAHC(lambda_max=1.0), MixGCF(beta_low=1.0)])
def test_strength_and_the_rest_make_up_the_negative(sampler: SAHC | MixGCF) -> None:
    """Also where nothing but the positive is left."""
    for negatives in Walk(rebuilt("ngcf"), sampler, batch=16):
        assert torch.allclose(negatives.shares.sum(2), torch.ones(1, dtype=torch.float64))
        expected = negatives.strength * negatives.match.p[:, None] + (1 - negatives.strength) * negatives.profile_before
        assert torch.allclose(negatives.profile, expected, atol=1e-12)
        if isinstance(sampler, MixGCF):
            assert torch.allclose(negatives.scores[:, 0], negatives.match.positive_score)
        assert all(math.isfinite(value) for value in negatives.scores_before.flatten().tolist())
