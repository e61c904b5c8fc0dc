"""pooled: final embeddings of some rows, against the plain aggregation."""

from typing import get_args

import pytest
import torch

from sahcns.aggregation import Aggregation, Kind
from tests.kernels.conftest import PATHS, Path

pytest.importorskip("triton")
from sahcns.kernels.gpu.pooled import pooled
from sahcns.kernels.gpu.tables import table

TRITON = [path for path in PATHS if str(path.id).startswith("triton") and "ordered" not in str(path.id)]


@pytest.mark.parametrize("path", TRITON)
@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize(("layers", "dim"), [(1, 5), (3, 16), (4, 64)])
def test_rows_named_and_rows_in_a_row(path: Path, kind: Kind, layers: int, dim: int) -> None:
    make = torch.Generator().manual_seed(dim)
    stack = tuple(torch.randn(layers, 43, dim, generator=make).to(path.device))
    whole = Aggregation(kind).pool_layers(stack)
    rows = torch.randint(0, 43, (21,), generator=make).to(path.device)
    torch.testing.assert_close(pooled(table(stack), kind, rows), whole[rows], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(pooled(table(stack), kind, range(20, 43)), whole[20:], rtol=1e-6, atol=1e-6)
