"""BNS: informativeness against the posterior of a true negative."""

import pytest
import torch

from sahcns.aggregation import Kind
from sahcns.samplers import BNS, DNS, bns
from sahcns.samplers.bns import risk
from tests.samplers.oracle import Negative, Pair, assert_agrees, first_largest, pairs_of, sigmoid
from tests.samplers.world import World, choice, every_case, graph_of, picked, scored


def standing(pair: Pair, item: int, among: list[int]) -> float:
    """F = #{j ∈ S : score(j) ≤ s} / (|S| + 1); a hair of slack, for the item is in S itself."""
    s = pair.score(item)
    return sum(pair.score(j) <= s + 1e-12 for j in among) / (len(among) + 1)


def oracle(pair: Pair, lam: float, world: World, ranks_among: str) -> list[Negative]:
    counts = [sum(item in his for his in world.seen.values()) for item in range(len(pair.items))]
    among = [j for j in range(len(pair.items)) if ranks_among == "all" or j not in world.seen[pair.user]]
    risks = []
    for item in pair.pool:
        info = 1 - sigmoid(pair.score(pair.positive) - pair.score(item))
        f, prior = standing(pair, item, among), counts[item] / sum(counts)
        unbias = (1 - f) * (1 - prior) / (1 - f - prior + 2 * f * prior)
        risks.append(info * (1 - (1 + lam) * unbias))
    return [pair.real(pair.pool[first_largest([-r for r in risks])])]


@pytest.mark.parametrize(
    ("lam", "among"), [(5.0, "all"), (5.0, "unseen"), (0.2, "all"), (0.2, "unseen"), (-0.5, "all")]
)
@every_case
def test_agrees_with_the_oracle(kind: Kind, depth: int, seed: int, lam: float, among: str) -> None:
    sampler = BNS(pool=6, lam=lam, ranks_among=among)
    world = World.random(kind, depth, seed)
    match = world.match(sampler, seed)
    assert_agrees(sampler.choose(match, choice()), match, lambda pair: oracle(pair, lam, world, among))


def test_it_is_neither_dns_nor_the_other_ranking() -> None:
    """The cases above tell the three apart."""
    picks: dict[str, list[int]] = {"dns": [], "all": [], "unseen": []}
    for seed in range(12):
        match = World.random("mean", 2, seed).match(DNS(pool=6), seed)
        picks["dns"] += DNS(pool=6).choose(match, choice()).items.flatten().tolist()
        for among in ("all", "unseen"):
            picks[among] += BNS(pool=6, lam=0.2, ranks_among=among).choose(match, choice()).items.flatten().tolist()
    assert picks["all"] != picks["dns"]
    assert picks["all"] != picks["unseen"]


@every_case
def test_standing_of_every_candidate(kind: Kind, depth: int, seed: int) -> None:
    world = World.random(kind, depth, seed)
    match = world.match(BNS(pool=6), seed)
    for among in ("all", "unseen"):
        found = BNS(pool=6, ranks_among=among).standing(match)
        assert float(found.max()) < 1
        for b, pair in enumerate(pairs_of(match)):
            own = [j for j in range(len(pair.items)) if among == "all" or j not in world.seen[pair.user]]
            assert found[b].tolist() == pytest.approx([standing(pair, item, own) for item in pair.pool], abs=1e-12)


def test_standing_does_not_depend_on_the_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    for among in ("all", "unseen"):
        match = World.random("concat", 4, 1).match(BNS(pool=6))
        whole = BNS(pool=6, ranks_among=among).standing(match)
        monkeypatch.setattr(bns, "CHUNK", 3 * match.graph.n_items)
        assert torch.equal(BNS(pool=6, ranks_among=among).standing(match), whole)


def test_numbers_of_the_specification() -> None:
    y, s = torch.tensor(1.0, dtype=torch.float64), torch.tensor([[2.0, 0.5, -1.0]], dtype=torch.float64)
    info = torch.sigmoid(s - y)
    assert info[0].tolist() == pytest.approx([0.731059, 0.377541, 0.119203], abs=5e-7)
    prior = torch.tensor([[0.02, 0.001, 0.0005]], dtype=torch.float64)
    where = torch.tensor([[0.95, 0.70, 0.20]], dtype=torch.float64)
    found = risk(info, prior, where, 5.0)
    assert found[0].tolist() == pytest.approx([-2.429695, -1.882425, -0.595925], abs=5e-7)
    unbias = (1 - found / info) / 6
    assert unbias[0].tolist() == pytest.approx([0.720588, 0.997670, 0.999875], abs=5e-7)
    assert int(found.argmin()) == 0


@every_case
def test_candidates_nobody_has_are_never_false_and_leave_dns(kind: Kind, depth: int, seed: int) -> None:
    """P_fn = 0 ⇒ unbias = 1 ⇒ risk = -λ info: exactly DNS."""
    everyone = {u: {u, u + 5} for u in range(5)}  # items 10 … 15 have no training pair
    match = World.random(kind, depth, seed, seen=everyone).match(DNS(pool=6), seed)
    match.candidates = 10 + match.candidates % 6
    assert torch.equal(BNS(pool=6).choose(match, choice()).items, DNS(pool=6).choose(match, choice()).items)


@every_case
def test_lambda_of_minus_one_picks_the_easiest(kind: Kind, depth: int, seed: int) -> None:
    def easiest(pair: Pair) -> list[Negative]:
        return [pair.real(pair.by_score()[-1])]

    match = World.random(kind, depth, seed).match(BNS(pool=6, lam=-1.0), seed)
    assert_agrees(BNS(pool=6, lam=-1.0).choose(match, choice()), match, easiest)


def test_a_popular_item_at_the_very_top_is_avoided() -> None:
    """Three of four training pairs are with item 1, so it is probably a false negative of user 0."""
    match = scored([[0.9], [0.8], [0.1]], [0.5])
    match.graph = graph_of({0: {0}, 1: {1}, 2: {1}, 3: {1}}, 4, 4)
    match.layers = tuple(torch.cat([layer[:1].expand(4, 1), layer[1:]]) for layer in match.layers)
    assert picked(match, DNS(pool=3)) == [0]
    assert picked(match, BNS(pool=3)) == [1]


def test_the_prior_is_as_exact_as_the_scores() -> None:
    """A third in float64: rounding it to float32 on the way would show at the eighth digit."""
    match = scored([[0.3], [0.2]], [0.5])
    match.graph = graph_of({0: {0}, 1: {1}, 2: {2}}, 3, 3)
    match.layers = tuple(torch.cat([layer[:1].expand(3, 1), layer[1:]]) for layer in match.layers)
    info = torch.sigmoid(match.scores - match.positive_score[:, None])
    expected = risk(info, torch.full_like(info, 1 / 3), BNS(pool=2).standing(match), 5.0)
    assert torch.allclose(BNS(pool=2).risks(match), expected, rtol=0, atol=1e-14)


def test_the_prior_counts_pairs_of_those_who_have_everything_too() -> None:
    """Nothing can be drawn for user 0, who has all four items; his are training interactions all the same, 4 of 7."""
    world = World.random("mean", 2, 0, users=3, items=4, seen={0: {0, 1, 2, 3}, 1: {0, 1}, 2: {2}})
    sampler = BNS(pool=3)
    match = world.match(sampler)
    assert match.users.tolist() == [1, 1, 2]
    info = torch.sigmoid(match.scores - match.positive_score[:, None])
    prior = torch.tensor([2, 2, 2, 1], dtype=torch.float64)[match.candidates] / 7
    torch.testing.assert_close(sampler.risks(match), risk(info, prior, sampler.standing(match), 5.0))
