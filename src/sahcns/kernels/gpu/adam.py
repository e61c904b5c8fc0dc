"""Adam in one pass over each table (Kingma & Ba, ICLR 2015); torch's own fused step fills a fraction of a large GPU.

m ← β₁ m + (1 - β₁) g,   v ← β₂ v + (1 - β₂) g²,   x ← x - lr · (m / (1 - β₁^t)) / (√(v / (1 - β₂^t)) + ε)
"""

import math
from collections.abc import Iterable

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.cpu import BETA_1, BETA_2, EPSILON

SMALL = 1 << 16  # fewer numbers than this do not fill a launch of their own


@triton.jit
def _adam(
    x, g, m, v, step, size, lr, B1, B2, EPS, LOG_B1: tl.constexpr, LOG_B2: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    k = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = k < size
    t = (tl.load(step) + 1).to(tl.float64)  # 1 - β₂^t is near 0 at first: in 32 bits it would have four right digits
    grad = tl.load(g + k, mask=inside, other=0.0)
    first = tl.load(m + k, mask=inside, other=0.0) * B1 + (1.0 - B1) * grad
    second = tl.load(v + k, mask=inside, other=0.0) * B2 + (1.0 - B2) * grad * grad
    tl.store(m + k, first, mask=inside)
    tl.store(v + k, second, mask=inside)
    scale = tl.sqrt((1.0 - tl.exp(t * LOG_B2)).to(tl.float32))  # β^t as exp(t log β)
    rate = lr / (1.0 - tl.exp(t * LOG_B1)).to(tl.float32)
    value = tl.load(x + k, mask=inside, other=0.0)
    tl.store(x + k, value - rate * first / (tl.sqrt(second) / scale + EPS), mask=inside)


class Adam:
    """The interface of torch.optim.Adam that a training step uses; steps are counted on the device, so it can be captured.

    Tables go through the kernel above, one launch each; small tensors (gates, weights of layers) all share torch's launch.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, step: Tensor) -> None:
        self.parameters = list(parameters)
        self.lr = lr
        self.count = step  # int64 scalar: steps taken so far, advanced by the trainer
        self.tables = [(p, torch.zeros_like(p), torch.zeros_like(p)) for p in self.parameters if p.numel() >= SMALL]
        small = [p for p in self.parameters if p.numel() < SMALL]
        self.rest = torch.optim.Adam(small, lr=lr, fused=True, capturable=step.is_cuda) if small else None

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for at, (_, first, second) in enumerate(self.tables):
            found |= {f"{at}.first": first, f"{at}.second": second}
        for at, parameter in enumerate(self.rest.param_groups[0]["params"] if self.rest else ()):
            own = self.rest.state[parameter]  # type: ignore[union-attr]
            if not own:  # as torch's own first step makes it
                zeros = (torch.zeros_like(parameter) for _ in range(2))
                count = torch.zeros((), dtype=torch.float32, device=parameter.device)
                own |= {"step": count, **dict(zip(("exp_avg", "exp_avg_sq"), zeros, strict=True))}
            found |= {f"small.{at}.{name}": value for name, value in own.items()}
        return found

    @torch.no_grad()
    def step(self) -> None:
        for table, first, second in self.tables:
            if table.grad is None:
                continue
            size = table.numel()
            _adam[(triton.cdiv(size, 1024),)](
                table, table.grad.contiguous(), first, second, self.count, size, self.lr, BETA_1, BETA_2, EPSILON,
                LOG_B1=math.log(BETA_1), LOG_B2=math.log(BETA_2), BLOCK=1024, num_warps=4,
            )  # fmt: skip
        if self.rest is not None:
            self.rest.step()
