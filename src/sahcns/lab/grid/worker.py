"""A process that works on a grid: jobs as its order, events as lines of JSON on stdout."""

import json
import os
import sys
from typing import IO

from sahcns.errors import DeviceError, SahcnsError
from sahcns.lab.grid.child import order_of_parent
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.running import Call, Event, work_off


def main() -> None:
    order = order_of_parent()
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a sampler prints goes to stderr
    import torch

    torch.set_num_threads(order["threads"])
    jobs = [Job(**values) for values in order["jobs"]]
    work_off(jobs, Call.from_plain(order["call"]), lambda event: _tell(events, event))


def _tell(events: IO[str], event: Event) -> None:
    values = {"kind": event.kind, "key": event.job.key, "entry": event.entry, "error": event.error}
    events.write(json.dumps(values) + "\n")
    events.flush()


if __name__ == "__main__":
    try:
        main()
    except DeviceError:  # told with its job; the parent starts another in our place
        sys.exit(1)
    except SahcnsError as error:  # a result that cannot be written, say
        sys.exit(f"error: {error}")
