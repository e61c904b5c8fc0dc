"""DivNS's selectors against determinants computed by elimination: distributions, greedy steps, padding."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from sahcns.samplers.diverse import SELECTORS, greedy_map, kdpp, min_sim, random
from tests.samplers.oracle import Vector, cosine
from tests.samplers.world import choice

Subset = tuple[int, ...]


def determinant(matrix: list[Vector]) -> float:
    """By elimination with the largest pivot of each column."""
    rows, product = [list(row) for row in matrix], 1.0
    for k in range(len(rows)):
        pivot = max(range(k, len(rows)), key=lambda i: abs(rows[i][k]))
        if rows[pivot][k] == 0.0:
            return 0.0
        if pivot != k:
            rows[k], rows[pivot], product = rows[pivot], rows[k], -product
        product *= rows[k][k]
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return product


def volume(vectors: list[Vector], weight: Vector, subset: Subset) -> float:
    """det(L_D), L = diag(w) S diag(w), S cosine."""
    kernel = [[weight[i] * weight[j] * cosine(vectors[i], vectors[j]) for j in subset] for i in subset]
    return determinant(kernel)


def subsets(vectors: list[Vector], weight: Vector, k: int) -> dict[Subset, float]:
    """P(D) of every subset of size k."""
    volumes = {d: max(volume(vectors, weight, d), 0.0) for d in itertools.combinations(range(len(vectors)), k)}
    total = sum(volumes.values())
    return {d: v / total for d, v in volumes.items()}


def is_greedy(vectors: list[Vector], weight: Vector, k: int, picks: list[int]) -> bool:
    """Does every pick raise det(L_D) as much as any other could? Fewer than k only once none can (the rank is reached)."""
    chosen: list[int] = []
    for step in range(k):
        gains = {j: volume(vectors, weight, (*chosen, j)) for j in range(len(vectors)) if j not in chosen}
        best = max(gains.values())
        if best < 1e-9 or len(picks) == step:
            return best < 1e-9 and len(picks) == step
        if picks[step] not in gains or gains[picks[step]] < best * (1 - 1e-9):
            return False
        chosen.append(picks[step])
    return len(picks) == k


def unit(rng: np.random.Generator, count: int, dim: int) -> list[Vector]:
    x = rng.normal(size=(count, dim))
    return [[float(v) for v in row] for row in x / np.linalg.norm(x, axis=1, keepdims=True)]


def copies(vectors: list[Vector], weight: Vector, times: int, padding: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The same user many times; `padding` invalid slots in front, filled with what must never be chosen."""
    c, d = len(vectors), len(vectors[0])
    table = torch.zeros(padding + c, d, dtype=torch.float64)
    table[:padding], table[padding:] = 9.0, torch.tensor(vectors, dtype=torch.float64)
    w = torch.cat([torch.full((padding,), 9.0, dtype=torch.float64), torch.tensor(weight, dtype=torch.float64)])
    valid = torch.arange(padding + c) >= padding
    return table.expand(times, -1, -1), valid.expand(times, -1), w.expand(times, -1)


def counted(picked: Tensor, padding: int = 2) -> Counter[Subset]:
    return Counter(tuple(sorted(n - padding for n in row if n >= 0)) for row in picked.tolist())


def test_the_determinant_by_elimination() -> None:
    assert determinant([[2.0, 1.0], [1.0, 3.0]]) == pytest.approx(5.0)
    assert determinant([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [4.0, -3.0, 8.0]]) == pytest.approx(-2.0)


@pytest.mark.parametrize(("count", "dim", "k"), [(5, 3, 1), (5, 3, 2), (5, 3, 3), (4, 6, 2), (6, 4, 3), (3, 5, 3)])
def test_kdpp_samples_subsets_in_proportion_to_their_determinants(count: int, dim: int, k: int) -> None:
    rng = np.random.default_rng([count, dim, k])
    vectors, weight = unit(rng, count, dim), rng.uniform(0.4, 1.0, count).tolist()
    vectors[1] = [0.9 * x + 0.1 * y for x, y in zip(vectors[0], vectors[1], strict=True)]  # two much alike
    length = sum(x * x for x in vectors[1]) ** 0.5
    vectors[1] = [x / length for x in vectors[1]]
    table, valid, w = copies(vectors, weight, 6000)
    found = counted(kdpp(table, valid, w, torch.full((6000,), k), choice(k)))
    expected = subsets(vectors, weight, k)
    assert set(found) <= set(expected)
    assert all(len(d) == k for d in found)
    likely = [d for d, p in expected.items() if p * 6000 >= 5]
    rare = 6000 - sum(found[d] for d in likely)
    seen = [found[d] for d in likely] + ([rare] if len(likely) < len(expected) else [])
    chance = [6000 * expected[d] for d in likely]
    chance += [6000 - sum(chance)] if len(likely) < len(expected) else []
    if len(seen) > 1:
        assert chisquare(seen, chance).pvalue > 1e-3
        if k > 1 and len(expected) > 1:  # the alike pair is rare: a uniform choice would be found out
            assert chisquare([found[d] for d in expected]).pvalue < 1e-6


