"""Epochs a second of one model on several processes: LightGCN + SAHC-NS by `sahcns train --nproc`.

Each process has as many threads as is said, or its own GPU. The median is over the epochs after the first; efficiency is the
rate divided by the processes, with that of the first number for 1.

    python benchmarks/ranks.py prepared/ml1m --processes 1 2 --epochs 6
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def train(asked: argparse.Namespace, processes: int) -> Any:
    """The record of a run that looks at validation at its first and last epoch alone."""
    with tempfile.TemporaryDirectory() as folder:
        out, rules = (
            Path(folder) / "run",
            {"epochs": asked.epochs, "evaluate-every": asked.epochs, "batch": asked.batch},
        )
        command = [
            sys.executable,
            "-m",
            "sahcns",
            "train",
            str(asked.prepared),
            "--nproc",
            str(processes),
            "--out",
            str(out),
        ]
        command += ["--device", asked.device, "--set", f"backbone.dim={asked.dim}", "--sampler", asked.sampler]
        command += [word for name, value in rules.items() for word in (f"--{name}", str(value))]
        threads = {"OMP_NUM_THREADS": str(asked.threads)}
        subprocess.run(command, env={**os.environ, **threads}, stdout=subprocess.DEVNULL, check=True)
        return json.loads((out / "run.json").read_text("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path, help="a folder made by `sahcns data prepare`")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--sampler", default="sahc")
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    print("| processes | epochs a second | efficiency | recall@20, last epoch, % |\n|---:|---:|---:|---:|")
    fewest = 0.0  # epochs a second of each of the processes, where they are fewest
    for processes in asked.processes:
        record = train(asked, processes)
        rate = 1.0 / statistics.median(entry["seconds"] for entry in record["history"][1:])
        fewest = fewest or rate / processes
        efficiency = rate / processes / fewest
        found = 100 * record["valid"]["last"]["recall@20"]
        print(f"| {processes} | {rate:.3f} | {efficiency:.2f} | {found:.2f} |", flush=True)


if __name__ == "__main__":
    main()
