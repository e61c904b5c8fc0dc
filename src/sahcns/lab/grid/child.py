"""A process that works for this one: it gets its order on stdin, and ends with its parent.

Its stdin stays open as long as the parent lives; when it closes, the process ends at once, in the middle of whatever it
does. That is safe where every piece of work is claimed by a lock, which the system frees.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping
from typing import Any


def start_child(module: str, order: Mapping[str, Any], stdout: int) -> "subprocess.Popen[str]":
    """`python -m module`, which asks for its order by `order_of_parent`; `stdout` is one of subprocess's constants."""
    # What it imports is found where it is found here. Without -P the current folder would come before all else, and a
    # random.py in it stand in the place of Python's.
    places = os.pathsep.join(path or os.getcwd() for path in sys.path)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=stdout,
        text=True,
        env={**os.environ, "PYTHONPATH": places},
        process_group=0,  # Ctrl-C is for the parent, which ends its children
    )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it died at once, and said why on stderr
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
    return process


def end_children(processes: "Collection[subprocess.Popen[str]]") -> None:
    """All are told before any is waited for: on a GPU that they share, the end of one can break what others are at."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()


def order_of_parent() -> dict[str, Any]:
    """In the child: what it is to do; from now on it ends when its parent does."""
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return order


def _end_with_parent() -> None:
    while os.read(0, 4096):  # not through sys.stdin, whose lock would be in the way when this process ends by itself
        pass
    os._exit(1)
