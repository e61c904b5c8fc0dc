"""A stored model gives its layers back; an epoch shows every pair once, with the trainer's own draws."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from sahcns.backbones import NGCF, Backbone, LightGCN
from sahcns.errors import DataError, SettingError
from sahcns.kernels import build_graph
from sahcns.lab.inspect.model import Negatives, SampledEpoch, TrainedModel
from sahcns.model import fit
from sahcns.rng import Rng
from sahcns.samplers import (
    ANS,
    DENS,
    DINS,
    DNS,
    RNS,
    SAHC,
    DivNS,
    Matching,
    MixGCF,
    Mixture,
    Popularity,
    SAHCFamily,
    Sampler,
)
from sahcns.samplers.divns import Caches
from sahcns.training import Protocol
from tests.lab.inspect.small_models import BACKBONES, opened, small, trained
from tests.splits import random_split

MORE: dict[str, Backbone] = {
    **BACKBONES,
    "ngcf-original": NGCF(dim=3, depth=2, variant="original", dropout=0.5),  # ranks without dropout
}


@pytest.mark.parametrize("name", MORE)
def test_the_layers_are_those_that_training_saw(name: str, tmp_path: Path) -> None:
    """From the folder, so that what is stored is enough."""
    run = fit(small(), MORE[name], DNS(), protocol=Protocol(epochs=2, batch=16, learning_rate=0.1), device="cpu")
    model = TrainedModel.of(run.recommender.save(tmp_path / "run"), device="cpu")
    expected = MORE[name].layers(run.recommender.weights, build_graph(small()))
    assert model.backbone == MORE[name]
    assert model.sampler == DNS()
    assert model.first_layer == (1 if name == "simgcl" else 0)
    for layer, other in zip(model.layers, expected, strict=True):
        assert torch.equal(layer, other.detach())
        assert not layer.requires_grad


def test_a_model_that_does_not_fit_is_refused() -> None:
    model = trained("lightgcn")
    with pytest.raises(DataError, match="other data"):
        TrainedModel.of(model, random_split(13, 17, 5, seed=1))
    for factor, words in ((1.1, "do not give its vectors"), (float("nan"), "not finite")):
        weights = {name: value * factor for name, value in model.weights.items()}
        with pytest.raises(DataError, match=words):
            TrainedModel.of(replace(model, weights=weights))
    deeper = LightGCN(dim=4, depth=3).to_dict() | {"name": "lightgcn"}
    with pytest.raises(DataError, match="do not give its vectors"):
        TrainedModel.of(replace(model, record={**model.record, "backbone": deeper}))


@pytest.mark.parametrize("sampler", [DINS(pool=4), ANS(pool=4), SAHCFamily(pool=4, sides="two")])
def test_negatives_are_what_the_mixture_says(sampler: Sampler) -> None:
    """Shares of dimensions and shifts included; λ is a mean over dimensions."""
    epoch = SampledEpoch(TrainedModel.of(trained("lightgcn"), device="cpu"), sampler)
    match, mixture = epoch._sample(0, 0)
    shown = Negatives(match, mixture)
    made = mixture.apply([layer[match.graph.n_users :] for layer in match.layers])
    assert torch.allclose(shown.layers, made, rtol=1e-5, atol=1e-7)
    weights = mixture.weights
    if isinstance(sampler, DINS):
        assert weights is not None
        assert torch.allclose(shown.strength, weights[:, :, 0].mean(-1))


@dataclass(frozen=True)
class Mine(Sampler):
    """A user's own, which is not known by its name."""

    name: ClassVar[str] = ""

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return match.pick(match.scores.argmin(1))


@pytest.mark.parametrize(
    ("record", "remedy"), [({}, "FILE.py"), ({"imports": ["my.py", "its.py"]}, "my.py --import its.py")]
)
def test_a_part_that_is_not_known_here_names_the_file_to_import(record: dict[str, Any], remedy: str) -> None:
    model = trained("lightgcn", Mine(pool=3))
    model = replace(model, record={**model.record, **record})
    with pytest.raises(SettingError, match=f"'Mine'.*--import {remedy}"):
        _ = TrainedModel.of(model, device="cpu").sampler
    other = replace(model, record={**model.record, "backbone": {"name": "theirs", "dim": 4}})
    with pytest.raises(SettingError, match="'theirs'"):
        TrainedModel.of(other)


def test_held_out_items_are_those_of_the_user() -> None:
    model, split = opened("lightgcn"), small()
    every = torch.arange(split.n_items).expand(split.n_users, -1)
    codes = model.held_out(torch.arange(split.n_users), every)
    for code, part in ((1, split.valid), (2, split.test)):
        users, items = torch.nonzero(codes == code, as_tuple=True)
        assert sorted(zip(users.tolist(), items.tolist(), strict=True)) == sorted(
            zip(part.users.tolist(), part.items.tolist(), strict=True)
        )


