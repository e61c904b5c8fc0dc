"""Further processes that work on a search beside the one that was asked for: they share its folder and its budget.

The trial that one of them was at when it ended is taken up by another.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sahcns.errors import DeviceError, SahcnsError
from sahcns.lab.grid.workers import end_children, order_of_parent, start_child


@contextlib.contextmanager
def helpers(count: int, order: Mapping[str, Any]) -> Iterator[None]:
    """`count` processes that call `tune` as `order` says; each computes with its share of the threads, as do we."""
    if count == 0:
        yield
        return
    import torch

    before = torch.get_num_threads()
    share = max(1, before // (count + 1))
    told = {**order, "threads": share}
    started = [start_child("sahcns.lab.tuning.worker", told, subprocess.DEVNULL) for _ in range(count)]
    torch.set_num_threads(share)
    try:
        yield
        for process in started:  # the search is finished, which each of them is about to see
            process.wait()
    finally:
        torch.set_num_threads(before)
        end_children(started)
        for process in started:
            if process.stdin is not None:
                process.stdin.close()


def main() -> None:
    order = order_of_parent()
    import torch

    from sahcns.backbones import Backbone
    from sahcns.importing import import_files
    from sahcns.lab.tuning.tune import tune
    from sahcns.settings import Between, by_name
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


if __name__ == "__main__":
    try:
        main()
    except DeviceError as error:
        sys.exit(f"a worker has ended, the others go on: {error}")
    except SahcnsError as error:
        sys.exit(f"error: {error}")
