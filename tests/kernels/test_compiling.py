"""Every Triton kernel compiles for a real GPU, down to its machine code, and fits there; no GPU is needed for this."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.xdist_group("compiling")  # once, by one process

HERE = Path(__file__).parents[2]
ROOM = 227 * 1024  # bytes of shared memory that a program may have at compute capability 9.0


@pytest.fixture(scope="module")
def found(pytestconfig: pytest.Config) -> Any:
    """What `compiling.py` has to say; kernels that have not changed since the last time are not compiled again."""
    env = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    env["TRITON_CACHE_DIR"] = str(pytestconfig.cache.mkdir("triton"))
    command = [sys.executable, "-m", "tests.kernels.compiling", "90"]
    run = subprocess.run(command, cwd=HERE, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def left_out(compiled: set[str], kernels: dict[str, list[str]]) -> set[str]:
    """Those of all kernels that were neither compiled nor called by one that was, directly or not."""
    reached, fresh = set(compiled), set(compiled)
    while fresh:
        fresh = {other for kernel in fresh for other in kernels[kernel]} - reached
        reached |= fresh
    return set(kernels) - reached


def test_every_kernel_is_compiled(found: Any) -> None:
    compiled = {kernel for kernel, _ in found["compiled"]}
    assert left_out(compiled, found["kernels"]) == set()
    assert left_out(compiled - {"hops._product"}, found["kernels"]) == {"hops._product", "hops._finish"}


def test_every_kernel_fits(found: Any) -> None:
    assert {kernel: size for kernel, size in found["compiled"] if size > ROOM} == {}
    assert max(size for _, size in found["compiled"]) > 0


def test_what_does_not_compile_is_found_out(found: Any) -> None:
    """By a kernel that the interpreter runs without complaint."""
    assert "total has initial type int32 but is re-assigned to fp32" in found["refused"]
