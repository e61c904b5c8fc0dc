"""Further processes that work on a search beside the one that was asked for: they share its folder and its budget.

An order on stdin, which stays open as long as the parent lives; when it closes, the process ends at once, in the middle
of whatever it does, and the trial it was at is taken up by another.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sahcns.errors import SahcnsError


@contextlib.contextmanager
def helpers(count: int, order: Mapping[str, Any]) -> Iterator[None]:
    """`count` processes that call `tune` as `order` says; each computes with its share of the threads, as do we."""
    if count == 0:
        yield
        return
    import torch

    before = torch.get_num_threads()
    share = max(1, before // (count + 1))
    started = [_start({**order, "threads": share}) for _ in range(count)]
    torch.set_num_threads(share)
    try:
        yield
        for process in started:  # the search is finished, which each of them is about to see
            process.wait()
    finally:
        torch.set_num_threads(before)
        for process in started:
            process.terminate()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def _start(order: Mapping[str, Any]) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "sahcns.studies.tuning.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        process_group=0,  # Ctrl-C is for the parent, which ends its helpers
    )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it died at once, and said why on stderr
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
    return process


def main() -> None:
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    from sahcns.backbones import Backbone
    from sahcns.importing import import_files
    from sahcns.settings import Between, by_name
    from sahcns.studies.tuning.tune import tune
    from sahcns.training import Protocol

    torch.set_num_threads(order.pop("threads"))
    import_files(map(Path, order.pop("imports")))
    backbone, protocol = dict(order.pop("backbone")), order.pop("protocol")
    search = {
        name: {key: Between(**value) if isinstance(value, dict) else tuple(value) for key, value in own.items()}
        for name, own in order.pop("search").items()
    }
    tune(
        **order,
        backbone=by_name(Backbone, backbone.pop("name"), backbone),
        protocol=Protocol.from_dict(protocol),
        search=search,
    )


def _end_with_parent() -> None:
    while os.read(0, 4096):  # not through sys.stdin, whose lock would be in the way when this process ends by itself
        pass
    os._exit(1)


if __name__ == "__main__":
    try:
        main()
    except SahcnsError as error:
        sys.exit(f"error: {error}")
