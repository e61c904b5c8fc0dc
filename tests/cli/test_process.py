"""A process that trains keeps the memory that it frees, unless somebody decided otherwise."""

import os
import platform
import subprocess
import sys

import pytest

from sahcns.cli.process import MALLOC, let_threads_sleep, tune_malloc

# A block of 40 MB, above what glibc ever keeps by itself, is taken, written and freed ten times; the pages that the
# system had to clear for it are counted.
FAULTS = """
import resource, sys
import numpy as np
if sys.argv[1] == "keep":
    from sahcns.cli.process import tune_malloc
    tune_malloc()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
np.ones(5_000_000)
before = faults()
for _ in range(10):
    np.ones(5_000_000)
print(faults() - before)
"""
# Other C libraries know nothing of it, and are left as they are.
GLIBC = platform.libc_ver()[0] == "glibc"


def environment(**more: str) -> dict[str, str]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    return {**bare, "NUMPY_MADVISE_HUGEPAGE": "0", **more}


def faults(mode: str, **more: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, mode], env=environment(**more), stdout=-1, text=True, check=True
    )
    return int(done.stdout)


def test_freed_memory_is_used_again() -> None:
    assert (faults("keep") < faults("leave") / 10) == GLIBC


def test_what_the_environment_says_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, _, _ in MALLOC:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MALLOC_TOP_PAD_", "4096")
    assert not tune_malloc()
    assert [os.environ.get(name) for name, _, _ in MALLOC] == [None, None, "4096"]


def test_threads_wait_asleep_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    let_threads_sleep()
    assert os.environ["OMP_WAIT_POLICY"] == "active"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    let_threads_sleep()
    assert os.environ["OMP_WAIT_POLICY"] == "passive"


@pytest.mark.parametrize("command", ["train", "compare", "tune", "bench"])
def test_the_commands_that_train_ask_for_it(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sahcns.cli import COMMANDS
    from sahcns.cli.group import run

    asked = []
    monkeypatch.setattr(f"sahcns.cli.{command}.tune_malloc", lambda: asked.append(command))
    run(COMMANDS, "", [command, "nowhere", *(["--out", "none"] if command in ("train", "tune") else [])])
    assert asked == [command]
