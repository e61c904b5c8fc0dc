"""What several processes on one device gain: whole runs of LightGCN + SAHC-NS, by one process and by several at once.

Each process makes a short run first, so that kernels are compiled, and waits for the others; then the clock starts. Times
are of whole runs, graph, capture and looks at validation included. On a GPU start NVIDIA's MPS before, or the processes
take turns.

    nvidia-cuda-mps-control -d
    python benchmarks/sharing.py prepared/toys --processes 1 2 4 8 --runs 2 --epochs 50
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

ENDLESS = 10**6  # patience: every run has the same number of epochs


def work(prepared: Path, runs: int, epochs: int) -> None:
    """One of the processes: says when it is ready, waits for a line, runs, says when it is done."""
    from sahcns.backbones import LightGCN
    from sahcns.data import load_split
    from sahcns.model import fit
    from sahcns.samplers import SAHC
    from sahcns.training import Protocol

    split = load_split(prepared)
    fit(split, LightGCN(), SAHC(), protocol=Protocol(epochs=6, patience=ENDLESS), seed=0)
    print("ready", flush=True)
    sys.stdin.readline()
    for seed in range(1, runs + 1):
        fit(split, LightGCN(), SAHC(), protocol=Protocol(epochs=epochs, patience=ENDLESS), seed=seed)
    print("done", flush=True)


def race(prepared: Path, processes: int, runs: int, epochs: int) -> float:
    """Seconds until the last is done."""
    order = [sys.executable, __file__, str(prepared), "--runs", str(runs), "--epochs", str(epochs), "--work"]
    started = [
        subprocess.Popen(order, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for one in started:
        _expect(one, "ready")
    began = time.perf_counter()
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in started:
        _expect(one, "done")
    seconds = time.perf_counter() - began
    for one in started:
        one.wait()
    return seconds


def _expect(one: "subprocess.Popen[str]", word: str) -> None:
    assert one.stdout is not None
    if one.stdout.readline().strip() != word:
        raise SystemExit("a process ended early; what it said stands above")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path, help="a folder made by `sahcns data prepare`")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--runs", type=int, default=2, help="of each process")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work(asked.prepared, asked.runs, asked.epochs)
        return
    print("| processes | runs | seconds | ms an epoch |\n|---:|---:|---:|---:|")
    for processes in asked.processes:
        seconds, runs = race(asked.prepared, processes, asked.runs, asked.epochs), processes * asked.runs
        print(f"| {processes} | {runs} | {seconds:.2f} | {1e3 * seconds / (runs * asked.epochs):.2f} |", flush=True)


if __name__ == "__main__":
    main()
