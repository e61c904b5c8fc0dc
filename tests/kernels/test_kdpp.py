"""DivNS's k-DPP as kernels, against the plain code and against brute force."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.kernels.gpu.divns import collect, diversify
from sahcns.kernels.gpu.kdpp import eigen, fits, kdpp, sample
from sahcns.rng import Rng
from sahcns.samplers import diverse
from tests.kernels.conftest import DEVICE

SAMPLES = 20_000 if DEVICE == "cuda" else 100  # the interpreter takes its time
Subset = tuple[int, ...]


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def assert_near(found: Tensor, expected: Tensor, tolerance: float = 1e-5) -> None:
    error = float((found - expected).norm() / expected.norm())
    assert error < tolerance, f"relative error {error:.1e}"


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (5, 5), (12, 12), (9, 4), (19, 19)])
def test_eigen_against_eigvalsh(n: int, rank: int) -> None:
    """Relative to its own size every eigenvalue is right, though they span eight orders of magnitude."""
    scales = torch.logspace(0, -4, rank, dtype=torch.float64, device=DEVICE)
    b = normal(2, n, rank).double() * scales
    matrices = b @ b.mT
    values, columns = eigen(matrices)
    expected = torch.linalg.svdvals(b).square()
    found = values.double().sort(dim=1, descending=True).values
    torch.testing.assert_close(found[:, :rank], expected, rtol=2e-5, atol=0)
    assert not found[:, rank:].any()
    assert_near(columns.double() @ columns.double().mT, matrices)
    gram = columns.mT @ columns
    lengths = values.sqrt()
    cosines = gram / (lengths[:, :, None] * lengths[:, None] + 1e-30)
    off = cosines - torch.diag_embed(cosines.diagonal(dim1=1, dim2=2))
    assert off.abs().max() < 1e-5


def test_eigen_of_nothing_is_nothing() -> None:
    values, columns = eigen(torch.zeros(2, 4, 4, dtype=torch.float64, device=DEVICE))
    assert not values.any()
    assert columns.shape == (2, 4, 4)


def volumes(b: Tensor, k: int) -> dict[Subset, float]:
    """P(D) ∝ det(b_D b_Dᵀ) of every subset of size k."""
    kernel = (b @ b.T).cpu().double().numpy()
    found = {d: np.linalg.det(kernel[np.ix_(d, d)]) for d in itertools.combinations(range(len(b)), k)}
    total = sum(found.values())
    return {d: float(v / total) for d, v in found.items()}


def counted(picked: Tensor) -> Counter[Subset]:
    return Counter(tuple(sorted(n for n in row if n >= 0)) for row in picked.tolist())


@pytest.mark.parametrize(("count", "dim", "k"), [(5, 3, 2), (4, 6, 3), (6, 2, 5)])
def test_the_sample_of_one_user_is_the_plain_one(count: int, dim: int, k: int) -> None:
    """Given eigenvectors in the same order, one user's numbers are those of the plain path, and so is the choice."""
    b = normal(count, dim, seed=count).double()
    dual = dim < count
    values, basis = torch.linalg.eigh(b.T @ b if dual else b @ b.T)
    columns = basis * values.clamp(min=0).sqrt()
    one = values[None].float(), (b @ columns if dual else columns)[None].float()
    valid, want = torch.ones(1, count, dtype=torch.bool, device=DEVICE), torch.tensor([k], device=DEVICE)
    picks = set()
    for seed in range(8):
        found = sample(*one, valid, want, Rng(seed, "choice", DEVICE), dual)
        expected = diverse.kdpp(b[None], valid, valid.double(), want, Rng(seed, "choice", DEVICE))
        assert found[0, :k].tolist() == expected[0].tolist()
        picks.add(tuple(expected[0].tolist()))
    assert len(picks) > 3


@pytest.mark.parametrize(("count", "dim", "k"), [(4, 3, 2), (3, 4, 2)])
def test_the_sample_has_the_distribution_of_the_kdpp(count: int, dim: int, k: int) -> None:
    """One set of eigenvectors for all samples; 4 items in 3 dimensions go the dual way."""
    b = normal(count, dim, seed=count)
    b[1] = 0.9 * b[0] + 0.1 * b[1]  # two much alike
    dual = dim < count
    exact = b.double()
    values, columns = eigen((exact.T @ exact if dual else exact @ exact.T)[None])
    vectors = b @ columns[0] if dual else columns[0]
    valid = torch.ones(SAMPLES, count, dtype=torch.bool, device=DEVICE)
    want = torch.full((SAMPLES,), k, device=DEVICE)
    many = values.expand(SAMPLES, -1).contiguous(), vectors.expand(SAMPLES, -1, -1).contiguous()
    found = counted(sample(*many, valid, want, Rng(1, "choice", DEVICE), dual))
    expected = volumes(b, k)
    assert set(found) <= set(expected)
    likely = [d for d, p in expected.items() if p * SAMPLES >= 5]
    seen, chance = [found[d] for d in likely], [SAMPLES * expected[d] for d in likely]
    if len(likely) < len(expected):
        seen, chance = [*seen, SAMPLES - sum(seen)], [*chance, SAMPLES - sum(chance)]
    assert chisquare(seen, chance).pvalue > 1e-3
    assert chisquare([found[d] for d in expected]).pvalue < 1e-4  # a uniform choice would be found out


