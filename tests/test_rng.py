"""Torch's side of the counter: numpy's bits exactly, calls and steps that never overlap, and what is made of them."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare, kstest

from sahcns import counter
from sahcns.rng import CALL, Rng, signed


def unsigned(x: torch.Tensor) -> list[int]:
    return [int(value) % 2**64 for value in x.flatten().tolist()]


@pytest.mark.parametrize("step", [0, 1, 77, 2**31])
@pytest.mark.parametrize("seed", [0, 2020, -3])
def test_the_same_bits_as_numpy(seed: int, step: int) -> None:
    """Number k of call c at step s, for three calls of different shapes."""
    rng = Rng(seed, "pools")
    rng.seek(step)
    base = int(counter.bits(counter.stream_key(seed, "pools"), 1, start=step)[0])
    for call, shape in enumerate([(3, 4), (5,), (2, 1, 3)]):
        found = rng.bits(*shape)
        assert found.shape == shape
        assert found.dtype == torch.int64
        assert unsigned(found) == counter.bits(base, found.numel(), start=call * CALL).tolist()


def test_signed_keeps_the_bits() -> None:
    assert [signed(x) for x in (0, 2**63 - 1, 2**63, 2**64 - 1)] == [0, 2**63 - 1, -(2**63), -1]


def test_seeking_reproduces_and_advancing_moves_on() -> None:
    rng = Rng(4, "choice")
    steps = []
    for _ in range(5):
        steps.append((rng.bits(6), rng.uniform(3)))
        rng.advance()
    assert len({tuple(first.tolist()) for first, _ in steps}) == 5
    again = Rng(4, "choice")
    again.bits(100)  # calls made before do not matter
    again.seek(3)
    assert torch.equal(again.bits(6), steps[3][0])
    assert torch.equal(again.uniform(3), steps[3][1])
    again.advance()
    assert torch.equal(again.bits(6), steps[4][0])


def test_streams_that_share_a_counter_move_together_and_stay_different() -> None:
    pools = Rng(0, "pools")
    choice = Rng(0, "choice", step=pools.step)
    pools.advance()
    apart = Rng(0, "choice")
    apart.seek(1)
    found = choice.bits(20)
    assert torch.equal(found, apart.bits(20))
    assert not torch.equal(found, pools.bits(20))


def test_streams_seeds_steps_and_calls_are_uncorrelated() -> None:
    numbers = []
    for seed, stream in itertools.product((0, 1), ("pools", "choice")):
        rng = Rng(seed, stream)
        for _ in range(2):
            numbers += [rng.uniform(20_000, dtype=torch.float64).numpy() for _ in range(2)]
            rng.advance()
    correlation = np.corrcoef(numbers) - np.eye(len(numbers))
    assert np.abs(correlation).max() < 0.035


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_uniform_numbers(dtype: torch.dtype) -> None:
    x = Rng(0, "x").uniform(200, 250, dtype=dtype)
    assert x.dtype == dtype
    assert x.shape == (200, 250)
    assert 0 <= float(x.min()) < 1e-3
    assert 1 - 1e-3 < float(x.max()) < 1
    assert kstest(x.flatten().numpy(), "uniform").pvalue > 1e-3
    assert torch.equal((x * 2**24).round() / 2**24, x)  # 24 bits


def test_the_same_uniform_numbers_in_every_precision() -> None:
    one, two = Rng(0, "x").uniform(1000), Rng(0, "x").uniform(1000, dtype=torch.float64)
    assert torch.equal(one.double(), two)


def test_whole_numbers_below_a_bound_of_each_column() -> None:
    bounds = torch.tensor([1, 2, 5])
    x = Rng(0, "x").below(bounds, 20_000, 3)
    assert x.shape == (20_000, 3)
    for column, bound in enumerate(bounds.tolist()):
        found = np.bincount(x[:, column].numpy())
        assert len(found) == bound
        assert bound == 1 or chisquare(found).pvalue > 1e-3


def test_normal_numbers() -> None:
    x = Rng(0, "x").normal(300, 100)
    assert x.shape == (300, 100)
    assert kstest(x.flatten().numpy(), "norm").pvalue > 1e-3
    assert bool(x.isfinite().all())


def test_the_largest_with_gumbel_noise_are_drawn_by_their_weights() -> None:
    weights = torch.tensor([1.0, 2.0, 5.0])
    drawn = (weights.log() + Rng(0, "x").gumbel(20_000, 3)).argmax(1)
    assert chisquare(torch.bincount(drawn), [2500, 5000, 12_500]).pvalue > 1e-3


def test_permutations() -> None:
    rng = Rng(0, "shuffle")
    orders: Counter[tuple[int, ...]] = Counter()
    for _ in range(6000):
        orders[tuple(rng.permutation(4).tolist())] += 1
        rng.advance()
    assert set(orders) == set(itertools.permutations(range(4)))
    assert chisquare(list(orders.values())).pvalue > 1e-3


@pytest.mark.parametrize("count", [*range(1, 40), 97, 1000, 4096, 99_991, 123_456])
def test_an_order_of_which_nothing_is_kept_has_every_place_once(count: int) -> None:
    rng = Rng(1, "shuffle")
    for _ in range(2):
        found = rng.shuffled(torch.arange(count), count)
        assert torch.equal(found.sort().values, torch.arange(count))
        rng.advance()


def test_an_order_of_which_nothing_is_kept_is_random() -> None:
    """χ² over a table of where a thirty-second of the places goes, steps between neighbours, and no two epochs alike."""
    rng, count, orders = Rng(0, "shuffle"), 100_003, []
    for _ in range(3):
        order = rng.shuffled(torch.arange(count), count)
        table = torch.bincount(torch.arange(count) * 32 // count * 32 + order * 32 // count, minlength=1024)
        assert chisquare(table).pvalue > 1e-3
        remainders = torch.bincount(torch.arange(count) % 7 * 7 + order % 7, minlength=49)
        assert chisquare(remainders, np.full(49, count / 49)).pvalue > 1e-3
        assert float(order.diff().abs().double().mean()) / count == pytest.approx(1 / 3, abs=0.01)
        orders.append(order.double().numpy())
        rng.advance()
    assert np.abs(np.corrcoef([*orders, np.arange(count)]) - np.eye(4)).max() < 0.015
    some = torch.tensor([5, 99_999, 0])
    rng.seek(2)
    assert rng.shuffled(some, count).tolist() == [int(orders[2][at]) for at in some]


def test_some_numbers_of_a_call_are_those_of_the_whole() -> None:
    one, other = Rng(3, "x"), Rng(3, "x")
    whole = [one.bits(50) for _ in range(2)]
    at = torch.tensor([[49, 0], [7, 7]])
    assert all(torch.equal(other.numbers(at), call[at]) for call in whole)


def test_it_shows_where_it_stands() -> None:
    rng = Rng(4, "choice")
    rng.advance()
    assert repr(rng) == "Rng(4, 'choice', step 1)"
