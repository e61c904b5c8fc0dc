"""SHA-256 of the final weights of every built-in sampler on every backbone, on a CPU: says that a change moved no bit.

python benchmarks/bits.py > before.json
python benchmarks/bits.py --against before.json [--only "lightgcn sahc"]
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import sahcns
from sahcns import DENS, NGCF, RNS, SAHC, Backbone, LightGCN, Protocol, Sampler, SimGCL
from sahcns.settings import named

SHORT: dict[str, Any] = {"epochs": 2, "batch": 2048, "evaluate_every": 1}
OTHERS: dict[str, dict[str, Any]] = {
    "real": {"l2_on": "real"},
    "no-l2": {"l2": 0.0},
    "rest": {"drop_last": False, "batch": 700},
}
Case = tuple[str, Backbone, Sampler, Protocol, str]


def cases() -> Iterator[Case]:
    short = Protocol(**SHORT)
    for b, backbone in named(Backbone).items():
        for s, sampler in named(Sampler).items():
            for kernels in ("auto", "reference"):
                yield f"{b} {s} {kernels}", backbone(dim=32), sampler(), short, kernels
    for other in (
        SimGCL(dim=32, include_layer0=True),
        NGCF(dim=32, pool="mean"),
        NGCF(dim=32, pool="sum"),
        NGCF(dim=32, variant="original", dropout=0.1),
        LightGCN(dim=16, depth=0),
    ):
        yield f"{other} sahc", other, SAHC(), short, "auto"
    for name, change in OTHERS.items():
        for sampler_ in (SAHC(), RNS(pool=4), DENS()):
            for backbone_ in (LightGCN(dim=32), SimGCL(dim=32)):
                protocol = Protocol(**{**SHORT, **change})
                yield f"{name} {sampler_} {backbone_}", backbone_, sampler_, protocol, "auto"


def digest(run: sahcns.Run) -> str:
    model, made = run.recommender, hashlib.sha256()
    for name, table in sorted(model.weights.items()):
        made.update(name.encode() + table.numpy().tobytes())
    for table in (model.user_vectors, model.item_vectors):
        made.update(table.numpy().tobytes())
    return made.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    given = parser.parse_args()
    torch.set_num_threads(1)
    before = json.loads(given.against.read_text("utf-8")) if given.against else {}
    split, found = sahcns.prepare_named("ml-latest-small", recipe=sahcns.Recipe(core=40)), {}  # 358 users, 509 items
    for name, backbone, sampler, protocol, kernels in cases():
        if given.only in name:
            run = sahcns.fit(split, backbone, sampler, protocol=protocol, seed=7, device="cpu", kernels=kernels)
            found[name] = digest(run)
    if not before:
        print(json.dumps(found, indent=1))
        return
    moved = [name for name, value in found.items() if before.get(name) != value]
    print("\n".join([*(f"moved: {name}" for name in moved), f"{len(found)} runs, {len(moved)} moved"]))
    sys.exit(bool(moved))


if __name__ == "__main__":
    main()
