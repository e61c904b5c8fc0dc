"""Further processes that work on a search: they share its folder and its budget."""

import contextlib
import dataclasses
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sahcns.errors import DeviceError, SahcnsError
from sahcns.lab.grid.workers import end_children, order_of_parent, start_child
from sahcns.settings import Between


@contextlib.contextmanager
def helpers(count: int, order: Mapping[str, Any]) -> Iterator[None]:
    """`count` processes that call `tune(**order)`; each computes with its share of the threads, as do we."""
    if count == 0:
        yield
        return
    import torch

    before = torch.get_num_threads()
    share = max(1, before // (count + 1))
    search = {
        name: dataclasses.asdict(values) if isinstance(values, Between) else list(values)
        for name, values in order["search"].items()
    }
    plain = {**order, "search": search, "threads": share}
    started = [start_child("sahcns.lab.tune.worker", plain, subprocess.DEVNULL) for _ in range(count)]
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
    from sahcns.lab.tune.tune import tune
    from sahcns.settings import by_name
    from sahcns.training import Protocol

    torch.set_num_threads(order.pop("threads"))
    import_files(map(Path, order.pop("imports")))
    backbone, protocol = dict(order.pop("backbone")), order.pop("protocol")
    search = {
        name: Between(**values) if isinstance(values, dict) else tuple(values)
        for name, values in order.pop("search").items()
    }
    tune(
        **order,
        search=search,
        backbone=by_name(Backbone, backbone.pop("name"), backbone),
        protocol=Protocol.from_dict(protocol),
    )


if __name__ == "__main__":
    try:
        main()
    except DeviceError as error:
        sys.exit(f"a worker has ended, the others go on: {error}")
    except SahcnsError as error:
        sys.exit(f"error: {error}")
