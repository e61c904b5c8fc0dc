"""Pools: exactly what a user has not seen, in exactly the proportions asked for."""

from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from sahcns import counter
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.graph import Graph, Unseen
from sahcns.kernels import build_graph
from sahcns.rng import Rng
from sahcns.samplers import Popularity
from tests.samplers.world import graph_of


class Ladder(Rng):
    """Gives 0, 1, 2, … down each column instead of random numbers: every number below the bound, once."""

    def below(self, bound: int | Tensor, *shape: int) -> Tensor:
        return torch.arange(shape[0])[:, None].expand(shape) % bound


def random_seen(seed: int, users: int = 12, items: int = 20) -> dict[int, set[int]]:
    """Users with nothing seen, everything but one, the first and the last items, and anything between."""
    rng = np.random.default_rng(seed)
    seen = {u: set(rng.choice(items, rng.integers(1, items), replace=False).tolist()) for u in range(users)}
    seen[0], seen[1], seen[2] = set(), set(range(items)) - {7}, {0, 1, 2}
    seen[3], seen[4], seen[users - 1] = {items - 1, items - 2}, set(range(1, items)), set()
    return seen


def unseen_of(seen: dict[int, set[int]], user: int, items: int = 20) -> list[int]:
    return [item for item in range(items) if item not in seen[user]]


@pytest.mark.parametrize("seed", range(5))
def test_every_number_gives_the_unseen_item_of_that_rank(seed: int) -> None:
    seen = random_seen(seed)
    graph = graph_of(seen, 12, 20)
    for user in range(12):
        expected = unseen_of(seen, user)
        drawn = graph.draw(torch.tensor([user]), len(expected), Ladder(0, "pools"))
        assert drawn[0].tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_every_number_gives_each_item_as_often_as_its_weight(seed: int) -> None:
    """Weights from zero up, also for seen items and at both ends."""
    seen = random_seen(seed)
    weights = torch.tensor(np.random.default_rng(seed).integers(0, 5, 20))
    for user in range(12):  # everyone has something to draw
        weights[unseen_of(seen, user)[0]] += 1
    graph = graph_of(seen, 12, 20)
    unseen = graph.reweighted(weights)
    for user in range(12):
        expected = [item for item in unseen_of(seen, user) for _ in range(int(weights[item]))]
        assert int(unseen.room[user]) == len(expected)
        drawn = graph.draw(torch.tensor([user]), len(expected), Ladder(0, "pools"), unseen)
        assert drawn[0].tolist() == expected


@pytest.mark.parametrize("path", ["reference", "cpu", "auto"])
def test_draws_of_a_batch_are_unseen_and_uniform(path: str) -> None:
    seen = random_seen(0)
    pairs = [(u, i) for u, his in seen.items() for i in his]
    graph = build_graph(Split.from_pairs(pairs, n_users=12, n_items=20), path=path)
    users = torch.arange(12).repeat(50)
    drawn = graph.draw(users, 100, Rng(1, "pools"))
    assert drawn.shape == (600, 100)
    for user in range(12):
        found = Counter(drawn[users == user].flatten().tolist())
        assert set(found) == set(unseen_of(seen, user))
        assert len(found) == 1 or chisquare(list(found.values())).pvalue > 1e-3


def test_columns_and_neighbours_are_independent() -> None:
    graph = graph_of({0: {3}}, 1, 4)
    drawn = graph.draw(torch.zeros(9000, dtype=torch.int64), 2, Rng(0, "pools"))
    for pairs in (drawn, drawn.flatten().view(-1, 2), drawn[:, 0].view(-1, 2)):
        found = Counter(map(tuple, pairs.tolist()))
        assert len(found) == 9
        assert chisquare(list(found.values())).pvalue > 1e-3


def test_a_user_with_one_item_left_always_gets_it() -> None:
    graph = graph_of({0: {0, 1, 2, 4, 5}, 1: {2}}, 2, 6)
    assert set(graph.draw(torch.tensor([0, 1, 0]), 500, Rng(0, "pools"))[0].tolist()) == {3}


def test_a_neighbour_who_has_everything_changes_no_pool() -> None:
    users = torch.tensor([0, 2, 2, 0])
    with_them, without = (graph_of({0: {1}, 1: own, 2: {0, 2}}, 3, 4) for own in ({0, 1, 2, 3}, {0}))
    pools = [graph.draw(users, 50, Rng(0, "pools")) for graph in (with_them, without)]
    assert torch.equal(*pools)
    assert set(pools[0][1].tolist()) == {1, 3}


def test_pools_are_nested() -> None:
    """One seed, two samplers: the smaller pool is the beginning of the larger one."""
    graph = graph_of(random_seen(2), 12, 20)
    users = torch.arange(12)
    large = graph.draw(users, 10, Rng(4, "pools"))
    for count in (1, 3):
        assert torch.equal(graph.draw(users, count, Rng(4, "pools")), large[:, :count])


