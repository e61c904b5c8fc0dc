"""DNS(M,N): one of the hardest top_k, uniformly or by 1/rank, or all of them."""

from collections import Counter

import pytest
from scipy.stats import chisquare

from sahcns.aggregation import Kind
from sahcns.samplers import DNSMN
from tests.samplers.oracle import Negative, Pair, assert_agrees, negatives_of, pairs_of
from tests.samplers.world import World, choice, every_case, picked, scored

A = [[0.1], [0.9], [0.3], [0.7], [0.5]]  # hardest first: positions 1, 3, 4, 2, 0


@every_case
def test_all_of_the_top_list_agree_with_the_oracle(kind: Kind, depth: int, seed: int) -> None:
    def oracle(pair: Pair) -> list[Negative]:
        return [pair.real(item) for item in pair.by_score()[:3]]

    sampler = DNSMN(pool=7, top_k=3, pick="all")
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert_agrees(sampler.choose(match, choice()), match, oracle)


@pytest.mark.parametrize("pick", ["uniform", "harmonic"])
@every_case
def test_the_pick_is_never_below_the_top_list(kind: Kind, depth: int, seed: int, pick: str) -> None:
    sampler = DNSMN(pool=7, top_k=3, pick=pick)
    match = World.random(kind, depth, seed).match(sampler, seed)
    ranks = set()
    for pair, found in zip(pairs_of(match), negatives_of(sampler.choose(match, choice()), match), strict=True):
        (item,) = found[0][0]
        assert found == [pair.real(item)]
        top = pair.by_score()[:3]
        assert pair.score(item) >= pair.score(top[-1]) - 1e-12
        ranks.add(top.index(item))
    assert ranks == {0, 1, 2}


@pytest.mark.parametrize(
    ("pick", "top_k", "shares"),
    [
        ("uniform", 3, [1, 1, 1]),
        ("harmonic", 3, [1, 1 / 2, 1 / 3]),
        ("harmonic", 5, [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
        ("uniform", 5, [1, 1, 1, 1, 1]),  # the whole pool: RNS
    ],
)
def test_frequencies_of_the_picks(pick: str, top_k: int, shares: list[float]) -> None:
    draws = 20_000
    found = Counter(picked(scored(A, [0.0], copies=draws), DNSMN(pool=5, top_k=top_k, pick=pick)))
    order = [1, 3, 4, 2, 0][:top_k]
    assert set(found) == set(order)
    expected = [draws * share / sum(shares) for share in shares]
    assert chisquare([found[n] for n in order], expected).pvalue > 1e-3


def test_of_equal_scores_the_first_come_first() -> None:
    """As argmax would have them; many, so that a partial sort would not keep them in order by accident."""
    match = scored([[0.1], [0.7], [0.7], *[[0.5]] * 40], [0.0])
    assert (match.hardest(6) + 1).tolist() == [[2, 3, 4, 5, 6, 7]]


def test_picks_of_different_pairs_are_independent() -> None:
    found = picked(scored(A, [0.0], copies=4000), DNSMN(pool=5, top_k=2))
    following = Counter(zip(found[::2], found[1::2], strict=True))
    assert chisquare([following[x, y] for x in (1, 3) for y in (1, 3)]).pvalue > 1e-3
