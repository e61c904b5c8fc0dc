"""Milliseconds of a training epoch for backbones, samplers and kernel paths, as in docs/performance.md.

    python benchmarks/epochs.py --runs sets PREPARED [PREPARED …]
    python benchmarks/epochs.py --runs samplers,backbones PREPARED

Medians after the first epoch, which holds compilation and capture.
"""

import argparse
import statistics
from pathlib import Path

import torch

from sahcns.backbones import NGCF, Backbone, LightGCN, SimGCL
from sahcns.cli.process import tune_malloc
from sahcns.data import load_split
from sahcns.lab.bench import timed_epochs
from sahcns.samplers import (
    AHNS,
    BNS,
    DENS,
    DNS,
    DNSMN,
    RNS,
    SAHC,
    DivNS,
    HCOnly,
    MixGCF,
    SAHCFixed,
    SAHCGlobal,
    Sampler,
    SAOnly,
    WithoutMean,
)
from sahcns.training import Protocol
from sahcns.training.device import pick_device

LIGHT = LightGCN()
RUNS: dict[str, list[tuple[Backbone, Sampler, str]]] = {
    "sets": [(LIGHT, SAHC(), "auto"), (LIGHT, SAHC(), "triton-half")],
    "cpu": [(LIGHT, RNS(), "auto"), (LIGHT, SAHC(), "auto")],
    "reference": [(LIGHT, SAHC(), "reference")],
    "ordered": [(LIGHT, SAHC(), "auto"), (LIGHT, SAHC(), "triton-ordered")],
    "samplers": [
        (LIGHT, sampler, "auto")
        for sampler in (
            *(RNS(), DNS(), DNSMN(pool=10), MixGCF(), AHNS(), SAHC(), SAHC(pool=100), DNSMN()),
            *(DENS(), BNS(), DivNS(selector="greedy_map"), DivNS()),
        )
    ],
    "variants": [
        (LIGHT, sampler, "auto") for sampler in (SAHC(), SAOnly(), HCOnly(), WithoutMean(), SAHCFixed(), SAHCGlobal())
    ],
    "backbones": [(backbone, SAHC(), "auto") for backbone in (LIGHT, NGCF(), SimGCL())],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path, nargs="+")
    parser.add_argument("--runs", default="sets", help=f"some of {', '.join(RUNS)}, separated by commas")
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--keep-memory", action="store_true", help="as the command line does; only matters on a CPU")
    chosen = parser.parse_args()
    if chosen.keep_memory:
        print("memory is kept" if tune_malloc() else "memory cannot be kept")
    device = pick_device("auto")
    for folder in chosen.prepared:
        split = load_split(folder)
        for backbone, sampler, path in (run for name in chosen.runs.split(",") for run in RUNS[name]):
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            epochs = 2 if path == "reference" else chosen.epochs
            runner, times = timed_epochs(split, backbone, sampler, Protocol(), device, path, epochs)
            memory = torch.cuda.max_memory_allocated() / 2**20 if device.type == "cuda" else 0
            print(
                f"{folder.name:6} {backbone.name:8} {sampler.name:7} N={sampler.pool:<4} {runner.step.graph.path:14} "
                f"{runner.mode[:40]:9} {runner.steps:5} steps  first {1e3 * times[0]:9.1f}  "
                f"median {1e3 * statistics.median(times[1:]):9.2f} ms  {memory:6.0f} MiB  {sampler}",
                flush=True,
            )


if __name__ == "__main__":
    main()
