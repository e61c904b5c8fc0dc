"""A vector for somebody the model has never met, from the items they have, without training again.

The user half of implicit ALS, with the item vectors held (Hu, Koren, Volinsky. Collaborative Filtering for Implicit
Feedback Datasets. ICDM 2008): near 1 on what they have, near 0 elsewhere, and not too long. S is what they have.

    u = argmin Σ_{i∈S} (1 − u·v_i)² + a Σ_j (u·v_j)² + r ‖u‖²
      = (a VᵀV + V_SᵀV_S + r I)⁻¹ Σ_{i∈S} v_i,      r = RIDGE · mean diag(VᵀV)

It asks nothing of the backbone but its item vectors.
"""

import torch
from torch import Tensor

ELSEWHERE = 0.02  # a: what a pair counts that was not seen, beside 1 for one that was
RIDGE = 0.3  # both chosen on validation by benchmarks/fold_in.py


def gram(items: Tensor) -> Tensor:
    """VᵀV [D, D] of all items [n_items, D], in float64: the part that is the same for everybody."""
    return items.double().T @ items.double()


def fold_in(have: Tensor, everything: Tensor, elsewhere: float = ELSEWHERE, ridge: float = RIDGE) -> Tensor:
    """Vectors of what they have [S, D] and the `gram` of all items [D, D] → their own vector [D]."""
    own = have.double()
    vector: Tensor = torch.linalg.solve(fold_in_system(own, everything, elsewhere, ridge), own.sum(0))
    return vector.to(have.dtype)


def fold_in_system(own: Tensor, everything: Tensor, elsewhere: float = ELSEWHERE, ridge: float = RIDGE) -> Tensor:
    """a VᵀV + V_SᵀV_S + r I [D, D], for what they have [S, D] in float64."""
    r = ridge * everything.diagonal().mean() + torch.finfo(torch.float64).tiny  # items may all be zero
    eye = torch.eye(len(everything), dtype=torch.float64, device=own.device)
    return elsewhere * everything + own.T @ own + r * eye
