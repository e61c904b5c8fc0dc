"""What training minimises: BPR over one or several negatives, and L2 on what the batch touched.

Rendle et al., UAI 2009; the several-negatives form is that of the MixGCF lineage and is BPR for K = 1:

    L_BPR = mean_b log(1 + Σ_k exp(y⁻[b, k] - y⁺[b]))
    L_2   = l2 / (2B) · Σ_b ( ‖e_u⁰‖² + ‖e_i⁰‖² + Σ_k ‖e_neg⁰‖² )        layer 0; repeats in the batch count each time
"""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from sahcns.errors import TrainingError


def bpr(positive: Tensor, negative: Tensor) -> Tensor:
    """Scores [B] and [B, K] → scalar; softplus, so that no exponential overflows."""
    margin = negative - positive[:, None]
    if margin.shape[1] == 1:
        return softplus(margin[:, 0]).mean()
    return softplus(torch.logsumexp(margin, dim=1)).mean()


def l2(strength: float, *ego: Tensor) -> Tensor:
    """Layer-0 rows of the batch's users [B, d], positives [B, d] and negatives [B, K, d] → scalar."""
    total = ego[0].square().sum()
    for rows in ego[1:]:
        total = total + rows.square().sum()
    return strength / (2 * len(ego[0])) * total


def one_number(loss: Tensor, of: object) -> Tensor:
    """The loss of a backbone's or a sampler's own; anything but a scalar is an error that names its class."""
    if isinstance(loss, Tensor) and loss.dim() == 0:
        return loss
    found = f"a loss of shape {list(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
    raise TrainingError(
        f"{type(of).__name__}.extra_loss() returned {found}; it must be one number, say a mean, as a tensor, or None"
    )
