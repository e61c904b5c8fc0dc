"""Milliseconds of a training epoch for backbones, samplers and kernel paths, as in docs/performance.md.

    python benchmarks/epochs.py --runs sets PREPARED [PREPARED …]
    python benchmarks/epochs.py --runs samplers,backbones PREPARED
    python benchmarks/epochs.py --runs objectives PREPARED

Medians after the first epoch, which holds compilation and capture. The last column is of the time of a step of BPR with one
negative a pair on the same backbone, if the same run had one before.
"""

import argparse
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from sahcns.backbones import NGCF, Backbone, LightGCN, SimGCL
from sahcns.cli.process import tune_malloc
from sahcns.data import load_split
from sahcns.lab.bench import timed_epochs
from sahcns.objectives import BPR, BSL, Objective, SampledSoftmax
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
    InBatch,
    MixGCF,
    SAHCFixed,
    SAHCGlobal,
    Sampler,
    SAOnly,
    WithoutMean,
)
from sahcns.training import Protocol
from sahcns.training.device import pick_device


class Run(NamedTuple):
    backbone: Backbone
    sampler: Sampler
    path: str = "auto"
    objective: Objective = BPR()


@dataclass(frozen=True)
class Unfused(BSL):
    """Of which no kernel knows: plain torch, with its tables [B, B]."""


LIGHT = LightGCN()
RUNS: dict[str, list[Run]] = {
    "sets": [Run(LIGHT, SAHC()), Run(LIGHT, SAHC(), "triton-half")],
    "cpu": [Run(LIGHT, RNS()), Run(LIGHT, SAHC())],
    "reference": [Run(LIGHT, SAHC(), "reference")],
    "ordered": [Run(LIGHT, SAHC()), Run(LIGHT, SAHC(), "triton-ordered")],
    "samplers": [
        Run(LIGHT, sampler)
        for sampler in (
            *(RNS(), DNS(), DNSMN(pool=10), MixGCF(), AHNS(), SAHC(), SAHC(pool=100), DNSMN()),
            *(DENS(), BNS(), DivNS(selector="greedy_map"), DivNS()),
        )
    ],
    "variants": [
        Run(LIGHT, sampler) for sampler in (SAHC(), SAOnly(), HCOnly(), WithoutMean(), SAHCFixed(), SAHCGlobal())
    ],
    "backbones": [Run(backbone, SAHC()) for backbone in (LIGHT, NGCF(), SimGCL())],
    "objectives": [
        Run(backbone, sampler, "auto", objective)
        for backbone in (LIGHT, LightGCN(depth=1))
        for sampler, objective in (
            *((RNS(pool=1), BPR()), (InBatch(), SampledSoftmax()), (InBatch(), BSL()), (InBatch(correct=True), BSL())),
            *((InBatch(mask="seen"), BSL()), (InBatch(pool=1), BSL()), (InBatch(), Unfused())),
        )
    ],
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
        of_bpr: dict[Backbone, float] = {}
        for backbone, sampler, path, objective in (run for name in chosen.runs.split(",") for run in RUNS[name]):
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            epochs = 2 if path == "reference" else chosen.epochs
            runner, times = timed_epochs(split, backbone, sampler, Protocol(), device, path, epochs, objective)
            median = statistics.median(times[1:])
            if isinstance(objective, BPR) and sampler.pool == 1:
                of_bpr.setdefault(backbone, median)
            ratio = f"{median / of_bpr[backbone]:5.2f} × BPR" if backbone in of_bpr else ""
            memory = torch.cuda.max_memory_allocated() / 2**20 if device.type == "cuda" else 0
            print(
                f"{folder.name:6} {backbone.name:8} {sampler.name:7} N={sampler.pool:<4} {runner.step.graph.path:14} "
                f"{runner.mode[:40]:9} {runner.steps:5} steps  first {1e3 * times[0]:9.1f}  "
                f"median {1e3 * median:9.2f} ms, {1e6 * median / runner.steps:8.1f} µs a step  {memory:6.0f} MiB  "
                f"{type(objective).__name__:14} {sampler}  {ratio}",
                flush=True,
            )


if __name__ == "__main__":
    main()
