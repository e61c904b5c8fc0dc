"""DivNS: caches, hard sets and queues over epochs, against a diary kept in Python dictionaries."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from sahcns.aggregation import Kind
from sahcns.errors import SettingError
from sahcns.samplers import DNS, DivNS, Mixture
from sahcns.samplers.divns import Caches
from tests.samplers.oracle import Negative, Pair, Vector, cosine, mean, negatives_of, pairs_of, same
from tests.samplers.test_diverse import is_greedy, subsets, unit
from tests.samplers.world import DEPTHS, KINDS, World, choice, every_case, graph_of


@dataclass
class Diary:
    """One epoch of the algorithm in plain Python."""

    ratio: int
    hard: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))  # H_u
    cache: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))  # C_u, distinct

    def note(self, pair: Pair) -> int:
        """The hardest goes to H_u and is returned; the next r go to C_u."""
        ranked = pair.by_score()
        self.hard[pair.user].append(ranked[0])
        self.cache[pair.user].update(ranked[1 : 1 + self.ratio])
        return ranked[0]

    def likeness(self, user: int, item: int, final: list[Vector]) -> float:
        """Mean cosine to the hard negatives used."""
        return mean([cosine(final[item], final[h]) for h in self.hard[user]])

    def accepts(self, user: int, wanted: int, picks: list[int], final: list[Vector], selector: str) -> bool:
        """Is this D_u, best first? Equal merits are common (w is clamped at 1), so any of the equals will do."""
        items = sorted(self.cache[user])
        k = min(wanted, len(items))
        if selector == "min_sim":
            least = {item: min(cosine(final[item], final[h]) for h in self.hard[user]) for item in items}
            lowest = sorted(least.values())[:k]
            return all(abs(least[item] - x) < 1e-9 for item, x in zip(picks, lowest, strict=True))
        like = {item: self.likeness(user, item, final) for item in items}
        if selector == "greedy_map":
            weight = [1 / (1 + max(0.0, like[item])) for item in items]
            return is_greedy([final[item] for item in items], weight, k, [items.index(item) for item in picks])
        return len(picks) == k


def mixed(pair: Pair, hard: int, companion: int | None, lam: float) -> Negative:
    if companion is None or companion == hard:
        return pair.real(hard)
    return [{hard: lam, companion: 1 - lam} for _ in pair.layers]


def end_epoch(sampler: DivNS, state: Caches, world: World, seed: int = 0) -> list[Vector]:
    """Returns the final item embeddings the selection saw."""
    pair = pairs_of(world.match(sampler))[0]
    final = [pair.final_item(item) for item in range(world.graph.n_items)]
    sampler.end_epoch(state, torch.tensor(final, dtype=torch.float64), world.graph, choice(seed))
    return final


@pytest.mark.parametrize("selector", ["min_sim", "greedy_map", "kdpp", "random"])
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_three_epochs(kind: Kind, depth: int, selector: str) -> None:
    """Each epoch: DNS's item mixed with what the queue holds; at its end, the queue from this epoch's caches."""
    sampler = DivNS(pool=6, ratio=2, lam=0.7, selector=selector)
    world = World.random(kind, depth, 0)
    state = sampler.begin(world.graph)
    assert isinstance(state, Caches)
    queue: dict[int, int] = {}
    for epoch in range(3):
        diary = Diary(sampler.ratio)
        order = torch.tensor(np.random.default_rng(epoch).permutation(len(world.graph.pair_users)))
        for batch in order.chunk(2):
            match = world.match(sampler, seed=10 * epoch + int(batch[0]), pairs=batch, state=state)
            found = negatives_of(sampler.choose(match, choice()), match)
            for position, pair, (negative,) in zip(batch.tolist(), pairs_of(match), found, strict=True):
                hard = diary.note(pair)
                assert same(negative, mixed(pair, hard, queue.get(position), 0.7))
        final = end_epoch(sampler, state, world, seed=epoch)
        queue = dict(enumerate(state.queue.tolist()))
        given: dict[int, list[int]] = defaultdict(list)
        for position, user in enumerate(world.graph.pair_users.tolist()):
            given[user].append(queue[position])
        for user, items in given.items():
            used = Counter(items)
            wanted = len(world.seen[user])
            assert set(used) <= diary.cache[user]
            assert not set(used) & world.seen[user]
            assert max(used.values()) - min(used.values()) <= 1  # round and round
            assert diary.accepts(user, wanted, list(dict.fromkeys(items)), final, selector)


@pytest.mark.parametrize(("ratio", "lam"), [(0, 0.8), (3, 1.0), (0, 1.0)])
@every_case
def test_no_cache_or_no_mixing_is_dns_in_every_epoch(kind: Kind, depth: int, seed: int, ratio: int, lam: float) -> None:
    """The paper's Yelp setting (0, 1): no state is kept, and the answer is DNS's own."""
    sampler = DivNS(pool=6, ratio=ratio, lam=lam)
    world = World.random(kind, depth, seed)
    assert sampler.begin(world.graph) is None
    match = world.match(sampler, seed)
    mixture, plain = sampler.choose(match, choice()), DNS(pool=6).choose(match, choice())
    assert mixture.weights is None
    assert torch.equal(mixture.items, plain.items)


def run_once(sampler: DivNS, world: World, seed: int = 0) -> Caches:
    state = sampler.begin(world.graph)
    assert state is not None
    sampler.choose(world.match(sampler, seed, state=state), choice())
    end_epoch(sampler, state, world, seed)
    return state


def test_lambda_is_the_share_of_the_hard_negative_in_the_scores_precision() -> None:
    for dtype in (torch.float32, torch.float64):
        sampler = DivNS(pool=6, ratio=3, lam=0.8)
        world = World.random("mean", 2, 0, dtype=dtype)
        state = run_once(sampler, world)
        match = world.match(sampler, 5, state=state)
        mixture: Mixture = sampler.choose(match, choice())
        assert mixture.weights is not None
        assert mixture.weights.dtype == dtype
        assert bool((mixture.weights[:, 0, 0] == torch.tensor(0.8, dtype=dtype)).all())
        assert torch.equal(mixture.items[:, 0, 0, 0], DNS(pool=6).choose(match, choice()).items.flatten())
        assert torch.equal(mixture.items[:, 0, 1, 0], state.queue)


def hand_made(hard: list[int], cache: list[list[int]], users: int = 1, items: int = 6) -> tuple[World, Caches]:
    """Users alike: user u has seen as many items as there are pairs, from 0 on; hard and cached items as given."""
    seen = {u: set(range(len(hard))) for u in range(users)}
    world = World(graph_of(seen, users, items), (), "mean", seen)
    state = Caches(torch.tensor(hard * users), torch.tensor(cache * users), torch.full((len(hard) * users,), -1))
    return world, state


def fill(sampler: DivNS, state: Caches, world: World, vectors: list[Vector], seed: int = 0) -> list[int]:
    table: Tensor = torch.tensor(vectors, dtype=torch.float64)
    sampler.end_epoch(state, table, world.graph, choice(seed))
    return [int(item) for item in state.queue.tolist()]


def test_min_sim_takes_the_most_opposite_of_a_plane() -> None:
    world, state = hand_made([1], [[2, 3, 4]])
    vectors = [[0.0, 1.0], [3.0, 0.0], [0.0, 2.0], [-0.5, 0.1], [0.7, 0.7], [-9.0, 0.0]]  # 5 is not in the cache
    assert fill(DivNS(ratio=3, selector="min_sim"), state, world, vectors) == [3]


def test_min_sim_looks_at_the_farthest_hard_negative() -> None:
    """Item 4 is opposite to one hard negative and like the other, item 5 a little opposite to both."""
    world, state = hand_made([2, 3], [[4, 5], [4, 5]])
    vectors = [[0.0, 0.0, 1.0]] * 2 + [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-0.9, 0.9, 0.1], [-0.2, -0.2, 0.9]]
    assert fill(DivNS(ratio=2, selector="min_sim"), state, world, vectors) == [4, 5]
    world, state = hand_made([3] * 80 + [2], [[4, 5]] * 81, items=82)  # more than are looked at in one go
    many = vectors + [[0.0, 0.0, 1.0]] * 76
    assert fill(DivNS(ratio=2, selector="min_sim"), state, world, many)[:2] == [4, 5]


def test_the_kernel_is_down_weighted_by_likeness_to_the_hard_negatives() -> None:
    """Item 2 is like the hard negative (w = 1/2), item 3 opposite to it: w is clamped at 1, so 3 comes first."""
    world, state = hand_made([1], [[2, 3]])
    vectors = [[0.0, 1.0], [1.0, 0.0], [5.0, 0.0], [-0.1, 0.0], [0.0, 1.0], [0.0, 1.0]]
    assert fill(DivNS(ratio=2, selector="greedy_map"), state, world, vectors) == [3]


@pytest.mark.parametrize("hard", [[4, 4], [4, -1]], ids=["all visited", "one not visited"])
def test_likeness_is_the_mean_over_the_hard_negatives_there_are(hard: list[int]) -> None:
    """User 0 has two pairs and stands in one group with user 1, who has four; what fills up the group counts for nothing.

    After 5 or 7 (w = 1) the other of them adds 1 - 0.8² = 0.36 of volume, item 6 only w² = 1/4; with a likeness of a half
    it would add 0.44."""
    seen = {0: {0, 1}, 1: {0, 1, 2, 3}}
    world = World(graph_of(seen, 2, 8), (), "mean", seen)
    state = Caches(torch.tensor([*hard, 4, 4, 4, 4]), torch.tensor([[5, 6, 7]] * 6), torch.full((6,), -1))
    vectors = [[1.0, 1.0, 1.0]] * 4 + [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.8, 0.6]]
    queue = fill(DivNS(ratio=3, selector="greedy_map"), state, world, vectors)
    assert sorted(queue[:2]) == [5, 7]
    assert set(queue[2:]) == {5, 6, 7}


def test_hard_negatives_are_items_and_not_positions() -> None:
    """Item 4 was used. By its position in the pool (0) the likeness would be to item 0, and the choice the other one."""
    world, state = hand_made([4], [[2, 3]])
    vectors = [[0.0, 1.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert fill(DivNS(ratio=2, selector="min_sim"), state, world, vectors) == [3]


def test_the_distribution_of_the_queue() -> None:
    """5000 users alike, two pairs each: their queues are samples of the 2-DPP with the weighted kernel."""
    users, rng = 5000, np.random.default_rng(0)
    vectors = [[abs(x) for x in row] for row in unit(rng, 8, 4)]  # all alike to some degree, so that w matters
    vectors = [[x * 3 for x in row] for row in vectors]  # the kernel is of unit vectors
    hard, cached = [2, 2], [3, 4, 5, 6, 7]
    vectors[3] = [x + 0.05 for x in vectors[2]]
    world, state = hand_made(hard, [[3, 4, 5], [5, 6, 7]], users, 8)
    queue = fill(DivNS(ratio=3), state, world, vectors)
    found = Counter(tuple(sorted(cached.index(item) for item in queue[k : k + 2])) for k in range(0, 2 * users, 2))
    weight = [1 / (1 + max(0.0, mean([cosine(vectors[j], vectors[h]) for h in hard]))) for j in cached]
    kernel = [vectors[j] for j in cached]
    expected = subsets(kernel, weight, 2)
    assert chisquare([found[d] for d in expected], [users * p for p in expected.values()]).pvalue > 1e-3
    unweighted = subsets(kernel, [1.0] * 5, 2)
    assert chisquare([found[d] for d in expected], [users * p for p in unweighted.values()]).pvalue < 1e-6


@pytest.mark.parametrize("selector", ["kdpp", "greedy_map", "min_sim", "random"])
def test_few_distinct_items_go_round(selector: str) -> None:
    world, state = hand_made([3, 3, 3], [[4, 4], [4, 5], [5, 5]])
    vectors = [[1.0, 0.0]] * 4 + [[0.6, 0.8], [0.0, 1.0]]
    queue = fill(DivNS(ratio=2, selector=selector), state, world, vectors)
    assert set(queue) == {4, 5}


def test_pairs_not_yet_visited_leave_no_trace() -> None:
    """A batch left out at the end of an epoch: -1 is nobody's id and joins neither the cache nor the hard set."""
    world, state = hand_made([-1, 3, -1], [[-1, -1], [4, 5], [-1, -1]])
    vectors = [[0.0, 1.0]] * 3 + [[1.0, 0.0], [1.0, 0.2], [-1.0, 0.0]]
    queue = fill(DivNS(ratio=2, selector="min_sim"), state, world, vectors)
    assert Counter(queue) in (Counter({5: 2, 4: 1}), Counter({5: 1, 4: 2}))
    world, state = hand_made([-1], [[-1, -1]])
    for selector in ("kdpp", "greedy_map", "min_sim", "random"):
        assert fill(DivNS(ratio=2, selector=selector), state, world, vectors) == [-1]


