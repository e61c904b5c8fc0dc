"""draw: exactly the stated distribution over what a user has not seen, and the same draws on every path."""

from collections import Counter

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from sahcns.data.split import Split
from sahcns.graph import Graph, Unseen
from sahcns.rng import Rng
from tests.kernels.conftest import Path
from tests.splits import random_split, splits


class EveryNumber(Rng):
    """Not random at all: each user's numbers are 0, 1, 2, … below the bound, so that a draw lists its whole support."""

    def below(self, bound: int | Tensor, *shape: int) -> Tensor:
        count, batch = shape
        return torch.arange(count)[:, None].expand(count, batch) % bound


def support(graph: Graph, unseen: Unseen, user: int) -> Counter[int]:
    """How many of the equally likely numbers lead to each item."""
    room = int(unseen.room[user])
    drawn = graph.draw(torch.tensor([user]), room, EveryNumber(0, "pools"), unseen)
    return Counter(drawn[0].tolist())


def unseen_items(split: Split, user: int) -> list[int]:
    seen = set(split.train.items[split.train.users == user].tolist())
    return [item for item in range(split.n_items) if item not in seen]


@given(splits())
@settings(max_examples=40, deadline=None)
def test_every_unseen_item_has_one_number(split: Split) -> None:
    graph = Graph.of(split)
    for user in range(split.n_users):
        assert support(graph, graph.unseen, user) == dict.fromkeys(unseen_items(split, user), 1)


@given(splits(), st.data())
@settings(max_examples=40, deadline=None)
def test_with_weights_every_unseen_item_has_as_many_numbers_as_its_weight(split: Split, data: st.DataObject) -> None:
    size = split.n_items
    weights = data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    graph = Graph.of(split)
    unseen = Unseen.of(graph.seen_offsets, graph.seen_items, size, torch.tensor(weights))
    for user in range(split.n_users):
        expected = {item: weights[item] for item in unseen_items(split, user) if weights[item]}
        assert int(unseen.room[user]) == sum(expected.values())
        assert support(graph, unseen, user) == expected


@pytest.mark.parametrize("weighted", [False, True])
@given(split=splits(), count=st.integers(1, 12), batch=st.integers(1, 9), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_path_draws_the_same_unseen_items(
    path: Path, weighted: bool, split: Split, count: int, batch: int, seed: int
) -> None:
    if path.lean and weighted:
        return
    graph, plain = path.graph(split), Graph.of(split)
    weights = torch.arange(1, split.n_items + 1) * 3
    users = torch.arange(batch) * 5 % split.n_users
    drawn, expected = (
        g.draw(users.to(g.device), count, Rng(seed, "pools", g.device), table)
        for g, table in (
            (graph, graph.reweighted(weights.to(path.device)) if weighted else None),
            (plain, plain.reweighted(weights) if weighted else None),
        )
    )
    assert drawn.shape == (batch, count)
    assert drawn.dtype == torch.int64
    assert drawn.tolist() == expected.tolist()
    for user, row in zip(users.tolist(), drawn.tolist(), strict=True):
        assert set(row) <= set(unseen_items(split, user))


def test_draws_are_uniform_and_independent_of_the_column() -> None:
    """χ² over 60,000 draws for one user with 7 unseen items; 35 is beyond a chance of 10⁻⁵ at 6 degrees of freedom."""
    graph = Graph.of(Split.from_pairs([[0, 2], [0, 3], [0, 9]], n_items=10))  # all paths draw alike
    drawn = graph.draw(torch.zeros(6000, dtype=torch.int64), 10, Rng(3, "pools"))
    for part in (drawn, drawn[:, 0], drawn[:, 9], drawn[:3000]):
        counts = torch.bincount(part.flatten(), minlength=10)
        assert counts[[2, 3, 9]].sum() == 0
        expected = part.numel() / 7
        assert float(((counts[counts > 0] - expected) ** 2).sum() / expected) < 35
    pairs = Counter(zip(drawn[:, 0].tolist(), drawn[:, 1].tolist(), strict=True))
    assert len(pairs) == 49  # with replacement, each column on its own


def test_a_small_pool_is_the_beginning_of_a_large_one(path: Path) -> None:
    graph = path.graph(random_split(6, 30, each=4))
    users = torch.arange(6, device=path.device).repeat(3)
    large = graph.draw(users, 12, Rng(5, "pools", path.device))
    assert torch.equal(graph.draw(users, 4, Rng(5, "pools", path.device)), large[:, :4])


def test_another_step_another_call_and_another_seed_draw_differently(path: Path) -> None:
    graph = path.graph(random_split(6, 30, each=4))
    users, rng = torch.arange(6, device=path.device), Rng(5, "pools", path.device)
    first, second = graph.draw(users, 8, rng), graph.draw(users, 8, rng)
    rng.advance()
    third = graph.draw(users, 8, rng)
    other = graph.draw(users, 8, Rng(6, "pools", path.device))
    stream = graph.draw(users, 8, Rng(5, "choice", path.device))
    everything = [first, second, third, other, stream]
    assert len({str(drawn.tolist()) for drawn in everything}) == len(everything)
    rng.seek(0)
    assert torch.equal(graph.draw(users, 8, rng), first)
