"""standing: how many of a row are at most each of a few values, ties counted."""

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


def test_what_is_hidden_with_infinity_is_never_counted(path: Path) -> None:
    scores = torch.tensor([[1.0, float("inf"), 3.0, 2.0]], device=path.device)
    assert path.verbs.standing(scores, scores[:, [2, 0]]).tolist() == [[3, 1]]
