"""perturb: noise of a given length in the embedding's own orthant, and no gradient through it."""

import pytest
import torch

from sahcns.kernels.reference import ReferenceVerbs
from sahcns.rng import Rng
from tests.kernels.conftest import Path


@pytest.mark.parametrize("length", [0.0, 0.1, 0.7])
def test_length_and_orthant(path: Path, length: float) -> None:
    e = torch.randn(40, 7, generator=torch.Generator().manual_seed(0)).to(path.device)
    noise = path.verbs.perturb(e, length, Rng(3, "noise", path.device)) - e
    torch.testing.assert_close(noise.norm(dim=1), torch.full_like(noise[:, 0], length), rtol=0, atol=1e-6)
    assert (noise * e >= 0).all()


def test_a_row_of_zeros_has_no_direction_and_stays(path: Path) -> None:
    e = torch.tensor([[0.0, 0.0], [1.0, 0.0]], device=path.device)
    moved = path.verbs.perturb(e, 0.5, Rng(0, "noise", path.device))
    assert moved[0].tolist() == [0.0, 0.0]
    assert moved[1, 0] > 1
    assert moved[1, 1] == 0


def test_every_path_adds_the_same_noise(path: Path) -> None:
    e = torch.randn(9, 64, generator=torch.Generator().manual_seed(1))
    found = path.verbs.perturb(e.to(path.device), 0.3, Rng(5, "noise", path.device)).cpu()
    expected = ReferenceVerbs().perturb(e, 0.3, Rng(5, "noise"))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    uniform = Rng(5, "noise").uniform(9, 64)  # of the stream's next numbers
    torch.testing.assert_close(found, e + 0.3 * e.sign() * uniform / uniform.norm(dim=1, keepdim=True))
    other = path.verbs.perturb(e.to(path.device), 0.3, Rng(6, "noise", path.device)).cpu()
    assert not torch.allclose(found, other, atol=1e-3)


def test_the_gradient_passes_unchanged(path: Path) -> None:
    e = torch.randn(5, 4, generator=torch.Generator().manual_seed(2)).to(path.device).requires_grad_()
    gradient = torch.randn(5, 4, generator=torch.Generator().manual_seed(3)).to(path.device)
    path.verbs.perturb(e, 0.4, Rng(0, "noise", path.device)).backward(gradient)  # type: ignore[no-untyped-call]
    assert e.grad is not None
    assert torch.equal(e.grad, gradient)
