"""match: every candidate and the positive against the user, layer by layer."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sahcns.aggregation import Aggregation, Kind
from sahcns.graph import Batch
from tests.kernels.conftest import Path

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-13}


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("kind", ["mean", "sum", "concat"])
@given(
    batch=st.integers(1, 6),
    pool=st.integers(1, 12),  # more than there are nodes
    depth=st.integers(1, 4),
    dim=st.sampled_from([1, 4, 7]),
    seed=st.integers(0, 99),
    weighted=st.booleans(),
)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_score_is_a_dot_product(
    path: Path, kind: Kind, dtype: torch.dtype, batch: int, pool: int, depth: int, dim: int, seed: int, weighted: bool
) -> None:
    n_users, n_items = 4, 6
    rng = np.random.default_rng(seed)
    tables = rng.normal(size=(depth, n_users + n_items, dim))
    users, positives = rng.integers(n_users, size=batch), rng.integers(n_items, size=batch)
    candidates = rng.integers(n_items, size=(batch, pool))  # with repeats within a pool
    layers = tuple(torch.from_numpy(t).to(path.device, dtype).requires_grad_() for t in tables)
    ids = [torch.from_numpy(ids).to(path.device) for ids in (users, positives, candidates)]
    weights = tuple(rng.random(depth).tolist()) if weighted else None
    p, a = path.graph().match(Batch(ids[0], ids[1], layers, Aggregation(kind, weights)), ids[2])
    assert p.shape == (batch, depth)
    assert a.shape == (batch, pool, depth)
    assert p.dtype == a.dtype == dtype
    assert not p.requires_grad
    assert not a.requires_grad
    for b in range(batch):
        own = tables[:, users[b]]  # [T, d]
        for t in range(depth):
            shares = np.array(weights or [1.0] * depth)
            total = (shares[:, None] * own).sum(0)
            anchor = {"mean": total / depth, "sum": total, "concat": shares[t] * own[t]}[kind] * shares[t]
            expected = [float(anchor @ tables[t, n_users + item]) for item in (positives[b], *candidates[b])]
            found = [p[b, t], *a[b, :, t]]
            np.testing.assert_allclose([float(x) for x in found], expected, rtol=0, atol=TOLERANCE[dtype] * 10)