def test_the_same_numbers_as_numpys_counter() -> None:
    seen = random_seen(3)
    graph = graph_of(seen, 12, 20)
    users, count = [5, 0, 1, 5, 11, 8], 4
    rng = Rng(9, "pools")
    rng.seek(6)
    drawn = graph.draw(torch.tensor(users), count, rng)
    base = int(counter.bits(counter.stream_key(9, "pools"), 1, start=6)[0])
    numbers = (counter.bits(base, count * len(users)) & np.uint64((1 << 63) - 1)).reshape(count, len(users))
    for b, user in enumerate(users):
        left = unseen_of(seen, user)
        assert drawn[b].tolist() == [left[int(number) % len(left)] for number in numbers[:, b]]


def test_repeated_training_pairs_are_seen_once() -> None:
    graph = build_graph(Split.from_pairs([(0, 1), (0, 1), (0, 3), (1, 0)], n_users=2, n_items=5))
    assert graph.draw(torch.tensor([0]), 3, Ladder(0, "pools"))[0].tolist() == [0, 2, 4]
    assert graph.popularity.tolist() == [1, 2, 0, 1, 0]


def counts_to_graph(counts: list[int], extra: int = 1) -> Graph:
    """Item j has counts[j] training pairs, each with a user of its own; the last user has only the last item."""
    seen: dict[int, set[int]] = {}
    for item, times in enumerate(counts):
        for _ in range(times):
            seen[len(seen)] = {item}
    users = len(seen)
    seen[users] = {len(counts)}
    return graph_of(seen, users + extra, len(counts) + 1)


def test_sixteen_to_one_at_three_quarters_is_eight_to_one() -> None:
    graph = counts_to_graph([16, 1])
    weights = Popularity().weights(graph.popularity)
    assert weights is not None
    assert int(weights[0]) == 8 * int(weights[1])
    reader = torch.tensor([17])  # has seen item 2 alone
    found = Counter(graph.draw(reader, 9000, Rng(0, "pools"), graph.reweighted(weights)).flatten().tolist())
    assert set(found) == {0, 1}
    assert chisquare([found[0], found[1]], [8000, 1000]).pvalue > 1e-3


@pytest.mark.parametrize("power", [0.3, 0.75, 1.0, 1.5])
def test_popularity_draws_match_the_exact_distribution(power: float) -> None:
    """q(j) ∝ c_j^x over what the user has not seen; an item without training pairs is never drawn."""
    counts = [1, 9, 0, 4, 2]
    graph = counts_to_graph(counts, extra=2)
    weights = Popularity(power=power).weights(graph.popularity)
    assert weights is not None
    unseen = graph.reweighted(weights)
    fans = {"last": (16, {5}), "of item 1": (1, {1}), "of nothing": (17, set())}
    for user, his in fans.values():
        left = {j: c**power for j, c in enumerate([*counts, 1]) if c and j not in his}
        found = Counter(graph.draw(torch.tensor([user]), 20_000, Rng(0, "pools"), unseen).flatten().tolist())
        assert set(found) == set(left)
        expected = [20_000 * q / sum(left.values()) for q in left.values()]
        assert chisquare([found[j] for j in left], expected).pvalue > 1e-3


def test_power_zero_is_uniform_over_all_items() -> None:
    graph = counts_to_graph([3, 0, 5])
    assert Popularity(power=0).weights(graph.popularity) is None


def test_a_user_with_nothing_left_to_weigh_is_refused() -> None:
    graph = graph_of({0: {0}, 1: {0, 1}}, 2, 3)
    with pytest.raises(
        DataError, match=r"user 1 .*, one of 1 such, has every item with a positive sampling weight, so"
    ):
        graph.reweighted(torch.tensor([1, 1, 0]))


def test_weights_too_large_to_count_are_refused() -> None:
    graph = graph_of({0: {0}, 1: {1}}, 2, 3)
    with pytest.raises(
        DataError, match=r"popularity weights sum to \d+, too large for 2 users; use a smaller exponent"
    ):
        Unseen.of(graph.seen_offsets, graph.seen_items, 3, torch.full((3,), 1 << 60))


def test_large_weights_are_still_exact() -> None:
    """Weights near 2^50: rounding anywhere in floating point would miss the boundary between two items."""
    graph = graph_of({0: {1}, 1: {0}}, 2, 4)
    huge = 1 << 50
    unseen = graph.reweighted(torch.tensor([huge + 1, 5, huge - 1, 3]))

    class At(Rng):
        def below(self, bound: int | Tensor, *shape: int) -> Tensor:
            return torch.tensor([0, huge, huge + 1, 2 * huge - 1, 2 * huge, 2 * huge + 2])[:, None]

    assert graph.draw(torch.tensor([0]), 6, At(0, "pools"), unseen)[0].tolist() == [0, 0, 2, 2, 3, 3]


def test_weights_in_numpy_or_a_list_are_refused() -> None:
    graph = graph_of({0: {0}}, 1, 3)
    for weights in (np.ones(3, dtype=np.int64), [1, 1, 1]):
        with pytest.raises(SettingError, match=type(weights).__name__):
            graph.reweighted(weights)  # type: ignore[arg-type]
