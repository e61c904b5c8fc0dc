"""adam: against the equations of Kingma & Ba (ICLR 2015), step by step."""

import subprocess
import sys

import numpy as np
import torch

from sahcns.kernels import make_adam
from sahcns.kernels.cpu import PlainAdam
from tests.kernels.conftest import Path

SHAPES = [(1100, 64), (7, 4), (3, 3), (1, 5)]  # a table of its own kernel on a GPU, and small ones that share a launch


def test_several_tables_over_several_steps(path: Path) -> None:
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in SHAPES]
    tables = [torch.from_numpy(v).to(path.device, torch.float32).requires_grad_() for v in values]
    counter = torch.zeros((), dtype=torch.int64, device=path.device)  # steps taken so far, kept by the trainer
    optimiser = make_adam(path.graph(), tables, 0.05, counter)
    first, second = ([np.zeros(shape) for shape in SHAPES] for _ in range(2))
    for step in range(1, 4):
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


def test_the_same_bits_as_torch_s_own() -> None:
    """A table without a gradient is left alone in both, and its steps are not counted."""
    make = torch.Generator().manual_seed(0)
    own, theirs = ([torch.ones(shape).requires_grad_() for shape in SHAPES] for _ in range(2))
    ours, torchs = PlainAdam(own, 0.05), torch.optim.Adam(theirs, lr=0.05, fused=True)
    for step in range(5):
        for k, (a, b) in enumerate(zip(own, theirs, strict=True)):
            gradient = None if k == step % len(SHAPES) else torch.randn(a.shape, generator=make)
            a.grad, b.grad = gradient, None if gradient is None else gradient.clone()
        ours.step()
        torchs.step()
        assert all(torch.equal(a, b) for a, b in zip(own, theirs, strict=True))


def test_a_process_that_trains_is_not_warned_of_torch_and_does_not_import_its_compiler() -> None:
    program = """
import sys
import torch
from sahcns.aggregation import Aggregation
from sahcns.data.split import Split
from sahcns.graph import Batch
from sahcns.kernels import build_graph
from sahcns.kernels.cpu import PlainAdam
graph, ids = build_graph(Split.from_pairs([[0, 0]], n_items=8)), torch.zeros(1, dtype=torch.int64)
table = torch.ones(9, 2, requires_grad=True)
graph.match(Batch(ids, ids, (table,), Aggregation("mean")), ids[:, None])
optimiser = PlainAdam([table], 0.1)
table.grad = torch.ones(9, 2)
optimiser.step()
print("torch._dynamo" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "False\n", "")
