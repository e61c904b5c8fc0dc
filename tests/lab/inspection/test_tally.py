"""Sums over batches are those over everything at once."""

import math
import statistics

import numpy as np
import pytest
import torch

from sahcns.lab.inspection.tally import Bins, Ranked, Spreading, Sum

CPU = torch.device("cpu")


def test_sums_and_means() -> None:
    rows = torch.arange(12.0).view(6, 2)
    total = Sum(CPU, 2)
    total.add(rows[:4])
    total.add(rows[4:])
    assert (total.count, total.means) == (6, (5.0, 6.0))
    flags = Sum(CPU)
    flags.add(torch.tensor([True, False, True, True]))
    assert flags.mean == 0.75


def test_a_spread_is_that_of_all_values_together() -> None:
    values = np.random.default_rng(0).normal(3, 2, 500)
    tally = Spreading(CPU, Bins(0.0, 0.5, 12))
    for part in np.split(values, [7, 7, 200]):  # one part is empty
        tally.add(torch.from_numpy(part))
    found = tally.spread
    assert found is not None
    assert found.count == 500
    assert found.mean == pytest.approx(statistics.fmean(values))
    assert found.std == pytest.approx(statistics.pstdev(values))
    assert (found.least, found.most) == (values.min(), values.max())
    counts, _ = np.histogram(values, np.arange(13) * 0.5)
    assert found.histogram.counts == tuple(counts.tolist())
    assert found.histogram.below == (values < 0).sum() > 0
    assert found.histogram.above == (values >= 6).sum() > 0
    assert math.fsum(found.histogram.shares) == pytest.approx(counts.sum() / 500)
    assert found.histogram.edges == [k * 0.5 for k in range(13)]


def test_an_edge_belongs_to_the_bin_on_its_right() -> None:
    tally = Spreading(CPU, Bins(-1.0, 0.5, 4))
    tally.add(torch.tensor([-1.0, -0.5, -0.5, 0.0, 1.0, -1.1]))
    found = tally.spread
    assert found is not None
    assert (found.histogram.counts, found.histogram.below, found.histogram.above) == ((1, 2, 1, 0), 1, 1)


def test_nothing_has_no_spread() -> None:
    tally = Spreading(CPU, Bins(0.0, 1.0, 2))
    tally.add(torch.zeros(0))
    assert tally.spread is None


def test_what_is_not_a_number_is_not_hidden() -> None:
    tally = Spreading(CPU, Bins(0.0, 1.0, 2))
    tally.add(torch.tensor([0.5, math.nan]))
    assert tally.spread is not None
    assert math.isnan(tally.spread.mean)


@pytest.mark.parametrize(("least", "most"), [(-3.2, 7.9), (0.0, 1.0), (-0.0013, 0.0021), (1e4, 1.2e4)])
def test_bins_have_round_edges_and_cover_the_range(least: float, most: float) -> None:
    bins = Bins.over(least, most)
    assert f"{bins.step:.3e}"[:5] in ("1.000", "2.000", "5.000")
    assert bins.low / bins.step == pytest.approx(round(bins.low / bins.step))
    assert least - bins.step < bins.low <= least
    assert most <= bins.low + bins.count * bins.step + 1e-12
    assert 25 <= bins.count <= 70


def test_a_single_value_gets_a_bin() -> None:
    assert Bins.over(17.2, 17.2) == Bins(17.0, 1.0, 1)


def brute_force(keys: list[float], rows: list[list[float]], first: float, last: float) -> list[float]:
    """Whole rows, in the order of their keys."""
    order = sorted(range(len(keys)), key=lambda at: keys[at])
    members = order[round(first * len(keys)) : round(last * len(keys))]
    return [statistics.fmean(rows[at][column] for at in members) for column in range(len(rows[0]))]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("first", "last"), [(0.0, 0.2), (0.8, 1.0), (0.3, 0.4), (0.0, 1.0)])
def test_groups_by_rank(scale: float, first: float, last: float) -> None:
    """Keys far enough apart for their cells, of both signs and with zero, in any order and any batches."""
    size = np.concatenate([-(1.003 ** np.arange(49, -1, -1)), [0.0], 1.003 ** np.arange(49)]) * scale
    rng = np.random.default_rng(1)
    keys = rng.permutation(size)
    rows = rng.normal(size=(100, 3))
    tally = Ranked(CPU, 3)
    for part in np.array_split(np.arange(100), 7):
        tally.add(torch.from_numpy(keys[part]), torch.from_numpy(rows[part]))
    expected = brute_force(keys.tolist(), rows.tolist(), first, last)
    assert tally.means(first, last) == pytest.approx(expected, rel=1e-9)


def test_a_cut_through_equal_keys_takes_them_evenly() -> None:
    tally = Ranked(CPU, 1)
    tally.add(torch.tensor([0.0, -0.0, 0.0, 0.0, 1.0]), torch.tensor([[1.0], [2.0], [3.0], [6.0], [100.0]]))
    assert tally.means(0.0, 0.2) == pytest.approx((3.0,))  # one fifth is one row's worth of the four
    assert tally.means(0.8, 1.0) == pytest.approx((100.0,))


def test_its_tables_do_not_grow() -> None:
    tally = Ranked(CPU, 2)
    size = tally.sums.numel()
    for seed in range(3):
        tally.add(torch.randn(1000, generator=torch.Generator().manual_seed(seed)), torch.ones(1000, 2))
    assert tally.sums.numel() == size
    assert int(tally.counts.sum()) == 3000
