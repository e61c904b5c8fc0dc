"""Runs of a second from the command line, on a set of twenty films."""

import json
from pathlib import Path
from typing import Any

QUICK = ("--epochs", "2", "--batch", "64", "--set", "backbone.dim=4", "--device", "cpu")


def record_of(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text("utf-8"))
