"""What every backbone has in common: its start, its final vectors, its refusals, and that the graph matters."""

import math
from typing import Any

import pytest
import torch

from sahcns.backbones import MF, NGCF, SGL, Backbone, LightGCN, LightGCNpp, SimGCL, XSimGCL
from sahcns.backbones.base import xavier
from sahcns.data.split import Split
from sahcns.errors import SettingError
from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.settings import by_name, named
from tests.splits import random_split

QUIET = [MF(dim=8), LightGCN(dim=8), NGCF(dim=8), NGCF(dim=8, variant="original"), LightGCNpp(dim=8)]
ALL = [*QUIET, SimGCL(dim=8), XSimGCL(dim=8), SGL(dim=8)]


@pytest.mark.parametrize(("rows", "columns"), [(300, 20), (20, 300), (64, 64), (1, 64)])
def test_xavier_is_uniform_within_its_bound(rows: int, columns: int) -> None:
    bound = math.sqrt(6 / (rows + columns))
    table = torch.cat([xavier(Rng(seed, "start"), rows, columns) for seed in range(64 if rows == 1 else 2)])
    assert table.abs().max() <= bound
    assert table.max() > 0.97 * bound
    assert table.min() < -0.97 * bound
    assert abs(float(table.mean())) < 0.05 * bound
    assert float(table.std()) == pytest.approx(bound / math.sqrt(3), rel=0.05)


@pytest.mark.parametrize("backbone", ALL, ids=str)
def test_users_and_items_start_with_a_bound_each(backbone: Backbone) -> None:
    graph = Graph.of(random_split(400, 20, each=3))
    ego = backbone.initial(graph, Rng(1, "start"))["ego"]
    assert ego.shape == (420, 8)
    assert ego.dtype == torch.float32
    users, items = ego[:400].abs().max().item(), ego[400:].abs().max().item()
    assert math.sqrt(6 / 408) * 0.97 < users <= math.sqrt(6 / 408)
    assert math.sqrt(6 / 28) * 0.9 < items <= math.sqrt(6 / 28)


@pytest.mark.parametrize("kind", [MF, NGCF, SGL])
def test_tables_may_start_normal_and_nothing_else_does(kind: type[Backbone]) -> None:
    graph = Graph.of(random_split(400, 20, each=3))
    start = kind(dim=32, normal_start=0.1).initial(graph, Rng(1, "start"), torch.float64)
    ego = start["ego"]
    assert (ego.shape, ego.dtype) == ((420, 32), torch.float64)
    ranks = torch.tensor([0.023, 0.159, 0.5, 0.841, 0.977], dtype=torch.float64)
    assert ego.flatten().quantile(ranks).tolist() == pytest.approx([-0.2, -0.1, 0, 0.1, 0.2], abs=0.006)
    assert abs(ego[:400].mean()) < 0.003
    bound = math.sqrt(6 / 64)
    for name in start.keys() - {"ego"}:
        assert start[name].abs().max() <= (math.sqrt(6 / 33) if name[0] == "b" else bound)
    assert kind(dim=32, normal_start=0).to_dict() == kind(dim=32).to_dict()  # results without it keep their keys
    users = xavier(rng := Rng(1, "start"), 400, 32)
    assert torch.equal(kind(dim=32).initial(graph, Rng(1, "start"))["ego"], torch.cat([users, xavier(rng, 20, 32)]))


@pytest.mark.parametrize("backbone", ALL, ids=str)
def test_the_start_depends_on_the_seed_alone(backbone: Backbone) -> None:
    graph = Graph.of(random_split(9, 12, each=3))
    first, again, other = (backbone.initial(graph, Rng(seed, "start")) for seed in (1, 1, 2))
    assert first.keys() == again.keys()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)


def test_every_backbone_starts_from_the_same_tables() -> None:
    graph = Graph.of(random_split(9, 12, each=3))
    tables = [backbone.initial(graph, Rng(4, "start"))["ego"] for backbone in ALL]
    assert all(torch.equal(table, tables[0]) for table in tables)


@pytest.mark.parametrize("backbone", ALL, ids=str)
def test_vectors_are_the_pooled_layers_of_users_and_of_items(backbone: Backbone) -> None:
    graph = Graph.of(random_split(7, 9, each=3))
    parameters = {name: value.requires_grad_() for name, value in backbone.initial(graph, Rng(0, "start")).items()}
    users, items = backbone.vectors(parameters, graph)
    layers = torch.stack(backbone.layers(parameters, graph), 1).detach()
    final = backbone.aggregation.pool(layers)
    torch.testing.assert_close(users, final[:7])
    torch.testing.assert_close(items, final[7:])
    assert not users.requires_grad
    again = backbone.vectors(parameters, graph)
    assert torch.equal(users, again[0])  # nothing random about ranking
    assert torch.equal(items, again[1])


@pytest.mark.parametrize("backbone", ALL, ids=str)
def test_whether_the_first_layer_is_the_table_is_said_truly(backbone: Backbone) -> None:
    graph = Graph.of(random_split(7, 9, each=3))
    parameters = backbone.initial(graph, Rng(0, "start"))
    assert torch.equal(backbone.layers(parameters, graph)[0], parameters["ego"]) == backbone.has_ego_layer


@pytest.mark.parametrize("backbone", [b for b in ALL if not isinstance(b, MF)], ids=str)
def test_propagation_changes_the_ranking(backbone: Backbone) -> None:
    """Against the same tables without the graph: most users get another order."""
    graph = Graph.of(random_split(20, 30, each=5))
    parameters = backbone.initial(graph, Rng(0, "start"))
    with_graph, without = (model.vectors(parameters, graph) for model in (backbone, MF(dim=8)))
    orders = [(users @ items.T).argsort(1, descending=True)[:, :10] for users, items in (with_graph, without)]
    changed = (orders[0] != orders[1]).any(1)
    assert changed.float().mean() > 0.9


