"""Kill training runs at random instants, saving of the model included, and compare what comes out with a run in peace.

    python benchmarks/kills.py --kills 200
    python benchmarks/kills.py PREPARED --kernels triton-ordered --samplers sahc --kills 3 --epochs 200 --every 0.3

A run is a process of its own, killed with SIGKILL after a random share of the time that it takes in peace, and begun again
by the same call, until it ends by itself. Prints a line a sampler and path, and ends with 1 if any model differs.
"""

import argparse
import hashlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sahcns
from sahcns.model import Recommender, fit
from sahcns.samplers import Sampler
from sahcns.settings import named


def digest(folder: Path) -> str:
    """Of the weights and vectors of a model folder, every file of which is checked as it is read."""
    model, made = Recommender.load(folder), hashlib.sha256()
    for table in (*(model.weights[name] for name in sorted(model.weights)), model.user_vectors, model.item_vectors):
        made.update(table.numpy().tobytes())
    return made.hexdigest()[:16]


def attempt(case: list[str], out: Path, kept: Path | None, seconds: float | None) -> float | None:
    """One run in a process of its own, killed so many seconds after it began to train; how long it took if it ended."""
    command = [sys.executable, __file__, *case, "--out", str(out), *(["--kept", str(kept)] if kept else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()  # says that everything is imported
        began = time.monotonic()
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            return None
    if status:
        raise SystemExit(f"a run ended with {status}")
    return time.monotonic() - began


def train(chosen: argparse.Namespace) -> None:
    split = sahcns.load_split(chosen.prepared) if chosen.prepared else sahcns.prepare_named("ml-latest-small")
    print("ready", flush=True)
    run = fit(
        split,
        sahcns.LightGCN(dim=64 if chosen.prepared else 16),
        named(Sampler)[chosen.samplers[0]](),
        protocol=sahcns.Protocol(epochs=chosen.epochs, evaluate_every=2),
        kernels=chosen.kernels[0],
        checkpoint=chosen.kept,
        checkpoint_every=chosen.every,
    )
    run.recommender.save(chosen.out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path, nargs="?", help="a prepared set; the embedded one by default")
    parser.add_argument("--samplers", nargs="+", default=sorted(named(Sampler)))
    parser.add_argument("--kernels", nargs="+", default=["auto", "reference"])
    parser.add_argument("--kills", type=int, default=200, help="of all runs together")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--every", type=float, default=0.02, help="seconds between two checkpoints")
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)  # of a run that is to be killed
    parser.add_argument("--kept", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.out is not None:
        return train(chosen)
    chance, differing, kills = random.Random(0), 0, 0
    cases = [(sampler, kernels) for sampler in chosen.samplers for kernels in chosen.kernels]
    with tempfile.TemporaryDirectory() as folder:
        for at, (sampler, kernels) in enumerate(cases):
            place = Path(folder) / str(at)
            case = [*([str(chosen.prepared)] if chosen.prepared else []), "--samplers", sampler, "--kernels", kernels]
            case += ["--epochs", str(chosen.epochs), "--every", str(chosen.every)]
            takes = attempt(case, place / "peace", None, None) or 0.0
            wanted, killed, runs = (chosen.kills * (at + 1)) // len(cases) - kills, 0, 0
            while True:
                runs += 1
                seconds = chance.uniform(0, takes) if killed < wanted else None
                if attempt(case, place / "killed", place / "kept", seconds) is None:
                    killed += 1
                    continue
                differing += digest(place / "killed") != digest(place / "peace")
                if killed >= wanted:
                    break
                shutil.rmtree(place / "kept", ignore_errors=True)  # it ended before it was to die: once more
            kills += killed
            print(f"{sampler:18} {kernels:14} {killed:3} kills, {runs:3} runs of {takes:5.2f} s", flush=True)
            shutil.rmtree(place)
    print(f"{kills} kills, {differing} models that differ from a run in peace")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
