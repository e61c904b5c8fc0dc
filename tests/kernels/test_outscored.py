"""outscored: how many items score no higher than a candidate, itself included, without a table of all scores."""

import pytest
import torch
from torch import Tensor

from sahcns.kernels.gpu.outscored import MOST
from tests.kernels.conftest import Path


def scored(batch: int, items: int, pool: int, dim: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Users, items, candidates, and all scores: whole numbers, so that every product is exact and ties are many."""
    make = torch.Generator().manual_seed(items + pool)
    users, table = (torch.randint(-2, 3, (count, dim), generator=make).float() for count in (batch, items))
    return users, table, torch.randint(0, items, (batch, pool), generator=make), users @ table.T


def counted(scores: Tensor, candidates: Tensor) -> Tensor:
    own = torch.gather(scores, 1, candidates)
    return torch.stack([(scores <= mine[:, None]).sum(1) for mine in own.unbind(1)], dim=1)


@pytest.mark.parametrize(
    ("batch", "items", "pool", "dim"), [(1, 1, 1, 1), (3, 20, 5, 8), (70, 1300, 10, 64), (65, 641, MOST, 100)]
)
def test_counted_one_by_one(path: Path, batch: int, items: int, pool: int, dim: int) -> None:
    users, table, candidates, scores = scored(batch, items, pool, dim)
    own = torch.gather(scores, 1, candidates)
    found = path.verbs.outscored(*(one.to(path.device) for one in (users, table, own, candidates)))
    if not path.name.startswith("triton"):
        assert found is None
    else:
        assert found is not None
        assert torch.equal(found.cpu().long(), counted(scores, candidates))


def test_a_candidate_is_at_most_itself_however_it_was_rounded(path: Path) -> None:
    users, table, candidates, scores = scored(9, 50, 4, 6)
    own = torch.gather(scores, 1, candidates) - 0.25  # below its own product, and above all that are lower
    found = path.verbs.outscored(*(one.to(path.device) for one in (users, table, own, candidates)))
    if found is not None:
        lower = torch.stack([(scores < mine[:, None]).sum(1) for mine in own.unbind(1)], dim=1)
        assert torch.equal(found.cpu().long(), lower + 1)


@pytest.mark.parametrize(("dtype", "pool"), [(torch.float64, 3), (torch.float32, MOST + 1)])
def test_what_it_is_not_made_for_is_left_to_the_plain_form(path: Path, dtype: torch.dtype, pool: int) -> None:
    users, table, candidates, scores = scored(2, 40, pool, 4)
    own = torch.gather(scores, 1, candidates)
    given = (users.to(dtype), table.to(dtype), own.to(dtype), candidates)
    assert path.verbs.outscored(*(one.to(path.device) for one in given)) is None
