"""How hard a negative pulls: the size of the gradient that it causes."""

import torch
from torch import Tensor

from sahcns.lab.inspection.walk import Negatives
from sahcns.objectives import bpr


def gradients_of(negatives: Negatives) -> tuple[Tensor, Tensor, Tensor]:
    """Of each pair's own BPR loss: Σ_k |∂/∂y⁻_k| [B], ‖∂/∂ē_u‖ [B]; and the mean loss of the batch."""
    match = negatives.match
    pool = match.aggregation.pool
    with torch.enable_grad():
        user = match.user_vectors.detach().requires_grad_()  # [B, D]
        y_pos = (user * pool(match.positive_layers)).sum(-1)
        y_neg = (user[:, None] * pool(negatives.layers)).sum(-1)  # [B, K]
        loss = bpr(y_pos, y_neg)
        by_negative, by_user = torch.autograd.grad(loss * len(user), (y_neg, user))
    return by_negative.abs().sum(1), by_user.norm(dim=1), loss.detach()