def test_kdpp_of_users_with_different_wants_and_gaps() -> None:
    """Beyond the rank any item will do; what is not valid never comes; the same seed picks the same."""
    b = normal(4, 6, 3)
    valid = torch.ones(4, 6, dtype=torch.bool, device=DEVICE)
    valid[1, 2:] = False
    valid[3] = False
    b = b * valid[..., None]
    want = torch.tensor([5, 2, 1, 0], device=DEVICE)
    picked = kdpp(b, valid, want, Rng(4, "choice", DEVICE))
    assert torch.equal(picked, kdpp(b, valid, want, Rng(4, "choice", DEVICE)))
    assert not torch.equal(picked, kdpp(b, valid, want, Rng(5, "choice", DEVICE)))
    for row, allowed, size in zip(picked.tolist(), valid.tolist(), want.tolist(), strict=True):
        assert len(set(row[:size])) == size
        assert all(allowed[n] for n in row[:size])
        assert row[size:] == [-1] * (6 - size)
    assert np.linalg.matrix_rank(b[0, picked[0, :3]].cpu().numpy()) == 3


def test_what_fits() -> None:
    assert fits(512, 64)
    assert fits(40, 300)
    assert not fits(512, 128)
    assert not fits(300, 300)


def cached_pairs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Three users with 3, 1 and 2 pairs: starts, counts, the hard negatives and the caches; one pair not yet visited."""
    starts, counts = torch.tensor([0, 3, 4], device=DEVICE), torch.tensor([3, 1, 2], device=DEVICE)
    hard = torch.tensor([7, 8, -1, 2, 5, 5], device=DEVICE)
    cache = torch.tensor([[3, 9], [3, 4], [-1, -1], [6, 6], [-1, -1], [-1, -1]], device=DEVICE)
    return starts, counts, hard, cache


def test_collect_weighs_the_distinct_items_against_the_hard_ones() -> None:
    starts, counts, hard, cache = cached_pairs()
    unit = normalize(normal(10, 5), dim=1)
    ids, valid, want, b = collect(unit, starts, counts, 6, hard, cache)
    expected: list[dict[int, Tensor]] = []
    for used, items in (([7, 8], [3, 9, 4]), ([2], [6]), ([5, 5], [])):
        centre = unit[used].mean(0)
        expected.append({item: unit[item] / (1 + max(0.0, float(unit[item] @ centre))) for item in items})
    assert want.tolist() == [3, 1, 0]
    for user, vectors in enumerate(expected):
        real = {int(item): row for item, row, ok in zip(ids[user], b[user], valid[user], strict=True) if ok}
        assert set(real) == set(vectors)
        for item, vector in vectors.items():
            torch.testing.assert_close(real[item], vector)
        assert not b[user][~valid[user]].any()


def test_diversify_deals_to_the_own_pairs_round_and_round() -> None:
    starts, counts, hard, cache = cached_pairs()
    unit = normalize(normal(10, 5), dim=1)
    queue = torch.full((7,), 99, device=DEVICE)
    order = torch.tensor([2, 0, 1], device=DEVICE)
    assert diversify(unit, starts[order], counts[order], 3, hard, cache, queue, 512, Rng(0, "choice", DEVICE))
    assert sorted(queue[:3].tolist()) == [3, 4, 9]
    assert queue[3:].tolist() == [6, -1, -1, 99]
    cache[:3] = torch.tensor([[3, 4], [4, 3], [3, 3]], device=DEVICE)
    assert diversify(unit, starts, counts, 3, hard, cache, queue, 512, Rng(0, "choice", DEVICE))
    assert queue[0] == queue[2]
    assert {int(queue[0]), int(queue[1])} == {3, 4}
    assert not diversify(normal(10, 300), starts, counts, 200, hard, cache, queue, 512, Rng(0, "choice", DEVICE))