def test_kdpp_serves_users_of_different_wants_at_once() -> None:
    rng = np.random.default_rng(0)
    vectors, weight = unit(rng, 4, 3), [1.0, 0.6, 0.8, 0.9]
    table, valid, w = copies(vectors, weight, 9000)
    want = torch.arange(9000) % 3  # 0, 1, 2
    picked = kdpp(table, valid, w, want, choice())
    for k in (0, 1, 2):
        found = counted(picked[want == k])
        if k == 0:
            assert found == {(): 3000}
            continue
        expected = subsets(vectors, weight, k)
        assert chisquare([found[d] for d in expected], [3000 * p for p in expected.values()]).pvalue > 1e-3


def test_kdpp_never_returns_two_of_a_kind() -> None:
    vectors = [[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]]
    table, valid, w = copies(vectors, [1.0, 1.0, 1.0], 2000)
    found = counted(kdpp(table, valid, w, torch.full((2000,), 2), choice()))
    assert set(found) == {(0, 2), (1, 2)}
    assert chisquare([found[0, 2], found[1, 2]]).pvalue > 1e-3


def test_kdpp_beyond_the_rank_fills_up_uniformly() -> None:
    """In two dimensions only pairs have volume; of five items four are wanted, so two more come from the other three."""
    rng = np.random.default_rng(3)
    vectors, weight = unit(rng, 5, 2), [1.0, 0.5, 0.7, 0.9, 0.3]
    table, valid, w = copies(vectors, weight, 6000)
    picked = kdpp(table, valid, w, torch.full((6000,), 4), choice())
    assert all(len(set(row)) == 4 and min(row) >= 2 for row in picked.tolist())
    pairs = subsets(vectors, weight, 2)
    first = counted(picked[:, :2])
    assert chisquare([first[d] for d in pairs], [6000 * p for p in pairs.values()]).pvalue > 1e-3
    missing = Counter(({0, 1, 2, 3, 4} - set(d)).pop() for d in counted(picked).elements())
    expected = [sum(p for d, p in pairs.items() if j not in d) / 3 for j in range(5)]
    assert chisquare([missing[j] for j in range(5)], [6000 * p for p in expected]).pvalue > 1e-3


@pytest.mark.parametrize(("count", "dim", "k"), [(6, 4, 3), (5, 8, 5), (7, 3, 7), (1, 3, 1)])
def test_greedy_map_agrees_with_brute_force(count: int, dim: int, k: int) -> None:
    rng = np.random.default_rng([count, dim])
    for _ in range(10):
        vectors, weight = unit(rng, count, dim), rng.uniform(0.4, 1.0, count).tolist()
        table, valid, w = copies(vectors, weight, 2)
        picked = greedy_map(table, valid, w, torch.tensor([k, 1]), choice())
        first, second = ([n - 2 for n in row if n >= 0] for row in picked.tolist())
        assert is_greedy(vectors, weight, k, first)
        assert len(first) == min(k, dim)
        assert second == first[:1]
        assert not is_greedy(vectors, weight, k, first[1:] + first[:1]) or k == 1


def test_greedy_map_gains_follow_the_weights() -> None:
    """Of two orthogonal items the heavier comes first; an item like the first comes last."""
    table, valid, w = copies([[0.96, 0.28], [0.0, 1.0], [1.0, 0.0]], [0.5, 0.6, 0.9], 1)
    assert [n - 2 for n in greedy_map(table, valid, w, torch.tensor([2]), choice())[0].tolist()] == [2, 1]


def test_min_sim_takes_the_largest_weights_in_order() -> None:
    table, valid, w = copies([[1.0], [1.0], [1.0], [1.0]], [-0.2, 0.7, -0.9, 0.1], 2)
    picked = min_sim(table, valid, w, torch.tensor([3, 1]), choice())
    assert picked.tolist() == [[3, 5, 2], [3, -1, -1]]


def test_random_is_uniform_over_subsets() -> None:
    table, valid, w = copies([[1.0]] * 5, [1.0] * 5, 6000)
    picked = random(table, valid, w, torch.full((6000,), 2), choice())
    found = counted(picked)
    assert set(found) == set(itertools.combinations(range(5), 2))
    assert chisquare(list(found.values())).pvalue > 1e-3


@pytest.mark.parametrize("name", list(SELECTORS))
def test_selectors_agree_on_the_form_of_an_answer(name: str) -> None:
    """Distinct valid positions, at most what is wanted and there; nothing for an empty cache."""
    rng = np.random.default_rng(1)
    table, valid, w = copies(unit(rng, 4, 5), [0.9, 0.8, 0.7, 0.6], 3)
    valid = valid.clone()
    valid[2] = False
    picked = SELECTORS[name](table, valid, w, torch.tensor([9, 2, 3]), choice())
    for row, size in zip(picked.tolist(), (4, 2, 0), strict=True):
        real = [n for n in row if n >= 0]
        assert len(real) == len(set(real)) == size
        assert row[:size] == real  # best first, then -1
        assert all(n >= 2 for n in real)
