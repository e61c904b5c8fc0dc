"""Table III's "SAHC w/o Mean" read in two ways, and what each of them chooses.

The paper says that it "relies only on cross-layer structural discrepancy". By its Eq. 7 that is the spread of an item's
scores over the layers divided by their mean magnitude; here it stands beside the spread itself, not divided.

    python benchmarks/without_mean.py prepared/toys --lambda-max 0.1

For each reading: the test part at the best validation epoch, and how hard its choices are in the model that it trained,
beside random ones and the hardest of the pool.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from torch import Tensor

from sahcns.backbones import LightGCN
from sahcns.data import load_split
from sahcns.lab import diagnose
from sahcns.model import fit
from sahcns.samplers import DNS, RNS, Matching
from sahcns.samplers.sahc import Calibration, LayerGap, Selection, SelectThenCalibrate, WithoutMean
from sahcns.training import Protocol


def spread(match: Matching) -> Tensor:
    """argmax_n std_l a: the discrepancy without Eq. 7's division."""
    return match.a.std(-1, correction=0).argmax(1)


@dataclass(frozen=True)
class Undivided(SelectThenCalibrate):
    """SAHC w/o Mean whose discrepancy is not relative."""

    name: ClassVar[str] = "sahc-no-mean-undivided"
    lambda_max: float = 0.5

    def parts(self) -> tuple[Selection, Calibration]:
        return spread, LayerGap(self.lambda_max)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--lambda-max", type=float, default=0.5)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=2020)
    asked = parser.parse_args()
    split = load_split(asked.prepared)
    for sampler in (WithoutMean(lambda_max=asked.lambda_max), Undivided(lambda_max=asked.lambda_max)):
        run = fit(split, LightGCN(), sampler, protocol=Protocol(epochs=asked.epochs), seed=asked.seed)
        best = run.record.test["best"]
        print(
            f"{sampler.name}: epoch {run.record.best_epoch}, test recall@20 {100 * best['recall@20']:.2f}", flush=True
        )
        for looked in (sampler, RNS(), DNS()):
            hardness = diagnose(run, split, looked).hardness
            print(
                f"    {looked.name:24} mean score {hardness.score.mean:7.3f}  push {hardness.push.mean:.4f}", flush=True
            )


if __name__ == "__main__":
    main()
