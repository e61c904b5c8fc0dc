"""The training graph: its matrix, who has seen what, and what it refuses."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from sahcns.data.ids import IdMap
from sahcns.data.split import Pairs, Split
from sahcns.errors import DataError, SettingError
from sahcns.graph import Graph, Unseen
from sahcns.kernels import build_graph
from sahcns.rng import Rng
from tests.splits import dense, normalised, random_split, splits, training_matrix


@given(splits())
@settings(max_examples=50, deadline=None)
def test_adjacency_is_the_dense_formula(split: Split) -> None:
    adjacency = Graph.of(split, dtype=torch.float64).adjacency
    matrix = dense(adjacency)
    np.testing.assert_allclose(matrix, normalised(split), rtol=0, atol=1e-15)
    assert (matrix == matrix.T).all()
    assert adjacency.n == split.n_users + split.n_items
    degrees = training_matrix(split).sum(1).tolist()
    assert adjacency.degrees.tolist() == adjacency.offsets.diff().tolist() == degrees


@given(splits())
@settings(max_examples=50, deadline=None)
def test_who_has_seen_what(split: Split) -> None:
    graph = Graph.of(split)
    pairs = sorted(zip(split.train.users.tolist(), split.train.items.tolist(), strict=True))
    assert list(zip(graph.pair_users.tolist(), graph.pair_items.tolist(), strict=True)) == pairs  # repeats stay
    distinct = sorted(set(pairs))
    assert graph.seen_keys.tolist() == [user * split.n_items + item for user, item in distinct]
    offsets = graph.seen_offsets.tolist()
    for user in range(split.n_users):
        own = [item for who, item in distinct if who == user]
        assert graph.seen_items[offsets[user] : offsets[user + 1]].tolist() == own
        assert int(graph.unseen.room[user]) == split.n_items - len(own)
    assert graph.popularity.tolist() == [sum(item == i for _, i in pairs) for item in range(split.n_items)]


def test_a_repeated_pair_is_one_edge_and_two_training_pairs() -> None:
    once = Graph.of(Split.from_pairs([[0, 0], [0, 1], [1, 1]], n_items=3))
    twice = Graph.of(Split.from_pairs([[0, 1], [0, 0], [1, 1], [0, 1]], n_items=3))
    np.testing.assert_array_equal(dense(twice.adjacency), dense(once.adjacency))
    assert twice.adjacency.degrees.tolist() == [2, 1, 1, 2, 0]
    assert len(twice.pair_users) == len(once.pair_users) + 1
    assert twice.popularity.tolist() == [1, 3, 0]


def test_one_item_each_swaps_the_rows_of_users_and_items() -> None:
    n, x = 5, torch.randn(10, 3, generator=torch.Generator().manual_seed(0))
    graph = Graph.of(Split.from_pairs([[k, k] for k in range(n)]))
    swapped = torch.cat([x[n:], x[:n]])
    assert torch.equal(graph.propagate(x), swapped)
    assert torch.equal(graph.hops(x, 2)[2], x)
    assert not torch.equal(swapped, x)


def test_float_type_and_sizes() -> None:
    graph = Graph.of(random_split(4, 6, each=2), dtype=torch.float64)
    assert (graph.n_users, graph.n_items, graph.n) == (4, 6, 10)
    assert graph.adjacency.values.dtype == torch.float64
    assert graph.adjacency.to(torch.float32).values.dtype == torch.float32
    assert Graph.of(random_split(4, 6, each=2)).adjacency.values.dtype == torch.float32
    assert graph.device == torch.device("cpu")


def test_an_empty_training_part_is_refused() -> None:
    with pytest.raises(DataError, match="training part is empty"):
        Graph.of(Split.from_pairs([], [[0, 1]], [[1, 0]]))


def test_who_has_everything_is_in_the_graph_and_not_among_the_pairs_to_train_on() -> None:
    rows = [[0, 0], [1, 0], [1, 1], [1, 1], [2, 1], [2, 1]]  # user 1 has everything, and two pairs stand twice
    graph = Graph.of(Split.from_pairs(rows, n_items=2))
    assert graph.pair_users.tolist() == [0, 2, 2]
    assert graph.pair_items.tolist() == [0, 1, 1]
    assert graph.full_users == 1
    assert graph.unseen.room.tolist() == [1, 0, 1]
    assert graph.adjacency.degrees.tolist() == [1, 2, 1, 2, 2]
    assert graph.seen_keys.tolist() == [0, 2, 3, 5]
    assert graph.popularity.tolist() == [2, 4]
    once = Graph.of(Split.from_pairs([[0, 0], [1, 0], [1, 1], [2, 1]], n_items=2))  # no pair twice
    assert (once.pair_users.tolist(), once.pair_items.tolist()) == ([0, 2], [0, 1])
    assert Graph.of(random_split(4, 6, each=2)).full_users == 0


def test_weights_are_no_matter_to_who_has_everything() -> None:
    graph = Graph.of(Split.from_pairs([[0, 0], [1, 0], [1, 1], [1, 2]], n_items=3))
    assert graph.reweighted(torch.tensor([1, 2, 3])).room.tolist() == [5, 0]
    with pytest.raises(DataError, match=r"user 0 .*positive sampling weight"):
        graph.reweighted(torch.tensor([1, 0, 0]))


def test_if_everybody_has_everything_nothing_can_be_trained() -> None:
    people, things = IdMap.of(["ann", "bob", "eve"]), IdMap.of(["x", "y"])
    nobody = Pairs(np.zeros(0, np.int32), np.zeros(0, np.int32))
    train = Pairs(np.array([1, 1, 2, 2, 2], np.int32), np.array([0, 1, 0, 1, 1], np.int32))
    says = (
        r"everybody with training pairs, user 'bob' first, has every one of the 2 items.*add items, or users who lack"
    )
    with pytest.raises(DataError, match=says):
        Graph.of(Split(train, nobody, nobody, people, things))


def test_an_unknown_path_is_refused() -> None:
    with pytest.raises(SettingError, match="kernels='referense' is not a path; did you mean 'reference'"):
        build_graph(random_split(3, 5, each=1), path="referense")


def test_weighted_draw_tables_count_weight_and_not_items() -> None:
    graph = Graph.of(Split.from_pairs([[0, 1], [0, 3], [1, 0]], n_users=3, n_items=4))
    unseen = graph.reweighted(torch.tensor([5, 7, 0, 2]))
    assert unseen.total == 14
    assert unseen.room.tolist() == [5, 9, 14]
    plain = Unseen.of(graph.seen_offsets, graph.seen_items, 4)
    assert plain.total == 4
    assert plain.room.tolist() == [2, 3, 4]
    assert plain.room.tolist() == graph.unseen.room.tolist()


@pytest.mark.parametrize("power", [57, 61, 62])  # 8 · 2^61 wraps around to 0 in 64 bits
def test_weights_too_large_to_count_are_refused(power: int) -> None:
    graph = Graph.of(random_split(5, 8, each=2))
    with pytest.raises(DataError, match="too large for 5 users; use a smaller exponent"):
        graph.reweighted(torch.full((8,), 1 << power))
    assert graph.reweighted(torch.full((8,), 1 << 55)).total == 1 << 58


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        (torch.tensor([0.5, 0.2, 0.2, 0.1]), r"whole numbers.*\[4\], torch.float32"),
        (torch.tensor([1, -1, 2, 2]), r"0 or more, one for each of the 4 items"),
        (torch.tensor([1, 2, 3]), r"one for each of the 4 items; these are shape \[3\]"),
    ],
)
def test_weights_that_cannot_be_drawn_by_are_refused(weights: torch.Tensor, says: str) -> None:
    graph = Graph.of(Split.from_pairs([[0, 1], [1, 0]], n_items=4))
    with pytest.raises(SettingError, match=says):
        graph.reweighted(weights)


def test_a_mask_is_a_weight() -> None:
    graph = Graph.of(Split.from_pairs([[0, 1], [1, 0]], n_items=4))
    drawn = graph.draw(torch.zeros(50, dtype=torch.int64), 2, Rng(0, "pools"), graph.reweighted(torch.arange(4) > 1))
    assert set(drawn.flatten().tolist()) == {2, 3}
