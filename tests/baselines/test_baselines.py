"""Each baseline against its equations written with loops, and all of them against a planted structure."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from sahcns.baselines import ALS, EASE, GFCF, Baseline, ItemKNN, MostPopular, ease
from sahcns.errors import SettingError

X = csr_matrix(np.random.default_rng(3).random((30, 12)) < 0.3, dtype=np.float32)
ROWS = torch.arange(30)


def scores(baseline: Baseline, matrix: csr_matrix = X) -> np.ndarray:
    return baseline.fit(matrix).scores(torch.arange(matrix.shape[0]), matrix).numpy()


def test_most_popular_counts() -> None:
    assert np.allclose(scores(MostPopular()), np.tile(X.toarray().sum(0), (30, 1)))


def test_item_knn_by_loops() -> None:
    x = X.toarray()
    weights = np.zeros((12, 12))
    for j in range(12):
        for i in range(12):
            if i != j:
                length = np.linalg.norm(x[:, i]) * np.linalg.norm(x[:, j])
                weights[i, j] = x[:, i] @ x[:, j] / (length + 10.0)
        kept = np.sort(weights[:, j])[-4]
        weights[weights[:, j] < kept, j] = 0.0
    assert np.allclose(scores(ItemKNN(neighbours=4, shrinkage=10.0)), x @ weights, atol=1e-6)


@pytest.mark.parametrize("block", [5, 1024])
def test_ease_minimises_its_loss(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(ease, "BLOCK", block)
    x = X.toarray().astype(float)
    weights = EASE(l2=3.0).fit(X).weights
    assert isinstance(weights, np.ndarray)
    assert np.all(np.diag(weights) == 0)
    # ∂/∂B of ‖X - XB‖² + λ‖B‖² vanishes but on the diagonal, which is held at 0
    slope = x.T @ (x @ weights - x) + 3.0 * weights
    np.fill_diagonal(slope, 0.0)
    assert np.abs(slope).max() < 1e-4


@pytest.mark.parametrize("kind", [EASE, GFCF])
def test_what_does_not_fit_is_refused(kind: type[EASE] | type[GFCF]) -> None:
    with pytest.raises(SettingError, match="12 items"):
        kind(most_items=10).fit(X)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kept", "vectors"), [(4, 4), (11, 256)])
def test_gf_cf_by_dense_matrices(kept: int, vectors: int, weighted: bool) -> None:
    """An item that nobody has and a user who has nothing are left alone."""
    x = X.toarray().astype(float) * (np.random.default_rng(1).uniform(0.5, 2, X.shape) if weighted else 1)
    x[:, 5] = x[3] = 0
    users, items = x.sum(1), x.sum(0)
    normed = x / np.sqrt(np.where(users > 0, users, 1))[:, None] / np.sqrt(np.where(items > 0, items, 1))
    v = np.linalg.svd(normed)[2][:kept].T
    inverse = np.array([d**-0.5 if d > 0 else 0.0 for d in items])
    expected = x @ (normed.T @ normed + 0.7 * np.diag(inverse) @ v @ v.T @ np.diag(np.sqrt(items)))
    found = scores(GFCF(vectors=vectors, weight=0.7), csr_matrix(x))
    assert np.allclose(found, expected, atol=1e-5)
    assert np.array_equal(found, scores(GFCF(vectors=vectors, weight=0.7), csr_matrix(x)))
    assert np.all(found[:, 5] == 0)
    linear = scores(GFCF(weight=0.0), csr_matrix(x))
    assert np.allclose(linear, x @ normed.T @ normed, atol=1e-5)


def test_gf_cf_of_one_person_is_its_linear_filter() -> None:
    one = csr_matrix(np.array([[1.0, 0.0, 1.0]], np.float32))
    assert np.allclose(scores(GFCF(), one), [[1.0, 0.0, 1.0]])


def test_als_reaches_the_exact_solution() -> None:
    als = ALS(dim=5, steps=40, iterations=3, alpha=2.0, l2=0.5)
    made = als.fit(X)
    users, items, x = made.users.double().numpy(), made.items.double().numpy(), X.toarray()
    for i in range(12):  # items were solved last
        c = np.diag(1.0 + 2.0 * x[:, i])
        exact = np.linalg.solve(users.T @ c @ users + 0.5 * np.eye(5), users.T @ c @ x[:, i])
        assert np.allclose(items[i], exact, atol=1e-4)


@pytest.mark.parametrize("baseline", [ItemKNN(), EASE(), ALS(dim=8), GFCF()], ids=lambda one: one.name)
def test_planted_groups_come_back(baseline: Baseline) -> None:
    """Even people like even items: what was taken out of their row must score above every odd item."""
    rng = np.random.default_rng(0)
    full = (np.arange(60)[:, None] % 2 == np.arange(40)[None] % 2) & (rng.random((60, 40)) < 0.7)
    found = scores(baseline, csr_matrix(full, dtype=np.float32))
    for user in range(60):
        own, other = found[user, user % 2 :: 2], found[user, 1 - user % 2 :: 2]
        assert own.min() > other.max()
