"""Runs with the paper's settings, one line each, as docs/ahns.md, docs/dens.md and docs/performance.md have them.

    python benchmarks/paper_settings.py PREPARED --runs sahc --seeds 2020,2021,2022

`--runs`: sahc, samplers (the baselines), ahns (why it does not train). `--kernels` takes several paths separated by
commas, to compare them.
"""

import argparse
import time
from pathlib import Path
from typing import Any

from sahcns.backbones import MF, Backbone, LightGCN
from sahcns.data import load_split
from sahcns.model import fit
from sahcns.samplers import AHNS, BNS, DENS, DNS, DNSMN, RNS, SAHC, DivNS, MixGCF, Sampler
from sahcns.training import Protocol

AS_PRINTED: list[Sampler] = [DNS(), DNSMN(), MixGCF(), BNS(), DivNS(), AHNS(), DENS()]
RUNS: dict[str, list[tuple[Backbone, Sampler]]] = {
    "sahc": [(LightGCN(), SAHC())],
    "samplers": [(LightGCN(), one) for one in (*AS_PRINTED, DENS(schedule="warmup"), DENS(alpha=0.0, gamma=0.05))],
    "ahns": [
        *((LightGCN(), AHNS(beta=beta)) for beta in (0.1, 0.5, 1.0, 2.0, 5.0, 20.0)),
        (LightGCN(), AHNS(pool=32)),
        (LightGCN(), AHNS(alpha=0.1, beta=0.4)),
        (LightGCN(), AHNS(p=-1, beta=1.0)),
        (LightGCN(), AHNS(p=-1, beta=4.0)),
        *((MF(), sampler) for sampler in (AHNS(), AHNS(pool=32), RNS(), DNS())),
    ],
}
SHOWN = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")


def line(record: dict[str, Any], seconds: float) -> str:
    def figures(reading: str) -> str:
        return " ".join(f"{100 * record['test'][reading][metric]:6.2f}" for metric in SHOWN)

    sampler = " ".join(f"{key}={value}" for key, value in record["sampler"].items() if key != "name")
    return (
        f"{record['backbone']['name']:8} {record['sampler']['name']:7} seed {record['seed']} "
        f"{record['machine']['kernels']:14} best {record['best_epoch']:4} [{figures('best')}] "
        f"last {record['epochs_run'] - 1:4} [{figures('last')}] {seconds:7.2f} s  {sampler}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--runs", default="sahc", help=f"some of {', '.join(RUNS)}, separated by commas")
    parser.add_argument("--seeds", default="2020")
    parser.add_argument("--kernels", default="auto")
    parser.add_argument("--epochs", type=int, default=1000)
    chosen = parser.parse_args()
    split = load_split(chosen.prepared)
    print(f"{'':50} test part, percent: {', '.join(SHOWN)}")
    for name in chosen.runs.split(","):
        for backbone, sampler in RUNS[name]:
            for path in chosen.kernels.split(","):
                for seed in chosen.seeds.split(","):
                    began = time.perf_counter()
                    protocol = Protocol(epochs=chosen.epochs)
                    run = fit(split, backbone, sampler, protocol=protocol, seed=int(seed), kernels=path)
                    record = run.record.to_dict()
                    print(line(record, time.perf_counter() - began), flush=True)


if __name__ == "__main__":
    main()
