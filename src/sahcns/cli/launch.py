"""`--nproc`: the same command in several processes that train one model; when one is lost, all go on from what is kept."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

from sahcns.cli.console import tell
from sahcns.errors import TrainingError
from sahcns.training.ranks import PARENT

AGAIN = 3  # times that they are started anew
GRACE = 10.0  # seconds for the others, when one has ended
Processes = list["subprocess.Popen[bytes]"]


def launch(arguments: Sequence[str], count: int) -> int:
    """Run `sahcns ARGUMENTS` in `count` processes; its exit code. Ctrl-C and SIGTERM go to the first; again, all end."""
    started: Processes = []
    told: list[int] = []

    def hand_on(number: int, frame: FrameType | None) -> None:
        told.append(number)
        if len(told) == 1:
            started[0].send_signal(number)
        else:
            _kill(started)

    former = {number: signal.signal(number, hand_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for time_left in reversed(range(AGAIN + 1)):
            started[:] = _start(arguments, count)
            codes = _wait(started)
            lost = [rank for rank, code in enumerate(codes) if code is not None and code < 0]
            if told or not lost:
                return next((code if code > 0 else 130 for code in codes if code), 0)
            which = f"process {lost[0]} of {count} was ended by {signal.Signals(-(codes[lost[0]] or 0)).name}"
            if not time_left:
                raise TrainingError(f"{which}, as one was {AGAIN} times before; is there enough memory for {count}?")
            tell(f"{which}; all are started again, from what is kept")
            arguments = [one for one in arguments if one != "--fresh"]
    finally:
        _kill(started)
        for number, handler in former.items():
            signal.signal(number, handler)
    raise AssertionError  # the last time has returned or raised


def _start(arguments: Sequence[str], count: int) -> Processes:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // count)),
        **os.environ,
        PARENT: str(os.getpid()),
    }
    shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    command = [sys.executable, "-m", "sahcns", *arguments]
    return [
        subprocess.Popen(
            command,
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C at the terminal comes by way of this process alone
        )
        for rank in range(count)
    ]


def _wait(started: Processes) -> list[int | None]:
    """How each ended; None for those that had to be ended, because another one had failed."""
    while not any(one.poll() for one in started):
        if all(one.returncode == 0 for one in started):
            break
        time.sleep(0.1)
    until = time.monotonic() + GRACE
    while any(one.poll() is None for one in started) and time.monotonic() < until:
        time.sleep(0.1)
    codes = [one.returncode for one in started]
    _kill(started)
    return codes


def _kill(started: Processes) -> None:
    for one in started:
        if one.poll() is None:
            one.kill()
            one.wait()
