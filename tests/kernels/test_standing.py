"""standing: how many of a row are at most each of a few values, ties counted."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kernels.conftest import Path


@given(
    rows=st.lists(st.lists(st.integers(-3, 3), min_size=11, max_size=11), min_size=1, max_size=4),
    count=st.integers(1, 6),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counted_one_by_one(path: Path, rows: list[list[int]], count: int) -> None:
    scores = torch.tensor(rows, dtype=torch.float32)
    own = scores[:, :count]
    found = path.verbs.standing(scores.to(path.device), own.to(path.device))
    expected = [[sum(x <= mine for x in row) for mine in row[:count]] for row in rows]
    assert found.tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("pool", "items"), [(1, 128), (20, 300), (64, 129), (200, 1000), (600, 700)])
def test_pools_and_catalogues_of_several_tiles(path: Path, pool: int, items: int, dtype: torch.dtype) -> None:
    """Ties, and values of no end, which are at most themselves."""
    make = torch.Generator().manual_seed(pool)
    scores = torch.randint(-40, 40, (2, items), generator=make).to(path.device, dtype)
    scores[0, 3], scores[1, -1] = float("inf"), float("-inf")
    own = scores[:, torch.randperm(items, generator=make)[:pool]].clone()
    own[0, 0] = float("inf")
    expected = (scores[:, None, :] <= own[:, :, None]).sum(2)
    assert torch.equal(path.verbs.standing(scores, own).long(), expected)


def test_what_is_hidden_with_infinity_is_never_counted(path: Path) -> None:
    scores = torch.tensor([[1.0, float("inf"), 3.0, 2.0]], device=path.device)
    assert path.verbs.standing(scores, scores[:, [2, 0]]).tolist() == [[3, 1]]