def test_users_of_all_sizes_are_filled_from_their_own_cache() -> None:
    """Users with 1 … 40 pairs end up in different groups."""
    seen = {u: set(range(u + 1)) for u in range(40)}
    world = World(graph_of(seen, 40, 60), (), "mean", seen)
    owner = world.graph.pair_users
    cache = 40 + (owner[:, None] // 2 + torch.arange(2)) % 20
    state = Caches(torch.full_like(owner, 50), cache, torch.full_like(owner, -1))
    vectors = unit(np.random.default_rng(0), 60, 8)
    queue = fill(DivNS(ratio=2), state, world, vectors)
    for user, item in zip(owner.tolist(), queue, strict=True):
        assert item in {40 + user // 2 % 20, 40 + (user // 2 + 1) % 20}
    for user in range(1, 40):
        assert len({item for whose, item in zip(owner.tolist(), queue, strict=True) if whose == user}) == 2


def test_the_cap_bounds_what_enters_the_kernel() -> None:
    world, state = hand_made([1, 1], [[2, 3], [4, 5]])
    vectors = unit(np.random.default_rng(0), 6, 4)
    queue = fill(DivNS(ratio=2, cap=2), state, world, vectors)
    assert sorted(queue) == [2, 3]


def test_a_cache_as_large_as_the_pool_is_refused() -> None:
    with pytest.raises(SettingError, match=r"ratio=4 leaves no hard negative in a pool of 4"):
        DivNS(pool=4, ratio=4)
