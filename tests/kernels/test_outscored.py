"""outscored: how many items score no higher than a candidate, itself included, without a table of all scores."""

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.graph import Graph
from sahcns.kernels.gpu.outscored import MOST
from sahcns.rng import Rng
from sahcns.samplers import BNS, Matching
from tests.kernels.conftest import Path
from tests.splits import random_split


def scored(batch: int, items: int, pool: int, dim: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Users, items, candidates, and all scores: whole numbers, so that every product is exact and ties are many."""
    make = torch.Generator().manual_seed(items + pool)
    users, table = (torch.randint(-2, 3, (count, dim), generator=make).float() for count in (batch, items))
    return users, table, torch.randint(0, items, (batch, pool), generator=make), users @ table.T


def outscored(path: Path, users: Tensor, items: Tensor, candidates: Tensor) -> Tensor | None:
    """In two layers, whose sum they are; the users of the batch are not in the order of the table."""
    whole = torch.cat([users.flip(0), items]).to(path.device)
    half = (whole / 2).round()
    rows = torch.arange(len(users), device=path.device).flip(0)
    return path.verbs.outscored((half, whole - half), Aggregation("sum"), len(users), rows, candidates.to(path.device))


def counted(scores: Tensor, candidates: Tensor) -> Tensor:
    own = torch.gather(scores, 1, candidates)
    return torch.stack([(scores <= mine[:, None]).sum(1) for mine in own.unbind(1)], dim=1)


@pytest.mark.parametrize(
    ("batch", "items", "pool", "dim"), [(1, 1, 1, 1), (3, 20, 5, 8), (70, 1300, 10, 64), (65, 641, MOST, 100)]
)
def test_counted_one_by_one(path: Path, batch: int, items: int, pool: int, dim: int) -> None:
    users, table, candidates, scores = scored(batch, items, pool, dim)
    found = outscored(path, users, table, candidates)
    if not path.name.startswith("triton"):
        assert found is None
    else:
        assert found is not None
        assert torch.equal(found.cpu().long(), counted(scores, candidates))


@pytest.mark.parametrize(("dtype", "pool"), [(torch.float64, 3), (torch.float32, MOST + 1)])
def test_what_it_is_not_made_for_is_left_to_the_plain_form(path: Path, dtype: torch.dtype, pool: int) -> None:
    users, table, candidates, _ = scored(2, 40, pool, 4)
    assert outscored(path, users.to(dtype), table.to(dtype), candidates) is None


def test_items_that_share_a_vector_stand_alike(path: Path) -> None:
    """Without layer 0 all items of the same users do; a score from another product would be a little off theirs."""
    graph = Graph.of(random_split(12, 60, each=4), path.device, path=path.name)
    make = torch.Generator().manual_seed(4)
    kinds = torch.randint(0, 9, (60,), generator=make)
    tables = torch.cat([torch.randn(3, 12, 64, generator=make), torch.randn(3, 9, 64, generator=make)[:, kinds]], 1)
    candidates = graph.draw(graph.pair_users, 10, Rng(1, "pools", path.device))
    match = Matching(
        graph.pair_users, graph.pair_items, candidates, torch.arange(48, device=path.device),
        tuple(tables.to(path.device)), graph, Aggregation("mean"), torch.zeros((), device=path.device),
    )  # fmt: skip
    found = BNS().standing(match).cpu() * 61
    exact = tables.double().mean(0)
    scores = (exact[:12] @ exact[12:].T)[graph.pair_users.cpu()]
    own = torch.gather(scores, 1, candidates.cpu())
    assert torch.equal(found.round(), (scores[:, None] <= own[..., None] + 1e-9).sum(2).float())
