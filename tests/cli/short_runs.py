"""Runs of a second from the command line, on a set of twenty films; and a model that is served."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

QUICK = ("--epochs", "2", "--batch", "64", "--set", "backbone.dim=4", "--device", "cpu")


def record_of(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text("utf-8"))


@contextmanager
def served(
    run: Path, *options: str, end: signal.Signals = signal.SIGTERM
) -> Iterator[tuple[dict[str, str], list[str]]]:
    """What `sahcns serve --json` says when it begins, and, once it was told to end, what it said on stderr."""
    line = [sys.executable, "-m", "sahcns", "serve", str(run), "--port", "0", "--json", *options]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = list[str]()
    try:
        assert process.stdout is not None
        yield json.loads("".join(process.stdout.readline() for _ in range(4))), said
    finally:
        process.send_signal(end)
        try:
            said += process.communicate(timeout=60)[1].splitlines()
        finally:
            process.kill()
    assert process.returncode == 0
