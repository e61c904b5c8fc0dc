"""SRNS: memories, refreshes and the vectors of past epochs, against a diary kept in Python dictionaries."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.graph import Graph
from sahcns.samplers import DNS, SRNS, Matching
from sahcns.samplers.srns import Memory, deviation
from tests.samplers.oracle import Pair, Vector, dot, first_largest, mean, negatives_of, pairs_of, sigmoid
from tests.samplers.world import DEPTHS, DIM, KINDS, World, choice, every_case, graph_of

Past = dict[int, tuple[dict[int, Vector], list[Vector]]]  # by epoch: vectors of the users seen in it, and of all items


def std(pair: Pair, item: int, epoch: int, past: Past) -> float:
    """Of σ(s_j - s_i) over those of the last five epochs in which the user was seen."""
    near = []
    for t in range(max(0, epoch - 5), epoch):
        users, items = past[t]
        if pair.user in users:
            user = users[pair.user]
            near.append(sigmoid(dot(user, items[item]) - dot(user, items[pair.positive])))
    return math.sqrt(mean([(p - mean(near)) ** 2 for p in near])) if near else 0.0


def changed(world: World, seed: int) -> World:
    """The same graph under other layers."""
    rng = np.random.default_rng([7, seed])
    tables = tuple(torch.tensor(rng.normal(size=(world.graph.n, DIM))) for _ in world.layers)
    return dataclasses.replace(world, layers=tables)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_eight_epochs(kind: Kind, depth: int) -> None:
    """Each pair: the best of the memory as it was; after the batch, a memory of the old one and of the first pair's pool."""
    sampler = SRNS(pool=6, memory=3, alpha=0.8, warmup=4, temperature=1.0)
    first_world = World.random(kind, depth, 0)
    state = sampler.begin(first_world.graph)
    memory: dict[int, list[int]] = {}
    past: Past = {}
    for epoch in range(8):
        world = changed(first_world, epoch)
        order = torch.tensor(np.random.default_rng(epoch).permutation(len(world.graph.pair_users)))
        if epoch == 2:  # one of the users is not seen
            order = order[world.graph.pair_users[order] != 1]
        seen: dict[int, Vector] = {}
        for batch in order.chunk(2):
            match = world.match(sampler, 10 * epoch + int(batch[0]), pairs=batch, epoch=epoch, state=state)
            varied = deviation(match, sampler.remembered(match)).tolist()
            mixture = sampler.choose(match, choice(epoch))
            renewed: dict[int, Pair] = {}
            for row, pair, (negative,) in zip(varied, pairs_of(match), negatives_of(mixture, match), strict=True):
                held = memory.get(pair.user, pair.pool[:3])
                assert row == pytest.approx([std(pair, j, epoch, past) for j in held], rel=1e-6, abs=1e-9)
                weight = 0.8 * min(1.0, epoch / 4)
                merit = [
                    sigmoid(pair.score(j) - pair.score(pair.positive)) + weight * std(pair, j, epoch, past)
                    for j in held
                ]
                assert negative == pair.real(held[first_largest(merit)])
                renewed.setdefault(pair.user, pair)
                seen[pair.user] = pair.final_user
            for user, pair in renewed.items():
                old, new = memory.get(user, pair.pool[:3]), state.items[user].tolist()
                assert all(item in {*old, *pair.pool} for item in new)
                assert all(new.count(item) <= max(old.count(item), pair.pool.count(item)) for item in new)
                assert not set(new) & world.seen[user]
                memory[user] = new
        items = [pair.final_item(item) for item in range(world.graph.n_items)]
        past[epoch] = seen, items
        sampler.end_epoch(state, torch.tensor(items, dtype=torch.float64), world.graph, choice())
    assert any(memory[user] != memory[0] for user in memory)


def test_the_user_is_remembered_as_of_the_last_visit() -> None:
    sampler, world = SRNS(pool=6, memory=2), World.random("mean", 2, 0)
    state, pairs = sampler.begin(world.graph), torch.tensor([0, 1])
    assert world.graph.pair_users[pairs].tolist() == [0, 0]
    for epoch in range(2):
        for visit in range(2):
            now = changed(world, 2 * epoch + visit)
            sampler.choose(now.match(sampler, pairs=pairs[visit : visit + 1], epoch=epoch, state=state), choice())
        sampler.end_epoch(state, pairs_items(now), world.graph, choice())
    match = world.match(sampler, pairs=pairs, epoch=2, state=state)
    past = {
        epoch: (
            {0: pairs_of(changed(world, 2 * epoch + 1).match(sampler, pairs=pairs))[0].final_user},
            pairs_items(changed(world, 2 * epoch + 1)).tolist(),
        )
        for epoch in range(2)
    }
    found = deviation(match, match.candidates).tolist()
    for pair, row in zip(pairs_of(match), found, strict=True):
        assert row == pytest.approx([std(pair, item, 2, past) for item in pair.pool], rel=1e-9)
    assert max(found[0]) > 0.01


def pairs_items(world: World) -> Tensor:
    """[n_items, D]."""
    return Aggregation(world.kind).pool_layers(tuple(layer[world.graph.n_users :] for layer in world.layers))


def many(users: int, fresh: list[int], scores: list[float]) -> tuple[Graph, Matching]:
    """One pair of each of many users alike, who all get these candidates; item 0 is the positive, scored 0."""
    graph = graph_of({u: {0} for u in range(users)}, users, len(scores) + 1)
    table = torch.tensor([1.0] * users + [0.0, *scores], dtype=torch.float64)[:, None]
    ids = torch.arange(users)
    pools = torch.tensor(fresh).expand(users, len(fresh))
    return graph, Matching(ids, ids * 0, pools, ids, (table,), graph, Aggregation("mean"), torch.tensor(0.0))


