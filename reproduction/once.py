"""A small JSON file that is made once, whoever makes it, and never half."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sahcns.lab import wait_for_lock, write_whole


def once(folder: Path, kind: str, key: str, make: Callable[[], Mapping[str, Any]]) -> bool:
    """Make FOLDER/KIND/KEY.json unless it is there; whether it was made here. Others wait until it is."""
    home = folder / kind
    path = home / f"{key}.json"
    if path.exists():
        return False
    with wait_for_lock(folder, f"{kind}-{key}"):
        for half in home.glob(f".{key}.json.*") if home.is_dir() else ():  # of a process that died, alone as we are now
            half.unlink(missing_ok=True)
        if path.exists():
            return False
        write_whole(path, _text(make()), kind)
    return True


def _text(values: Mapping[str, Any]) -> str:
    """A line for each key, and for each key of its mappings: small, and readable in a diff."""
    lines = []
    for name, value in values.items():
        shown = json.dumps(value, ensure_ascii=False)
        if isinstance(value, Mapping) and len(shown) > 400:
            inner = (f"    {json.dumps(key)}: {json.dumps(part, ensure_ascii=False)}" for key, part in value.items())
            shown = "{\n" + ",\n".join(inner) + "\n  }"
        lines.append(f"  {json.dumps(name)}: {shown}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
