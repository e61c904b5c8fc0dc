"""Scores, target and choice of AHNS while it trains: the table of docs/ahns.md.

python benchmarks/ahns_trace.py PREPARED
"""

import sys

import torch

from sahcns.backbones import LightGCN
from sahcns.data import load_split
from sahcns.kernels import build_graph
from sahcns.objectives import BPR
from sahcns.ranking import Truth, evaluate
from sahcns.samplers import AHNS, Matching
from sahcns.training import Protocol
from sahcns.training.device import pick_device
from sahcns.training.epochs import Epochs
from sahcns.training.profiler import Profiler
from sahcns.training.step import Streams, TrainingStep

LOOKS = (0, 1, 2, 3, 5, 10, 20, 40, 60)


def main() -> None:
    device, backbone, sampler = pick_device("auto"), LightGCN(), AHNS()
    split = load_split(sys.argv[1])
    graph, streams = build_graph(split, device), Streams.of(2020, device)
    parameters = {name: value.requires_grad_() for name, value in backbone.initial(graph, streams.start).items()}
    step = TrainingStep(
        graph, backbone, sampler, BPR(), Protocol(), parameters, streams, Profiler(device, enabled=False)
    )
    epochs, truth = Epochs(step, capture=True), Truth.of(split, "valid", "train", device)
    print("epoch     y+  target hardest  chosen  hardest chosen  hardest > y+  valid R@20")
    for epoch in range(max(LOOKS) + 1):
        epochs.run(epoch)
        if epoch not in LOOKS:
            continue
        with torch.no_grad():
            pairs, users, positives = epochs.batches[:, 0]
            candidates = graph.draw(users, sampler.pool, streams.pools)
            streams.pools.call = 0
            layers = backbone.layers(parameters, graph)
            match = Matching(users, positives, candidates, pairs, layers, graph, backbone.aggregation, step.epoch)
            scores, y = match.scores, match.positive_score
            target = sampler.beta * (y + sampler.alpha) ** (sampler.p + 1)
            chosen = (scores - target[:, None]).abs().argmin(1)
            own = scores.gather(1, chosen[:, None])
            hardest = scores.amax(1)
            found = evaluate(*backbone.vectors(parameters, graph), truth)["recall@20"]
        print(
            f"{epoch:5} {y.mean():6.3f} {target.mean():7.3f} {hardest.mean():7.3f} {own.mean():7.3f} "
            f"{100 * (chosen == scores.argmax(1)).float().mean():14.0f}% {100 * (hardest > y).float().mean():12.0f}% "
            f"{100 * found:11.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
