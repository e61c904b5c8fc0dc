"""A stored model gives its layers back, on every backbone, and a model that does not fit is refused."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from sahcns.backbones import NGCF, Backbone, LightGCN, SimGCL
from sahcns.errors import DataError, SettingError
from sahcns.graph import Graph
from sahcns.lab.inspection.rebuilt import Rebuilt
from sahcns.model import Recommender
from sahcns.rng import Rng
from sahcns.samplers import DENS, DNS, Matching, Mixture, Sampler
from sahcns.training import Protocol, fit
from tests.lab.inspection.inspected import BACKBONES, small, trained
from tests.splits import random_split

MORE: dict[str, Backbone] = {
    **BACKBONES,
    "ngcf-mean": NGCF(dim=3, depth=2, pool="mean"),
    "ngcf-original": NGCF(dim=3, depth=2, variant="original", dropout=0.5),  # ranks without dropout
    "simgcl-with-0": SimGCL(dim=4, depth=2, include_layer0=True),
}


@pytest.mark.parametrize("name", MORE)
def test_the_layers_are_those_that_training_saw(name: str, tmp_path: Path) -> None:
    """From the folder, so that what is stored is enough."""
    run = fit(small(), MORE[name], DNS(), protocol=Protocol(epochs=2, batch=16, learning_rate=0.1), device="cpu")
    model = Rebuilt.of(run.recommender.save(tmp_path / "run"), device="cpu")
    graph = Graph.of(small())
    expected = MORE[name].layers(run.recommender.weights, graph)
    assert model.backbone == MORE[name]
    assert len(model.layers) == len(expected)
    for found, layer in zip(model.layers, expected, strict=True):
        assert torch.equal(found, layer.detach())
        assert not found.requires_grad
    users = model.backbone.aggregation.pool_layers(model.layers)[: graph.n_users]
    assert torch.allclose(users, run.recommender.user_vectors, atol=1e-6)
    assert model.first_layer == (1 if name == "simgcl" else 0)
    assert model.sampler == DNS()


def test_a_sampler_s_own_trained_parts_come_back() -> None:
    model = Rebuilt.of(trained("lightgcn", DENS(pool=4)), device="cpu")
    assert set(model.sampler_parameters) == {
        f"{g}.{w}" for g in ("item", "user", "pos", "neg") for w in ("weight", "bias")
    }
    assert model.sampler == DENS(pool=4)


def test_other_data_is_refused() -> None:
    with pytest.raises(DataError, match=r"this is other data \(fingerprint .*give the run's own data"):
        Rebuilt.of(trained("lightgcn"), random_split(13, 17, 5, seed=1))


def test_weights_that_do_not_give_the_vectors_are_refused() -> None:
    model = trained("lightgcn")
    other = replace(model, weights={name: value * 1.1 for name, value in model.weights.items()})
    with pytest.raises(DataError, match="weights do not give its vectors"):
        Rebuilt.of(other)
    deeper = replace(
        model, record={**model.record, "backbone": LightGCN(dim=4, depth=3).to_dict() | {"name": "lightgcn"}}
    )
    with pytest.raises(DataError, match="weights do not give its vectors"):
        Rebuilt.of(deeper)


def test_a_model_that_diverged_is_refused() -> None:
    model = trained("lightgcn")
    broken = replace(model, weights={name: value * float("nan") for name, value in model.weights.items()})
    with pytest.raises(DataError, match="numbers that are not finite"):
        Rebuilt.of(broken)


@dataclass(frozen=True)
class Mine(Sampler):
    """A user's own, which loses its name again."""

    name: ClassVar[str] = ""

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return match.pick(match.scores.argmin(1))


def with_record(model: Recommender, **parts: object) -> Recommender:
    return replace(model, record={**model.record, **parts})


def test_a_part_that_is_not_known_here_is_named_with_its_remedy() -> None:
    model = trained("lightgcn", Mine(pool=3))
    assert model.record["sampler"]["name"] == "Mine"
    with pytest.raises(
        SettingError, match=r"with the sampler 'Mine', which is not known here; give --import FILE\.py, or"
    ):
        _ = Rebuilt.of(model, device="cpu").sampler
    imported = with_record(model, imports=["/home/me/mine.py", "its.py"])
    with pytest.raises(
        SettingError, match=r"give --import /home/me/mine\.py --import its\.py, or name another sampler"
    ):
        _ = Rebuilt.of(imported, device="cpu").sampler
    with pytest.raises(SettingError, match="with the backbone 'theirs', which is not known here; give --import"):
        Rebuilt.of(with_record(model, backbone={"name": "theirs", "dim": 4}))
