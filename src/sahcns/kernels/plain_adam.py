"""Adam by torch's own fused kernel (Kingma & Ba, ICLR 2015), without its optimiser class.

Making a torch.optim.Adam imports torch's compiler, which takes as long as importing torch itself and is of no use here.
"""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim.adam import adam

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class PlainAdam:
    """The interface of torch.optim.Adam that a training step uses, and the same bits."""

    def __init__(self, parameters: Iterable[Tensor], lr: float) -> None:
        self.lr = lr
        self.tables = [
            (one, torch.zeros_like(one), torch.zeros_like(one), torch.zeros((), dtype=torch.float32, device=one.device))
            for one in parameters
        ]  # each with both moments and how many steps it has had

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter, *_ in self.tables:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        rows = [(one, one.grad, *state) for one, *state in self.tables if one.grad is not None]
        parameters, gradients, first, second, steps = ([row[k] for row in rows] for k in range(5))
        adam(
            parameters, gradients, first, second, [], steps,
            fused=True, amsgrad=False, beta1=BETA_1, beta2=BETA_2, lr=self.lr, weight_decay=0.0, eps=EPSILON, maximize=False,
        )  # fmt: skip
