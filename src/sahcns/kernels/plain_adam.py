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
        self.parameters, self.lr = list(parameters), lr
        self.first, self.second = ([torch.zeros_like(one) for one in self.parameters] for _ in range(2))
        self.steps = [torch.zeros((), dtype=torch.float32, device=one.device) for one in self.parameters]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        with_gradient = [k for k, parameter in enumerate(self.parameters) if parameter.grad is not None]
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        of = (self.parameters, self.first, self.second, self.steps)
        parameters, first, second, steps = ([column[k] for k in with_gradient] for column in of)
        adam(
            parameters, gradients, first, second, [], steps,
            fused=True, amsgrad=False, beta1=BETA_1, beta2=BETA_2, lr=self.lr, weight_decay=0.0, eps=EPSILON, maximize=False,
        )  # fmt: skip