@pytest.mark.parametrize("temperature", [0.7, 5.0])
def test_the_memory_is_drawn_by_the_softmax_of_scores(temperature: float) -> None:
    """Of the held item 1 and new ones 2, 3 and 4; item 1 among the new ones counts once."""
    users, scores = 6000, [0.5, -1.0, 1.5, 0.0]
    sampler = SRNS(pool=5, memory=1, temperature=temperature)
    graph, match = many(users, [1, 2, 3, 1, 4], scores)
    match.state = state = sampler.begin(graph)
    sampler.choose(match, choice())
    found = Counter(state.items.flatten().tolist())
    total = sum(math.exp(s / temperature) for s in scores)
    expected = [users * math.exp(s / temperature) / total for s in scores]
    assert chisquare([found[item] for item in (1, 2, 3, 4)], expected).pvalue > 1e-3


def test_a_draw_is_without_replacement() -> None:
    """As many as there are: all of them, once each."""
    sampler = SRNS(pool=6, memory=3, temperature=0.01)
    graph, match = many(50, [1, 2, 3, 1, 2, 3], [9.0, 0.0, -9.0])
    match.state = state = sampler.begin(graph)
    sampler.choose(match, choice())
    assert all(sorted(row) == [1, 2, 3] for row in state.items.tolist())


def test_pairs_of_one_user_leave_one_memory_that_of_the_first() -> None:
    sampler, world = SRNS(pool=6, memory=3), World.random("mean", 2, 0)
    state = sampler.begin(world.graph)
    match = world.match(sampler, state=state)
    sampler.choose(match, choice())
    first: dict[int, list[int]] = {}
    for user, pool in zip(match.users.tolist(), match.candidates.tolist(), strict=True):
        first.setdefault(user, pool)
    assert all(set(state.items[user].tolist()) <= set(pool) for user, pool in first.items())


def test_any_number_of_threads_leaves_the_same_memory() -> None:
    """Of 60,000 pairs of 300 users every one writes."""
    users, before, found = 300, torch.get_num_threads(), []
    graph, match = many(users, [1, 2, 3, 4], [0.5, -1.0, 1.5, 0.0])
    rows = torch.arange(200 * users) % users
    table = torch.cat(
        [match.layers[0][:users] * torch.linspace(0.5, 2, users).double()[:, None], match.layers[0][users:]]
    )
    sampler = SRNS(pool=4, memory=2, temperature=1.0)
    for threads in (1, 4):
        state = sampler.begin(graph)
        torch.set_num_threads(threads)
        for epoch in range(2):
            drawn = graph.draw(rows, 4, choice(epoch))
            match = Matching(
                rows, rows * 0, drawn, rows, (table,), graph, Aggregation("mean"), torch.tensor(float(epoch))
            )
            match.state = state
            sampler.choose(match, choice(epoch))
            sampler.end_epoch(state, table[users:], graph, choice())
        found.append([tensor.clone() for tensor in vars(state).values()])
    torch.set_num_threads(before)
    assert all(torch.equal(one, four) for one, four in zip(*found, strict=True))


def test_its_own_stream_makes_the_memory() -> None:
    world, found = World.random("mean", 2, 0), []
    for seed in (0, 0, 1):
        sampler = SRNS(pool=8, memory=3)
        state = sampler.begin(world.graph)
        sampler.choose(world.match(sampler, state=state), choice(seed))
        found.append(state.items.tolist())
    assert found[0] == found[1] != found[2]


@every_case
def test_without_memory_and_std_it_is_dns(kind: Kind, depth: int, seed: int) -> None:
    sampler, world = SRNS(pool=6, memory=0, alpha=0.0), World.random(kind, depth, seed)
    state = sampler.begin(world.graph)
    match = world.match(sampler, seed, state=state)
    assert torch.equal(sampler.choose(match, choice()).items, DNS(pool=6).choose(match, choice()).items)
    sampler.end_epoch(state, match.item_vectors, world.graph, choice())
    assert (
        state.user_vectors.numel() == state.item_vectors.numel() == 0
    )  # nothing is kept for a std that does not count


def test_a_pool_smaller_than_the_memory_fills_it_with_repeats() -> None:
    sampler, world = SRNS(pool=2, memory=5), World.random("mean", 1, 0)
    state = sampler.begin(world.graph)
    match = world.match(sampler, state=state)
    assert sampler.remembered(match).tolist() == [[a, b, a, b, a] for a, b in match.candidates.tolist()]


def test_what_is_kept_stays_where_it_is() -> None:
    """A recorded step goes on with the tensors that it saw."""
    sampler, world = SRNS(pool=6, memory=3), World.random("mean", 2, 0)
    state = sampler.begin(world.graph)
    held = dict(vars(state))
    for epoch in range(2):
        sampler.choose(world.match(sampler, epoch=epoch, state=state), choice())
        sampler.end_epoch(state, pairs_items(world), world.graph, choice())
    assert all(vars(state)[name] is tensor for name, tensor in held.items())
    assert {entry.name for entry in dataclasses.fields(Memory)} == set(held)


def test_defaults_are_the_authors() -> None:
    ours = SRNS()
    assert (ours.pool, ours.memory, ours.alpha, ours.warmup, ours.temperature) == (64, 8, 5.0, 50, 10.0)