def test_every_training_pair_once_with_the_pools_of_the_trainer() -> None:
    model, rng = opened("lightgcn"), Rng(9, "pools")
    seen = set(zip(small().train.users.tolist(), small().train.items.tolist(), strict=True))
    pairs = []
    epoch = SampledEpoch(model, DNS(pool=7), seed=9, batch=16)
    for step, negatives in enumerate(epoch):
        match = negatives.match
        rng.seek(step)
        assert torch.equal(match.candidates, model.graph.draw(match.users, 7, rng))
        assert not bool(match.seen(match.candidates).any())
        assert float(match.epoch) == model.record["best_epoch"]
        pairs += list(zip(match.users.tolist(), match.positives.tolist(), strict=True))
    assert sorted(pairs) == sorted(seen)
    assert len(epoch) == 5


def test_a_batch_is_the_same_in_any_order_and_a_small_pool_begins_a_large_one() -> None:
    model = opened("lightgcn")
    one, other = (SampledEpoch(model, MixGCF(pool=5), batch=16) for _ in range(2))
    forward = [one.at(step) for step in range(5)]
    backward = [other.at(step) for step in range(4, -1, -1)][::-1]
    for first, second in zip(forward, backward, strict=True):
        assert torch.equal(first.match.candidates, second.match.candidates)
        assert torch.equal(first.strength, second.strength)  # the sampler's own draws too
    assert not torch.equal(forward[0].strength, forward[1].strength)
    small_pool = SampledEpoch(model, RNS(pool=2), batch=16).at(3)
    assert torch.equal(small_pool.match.candidates, forward[3].match.candidates[:, :2])


def test_popularity_draws_from_its_own_pools() -> None:
    model = opened("lightgcn")
    counts = model.graph.popularity.double()
    means = [
        float(torch.cat([counts[negatives.items.flatten()] for negatives in SampledEpoch(model, sampler)]).mean())
        for sampler in (RNS(pool=5), Popularity(pool=5, power=2.0))
    ]
    assert means[1] > means[0] + 0.3


def test_a_sampler_with_a_state_has_seen_an_epoch_of_other_pools() -> None:
    model = opened("lightgcn")
    epoch = SampledEpoch(model, DivNS(pool=6, ratio=3, lam=0.7), batch=16)
    assert len(epoch.notes) == 1
    assert isinstance(epoch.state, Caches)
    assert bool((epoch.state.queue >= 0).all())
    before = epoch.state.hard.clone()
    negatives = list(epoch)
    assert not torch.equal(before, epoch.state.hard)
    assert torch.equal(torch.cat([one.items[:, 0, 1, 0] for one in negatives]), epoch.state.queue)
    assert torch.allclose(torch.cat([one.weights[:, 0, 0] for one in negatives]), torch.tensor(0.7).double())
    assert torch.equal(epoch.at(0).match.candidates, SampledEpoch(model, DNS(pool=6), batch=16).at(0).match.candidates)


def test_trained_gates_are_used_on_their_own_model_and_fresh_ones_elsewhere() -> None:
    own, other = opened("lightgcn", DENS(pool=4)), opened("lightgcn")
    assert SampledEpoch(own, DENS(pool=9)).parameters is own.sampler_parameters
    assert SampledEpoch(own, DENS(pool=9)).notes == []
    assert SampledEpoch(own, DNS()).parameters == {}
    strange = SampledEpoch(other, DENS(pool=9))
    assert len(strange.notes) == 1
    assert not torch.equal(strange.parameters["item.weight"], own.sampler_parameters["item.weight"])


@pytest.mark.parametrize("sampler", [SAHC(lambda_max=1.0), MixGCF(beta_low=1.0)])
def test_strength_and_the_rest_make_up_the_negative(sampler: SAHC | MixGCF) -> None:
    """Also where nothing but the positive is left."""
    for negatives in SampledEpoch(opened("ngcf"), sampler, batch=16):
        assert torch.allclose(negatives.shares.sum(2), torch.ones(1, dtype=torch.float64))
        expected = negatives.strength * negatives.match.p[:, None] + (1 - negatives.strength) * negatives.profile_before
        assert torch.allclose(negatives.profile, expected, atol=1e-12)
        if isinstance(sampler, MixGCF):
            assert torch.allclose(negatives.scores[:, 0], negatives.match.positive_score)
        assert bool(negatives.scores_before.isfinite().all())