@pytest.mark.parametrize(
    "backbone",
    [
        LightGCN(dim=3),
        LightGCNpp(dim=3, depth=3),
        SimGCL(dim=3, depth=3),
        SimGCL(dim=3, include_layer0=True),
        XSimGCL(dim=3, depth=3),
        SGL(dim=3),
    ],
    ids=str,
)
def test_what_a_like_minded_user_has_is_ranked_above_what_a_stranger_has(backbone: Backbone) -> None:
    """Users 0 and 1 share item 0; user 1 also has item 1; user 2, a stranger, has item 2."""
    graph = Graph.of(Split.from_pairs([[0, 0], [1, 0], [1, 1], [2, 2]]))
    ego = torch.cat([torch.eye(3), torch.zeros(3, 3)])
    users, items = backbone.vectors({"ego": ego}, graph)
    scores = users[0] @ items.T
    assert scores[0] > scores[1] > scores[2] == 0
    alone = MF(dim=3).vectors({"ego": ego}, graph)
    assert (alone[0][0] @ alone[1].T).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("lightgcn", {"depth": -1}, r"LightGCN: depth=-1 is not allowed; it must be >= 0"),
        ("lightgcn", {"dim": 0}, r"LightGCN: dim=0 is not allowed; it must be >= 1"),
        ("lightgcn", {"normal_start": -0.1}, r"LightGCN: normal_start=-0.1 is not allowed; it must be >= 0"),
        ("lightgcn", {"dim": 6.5}, r"LightGCN: dim=6.5 must be a whole number"),
        ("mf", {"depth": 1}, r"MF: depth=1 is not allowed; it must be in \[0, 0\]"),
        ("ngcf", {"pool": "max"}, r"NGCF: pool='max' is not allowed; it must be concat \| mean \| sum"),
        ("ngcf", {"variant": "mix"}, r"NGCF: variant='mix' is not allowed; it must be mixgcf \| original"),
        ("ngcf", {"dropout": 1.0}, r"NGCF: dropout=1.0 is not allowed"),
        ("simgcl", {"depth": 0}, r"SimGCL: depth=0 is not allowed; it must be >= 1"),
        ("simgcl", {"temperature": 0.0}, r"SimGCL: temperature=0.0 is not allowed; it must be > 0"),
        ("simgcl", {"noise": float("nan")}, r"SimGCL: noise=nan is not allowed"),
        ("simgcl", {"include_layer0": 1}, r"SimGCL: include_layer0=1 must be true or false"),
        ("simgcl", {"noize": 0.1}, r"simgcl has no argument 'noize'; did you mean 'noise'"),
        ("lightgcnpp", {"gamma": 1.5}, r"LightGCNpp: gamma=1.5 is not allowed; it must be in \[0, 1\]"),
        ("lightgcnpp", {"depth": 0}, r"LightGCNpp: depth=0 is not allowed; it must be >= 1"),
        ("xsimgcl", {"contrast_layer": 4}, r"XSimGCL: contrast_layer=4 is beyond depth=2"),
        ("sgl", {"edge_dropout": 1}, r"SGL: edge_dropout=1 is not allowed; it must be in \[0, 0.99\]"),
        ("lightgnc", {}, r"there is no backbone called 'lightgnc'; did you mean 'lightgcn'"),
    ],
)
def test_refused_with_the_argument_the_value_and_what_is_allowed(name: str, values: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        by_name(Backbone, name, values)


def test_each_is_built_from_its_own_description() -> None:
    assert {backbone.name for backbone in ALL} <= set(named(Backbone))
    for backbone in ALL:
        assert by_name(Backbone, backbone.name, backbone.to_dict()) == backbone


@pytest.mark.parametrize(
    ("backbone", "settings"),
    [
        (MF(), {"dim": 64, "depth": 0}),
        (LightGCN(), {"dim": 64, "depth": 3}),
        (NGCF(), {"dim": 64, "depth": 3, "pool": "concat", "variant": "mixgcf", "dropout": 0.0}),
        (LightGCNpp(), {"dim": 64, "depth": 2, "alpha": 0.6, "beta": -0.1, "gamma": 0.2}),
        (SGL(), {"dim": 64, "depth": 3, "cl_weight": 0.1, "edge_dropout": 0.1, "temperature": 0.2}),
        (
            XSimGCL(),
            {"dim": 64, "depth": 2, "cl_weight": 0.2, "noise": 0.2, "temperature": 0.15, "contrast_layer": 1},
        ),
        (
            SimGCL(),
            {"dim": 64, "depth": 3, "cl_weight": 0.1, "noise": 0.1, "temperature": 0.2, "include_layer0": False},
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Backbone) else "",
)
def test_the_defaults_are_the_papers_and_those_of_the_lineage(backbone: Backbone, settings: dict[str, Any]) -> None:
    """The paper has d = 64 and three layers; the rest is what docs/backbones.md says, and moves every number."""
    assert backbone.to_dict() == settings


@pytest.mark.parametrize("backbone", QUIET, ids=str)
def test_without_noise_training_sees_the_same_layers_and_draws_nothing(backbone: Backbone) -> None:
    graph, rng, pair = Graph.of(random_split(6, 9, each=3)), Rng(0, "noise"), torch.tensor([0])
    parameters = backbone.initial(graph, Rng(0, "start"))
    for seen, plain in zip(
        backbone.training_layers(parameters, graph, rng), backbone.layers(parameters, graph), strict=True
    ):
        assert torch.equal(seen, plain)
    assert backbone.extra_loss(parameters, graph, pair, pair, rng) is None
    assert rng.call == 0
