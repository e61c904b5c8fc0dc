"""Layers as the kernels see them: wherever they lie."""

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.kernels.gpu.dens import PARTS, dens_choice
from sahcns.kernels.gpu.match import match
from sahcns.kernels.gpu.pair_loss import PairLoss
from sahcns.kernels.gpu.tables import table
from sahcns.kernels.reference import ReferenceVerbs

FAR = 1 << 30  # numbers: twice as many are more than 32 bits with a sign can count
USERS, ITEMS, DIM = 3, 5, 4
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(scope="module")
def layers() -> tuple[Tensor, ...]:
    """Four of them, 2^30 numbers apart from each other; on a CPU only what is written takes memory."""
    n = USERS + ITEMS
    space = torch.empty(2 * FAR + n * DIM, device=DEVICE)
    values = torch.randn(4, n, DIM, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    later = [space[k * FAR : k * FAR + n * DIM].view(n, DIM) for k in range(3)]
    for layer, value in zip(later, values[1:], strict=True):
        layer.copy_(value)
    return values[0], *later


BATCH = (  # users, positives, candidates
    torch.tensor([0, 2], device=DEVICE),
    torch.tensor([1, 4], device=DEVICE),
    torch.tensor([[0, 2, 3], [1, 1, 0]], device=DEVICE),
)


@pytest.mark.parametrize("kind", ["mean", "concat"])
def test_scores_and_loss_of_layers_far_apart(layers: tuple[Tensor, ...], kind: Kind) -> None:
    assert table(layers).stride == FAR
    near = tuple(layer.clone() for layer in layers)
    expected = ReferenceVerbs().match(near, Aggregation(kind), USERS, *BATCH)
    for score, wanted in zip(match(table(layers), kind, USERS, *BATCH), expected, strict=True):
        torch.testing.assert_close(score, wanted)
    items = BATCH[2][:, :1, None].contiguous()
    found, plain = (
        PairLoss.apply(False, kind, USERS, 0.1, *BATCH[:2], items, None, *read)  # type: ignore[no-untyped-call]
        for read in (layers, near)
    )
    torch.testing.assert_close(found, plain)


def test_the_choice_of_dens_from_layers_far_apart(layers: tuple[Tensor, ...]) -> None:
    rng = torch.Generator().manual_seed(1)
    shapes = {part: (DIM, DIM) if part.endswith("weight") else (DIM,) for part in PARTS}
    gates = {part: torch.randn(*shape, generator=rng).to(DEVICE) for part, shape in shapes.items()}
    near = tuple(layer.clone() for layer in layers)
    found, expected = (dens_choice(table(read), USERS, *BATCH, gates, 0.5) for read in (layers, near))
    assert torch.equal(found, expected)
