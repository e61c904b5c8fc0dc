"""A process that works on a grid: an order on stdin, events as lines of JSON on stdout.

Its stdin stays open as long as its parent lives; when it closes, the process ends at once, in the middle of whatever it
does, which leaves nothing that the next runner could not sweep up.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import IO

from sahcns.studies.grid.job import Job
from sahcns.studies.grid.running import Event, work_off


def main() -> None:
    order = json.loads(sys.stdin.readline())
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a sampler prints goes to stderr
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(order["threads"])
    jobs = [Job(**values) for values in order["jobs"]]
    folder, device, call, until = Path(order["folder"]), order["device"], order["call"], order["until"]
    work_off(jobs, folder, device, lambda event: _tell(events, event), call, until, order["processes"])


def _tell(events: IO[str], event: Event) -> None:
    values = {"kind": event.kind, "key": event.job.key, "entry": event.entry, "error": event.error}
    events.write(json.dumps(values) + "\n")
    events.flush()


def _end_with_parent() -> None:
    while os.read(0, 4096):  # not through sys.stdin, whose lock would be in the way when this process ends by itself
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
