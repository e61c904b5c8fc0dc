"""Kill training runs at random instants, saving of the model included, and compare what comes out with a run in peace.

    python benchmarks/kills.py --kills 200
    python benchmarks/kills.py PREPARED --kernels triton-ordered --samplers sahc --kills 3 --epochs 200 --every 0.3

A run is forked (for a GPU, whose driver bears no fork, started), killed with SIGKILL after a random share of the time that it
takes in peace, and begun again by the same call, until it ends by itself. Prints one line a sampler and path, and ends with 1
if any model differs.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import sahcns
from sahcns.model import Recommender, fit
from sahcns.samplers import Sampler
from sahcns.settings import named
from sahcns.training import checkpoint


def digest(folder: Path) -> str:
    """Of the weights and vectors of a model folder, every file of which is checked as it is read."""
    model, made = Recommender.load(folder), hashlib.sha256()
    for table in (*(model.weights[name] for name in sorted(model.weights)), model.user_vectors, model.item_vectors):
        made.update(table.numpy().tobytes())
    return made.hexdigest()[:16]


def forked(work: Callable[[], None], seconds: float | None) -> bool:
    """Run `work` in a process of its own, killed after so many seconds; whether it ended by itself."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    ends = time.monotonic() + seconds if seconds is not None else None
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if status:
                raise SystemExit(f"a run ended with {status}")
            return True
        if ends is not None and time.monotonic() >= ends:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.0005)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path, nargs="?", help="a prepared set; the embedded one's core by default")
    parser.add_argument("--samplers", nargs="+", default=sorted(named(Sampler)))
    parser.add_argument("--kernels", nargs="+", default=["auto", "reference"])
    parser.add_argument("--kills", type=int, default=200, help="of all runs together")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--every", type=float, default=0.02, help="seconds between two checkpoints")
    parser.add_argument(
        "--one", nargs="+", help=argparse.SUPPRESS
    )  # of a process that was started: what, and two folders
    chosen = parser.parse_args()
    dense = sahcns.Recipe(core=40)  # 358 users, 509 items: a run takes well below a second
    given = chosen.prepared
    split = sahcns.load_split(given) if given else sahcns.prepare_named("ml-latest-small", recipe=dense)
    protocol = sahcns.Protocol(epochs=chosen.epochs, evaluate_every=2)
    backbone = sahcns.LightGCN(dim=64 if given else 16)

    def train(name: str, kernels: str, out: Path, kept: Path | None) -> None:
        if kernels.startswith("triton") and not chosen.one:
            told = [name, kernels, str(out), *([str(kept)] if kept else [])]
            os.execv(sys.executable, [sys.executable, *sys.argv, "--one", *told])
        checkpoint.SHARE = 0  # a short run is to be killed while it is kept, too
        how: dict[str, Any] = {"kernels": kernels, "checkpoint": kept, "checkpoint_every": chosen.every}
        run = fit(split, backbone, named(Sampler)[name](), protocol=protocol, **how)
        run.recommender.save(out)

    if chosen.one:
        name, kernels, *folders = chosen.one
        return train(name, kernels, Path(folders[0]), Path(folders[1]) if folders[1:] else None)
    chance, differing, kills = random.Random(0), 0, 0
    cases = [(sampler, kernels) for sampler in chosen.samplers for kernels in chosen.kernels]
    with tempfile.TemporaryDirectory() as folder:
        for at, (name, kernels) in enumerate(cases):
            place = Path(folder) / name / kernels
            again = partial(train, name, kernels)
            began = time.monotonic()
            forked(partial(again, place / "peace", None), None)
            takes = time.monotonic() - began
            wanted, killed, attempts = (chosen.kills * (at + 1)) // len(cases) - kills, 0, 0
            while True:
                attempts += 1
                seconds = chance.uniform(0.1, 1.0) * takes if killed < wanted else None
                if not forked(partial(again, place / "killed", place / "kept"), seconds):
                    killed += 1
                elif killed >= wanted:
                    break
                else:  # it ended before it was to die: once more from the beginning
                    differing += digest(place / "killed") != digest(place / "peace")
                    shutil.rmtree(place / "kept", ignore_errors=True)
            kills += killed
            same = digest(place / "killed") == digest(place / "peace")
            differing += not same
            verdict = "same" if same else "DIFFERS"
            print(
                f"{name:18} {kernels:14} {killed:3} kills, {attempts:3} runs of {takes:5.2f} s: {verdict}", flush=True
            )
            shutil.rmtree(place)
    print(f"{kills} kills, {differing} models that differ from a run in peace")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
