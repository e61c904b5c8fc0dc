"""adam: against the equations of Kingma & Ba (ICLR 2015), step by step."""

import numpy as np
import torch

from tests.kernels.conftest import Path

SHAPES = [(1100, 64), (7, 4), (3, 3), (1, 5)]  # a table of its own kernel on a GPU, and small ones that share a launch


def test_several_tables_over_several_steps(path: Path) -> None:
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in SHAPES]
    tables = [torch.from_numpy(v).to(path.device, torch.float32).requires_grad_() for v in values]
    counter = torch.zeros((), dtype=torch.int64, device=path.device)  # steps taken so far, kept by the trainer
    optimiser = path.verbs.adam(tables, 0.05, counter)
    first, second = ([np.zeros(shape) for shape in SHAPES] for _ in range(2))
    for step in range(1, 6):
        gradients = [rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3) for shape in SHAPES]
        optimiser.zero_grad(set_to_none=True)
        for table, gradient in zip(tables, gradients, strict=True):
            assert table.grad is None
            table.grad = torch.from_numpy(gradient).to(path.device, torch.float32)
        optimiser.step()
        counter += 1
        for k, g in enumerate(gradients):
            first[k] = 0.9 * first[k] + 0.1 * g
            second[k] = 0.999 * second[k] + 0.001 * g**2
            m, v = first[k] / (1 - 0.9**step), second[k] / (1 - 0.999**step)
            values[k] = values[k] - 0.05 * m / (np.sqrt(v) + 1e-8)
            np.testing.assert_allclose(tables[k].detach().cpu().numpy(), values[k], rtol=0, atol=2e-6)
