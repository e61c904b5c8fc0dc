"""A billion interactions on one GPU: whether they fit, what an epoch takes and where its time goes, and what is learnt.

    python benchmarks/billion.py --device cuda --pairs 1e9 --json billion.json       # both halves
    python benchmarks/billion.py make --device cuda --pairs 1e9 --data planted       # or one after the other
    python benchmarks/billion.py train --device cuda --data planted --json billion.json
    python benchmarks/billion.py --pairs 1e5 --dim 32 --epochs 3                     # the same code on a CPU

Planted structure: users and items belong to communities. A pair is drawn within the user's own with probability OWN, else
among all items; popularity falls as (rank + HEAD)^-FALL in either, and activity is log-normal, as in growth.py. Of a sample of
users every fifth pair is held out: recall@20 of these is compared with that of the most popular items.

LightGCN + SAHC-NS on the lean kernels, with the batch that grows with the data. A part's floor is the bytes that it must move,
by the rate at which this device copies; what it gathers counts as if no cache had it.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from growth import CHUNK, FALL, FIXED, FROM, HEAD, NODES_TO_PAIRS, SPREAD, Int32, cpu_model, host_peak
from torch import Tensor

from sahcns.backbones import LightGCN
from sahcns.data import IdMap, Pairs, Split
from sahcns.kernels import build_graph
from sahcns.lab.bench import copy_rate
from sahcns.objectives import BPR
from sahcns.ranking import Truth
from sahcns.ranking.evaluation import means, measure
from sahcns.ranking.retrieval import most_popular, rank
from sahcns.samplers import SAHC
from sahcns.training import Protocol, epochs
from sahcns.training.profiler import Profiler
from sahcns.training.step import PARTS, Streams, TrainingStep, initial_parameters

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")  # tables of 12.8 GB leave no useful gaps
OWN, COMMUNITIES = 0.8, 100  # fewer where they would have less than 50 items each
SAMPLE, HELD = 20_000, 0.2  # users who are judged, at most, and the share of their pairs that is held out
K = 20
Arrays = dict[str, Int32]


class Enough(Exception):
    """The time that an epoch may take is over."""


def popular(rng: torch.Generator, count: int, n_items: int) -> Tensor:
    """Ranks drawn by inverting the integral of (r + HEAD)^-FALL, as growth.py does."""
    power = 1.0 - FALL
    low, high = HEAD**power, (n_items + HEAD) ** power
    drawn = torch.rand(count, generator=rng, device=rng.device, dtype=torch.float64)
    ranks = torch.pow(drawn * (high - low) + low, 1 / power) - HEAD
    return ranks.long().clamp(max=n_items - 1)


def planted(pairs: int, device: torch.device, seed: int = 0) -> tuple[Arrays, int, int]:
    """Training and held-out pairs, sorted and none twice; the number of users and of items. Drawn on the device."""
    rng = torch.Generator(device).manual_seed(seed)
    n_items = max(pairs // (4 * NODES_TO_PAIRS), 100)
    communities = min(COMMUNITIES, n_items // 50)
    n_users = max(3 * pairs // (4 * NODES_TO_PAIRS), 40)
    raw = torch.empty(n_users, device=device).log_normal_(0.0, SPREAD, generator=rng)
    counts = (raw * (1.005 * pairs / raw.double().sum()).float()).round().long().clamp(1, max(n_items // 8, 1))
    name = torch.randperm(n_items, generator=rng, device=device)  # so that the number of an item says nothing
    home = torch.randint(
        COMMUNITIES, (n_users,), generator=rng, device=device
    )  # the item of rank r is at r mod COMMUNITIES
    each = max(1, n_users // SAMPLE)
    ends = torch.cumsum(counts, 0)
    marks = torch.tensor([*range(8 * CHUNK, int(ends[-1]), 8 * CHUNK)], dtype=torch.int64, device=device)
    cuts = torch.searchsorted(ends, marks).tolist()
    parts: dict[str, list[Int32]] = {"users": [], "items": [], "held_users": [], "held_items": []}
    for begin, end in zip([0, *cuts], [*cuts, n_users], strict=True):
        wanted = counts[begin:end]
        keys, missing = home.new_zeros(0), wanted
        for _ in range(4):  # what repeats took away is drawn again
            users = torch.repeat_interleave(torch.arange(begin, end, device=device), missing)
            inside = popular(rng, len(users), n_items // communities) * communities + home[users]
            own = torch.rand(len(users), generator=rng, device=device) < OWN
            ranks = torch.where(own, inside, popular(rng, len(users), n_items)).clamp(max=n_items - 1)
            keys = torch.unique_consecutive(torch.cat([keys, users * n_items + name[ranks]]).sort().values)
            missing = wanted - torch.bincount(keys // n_items - begin, minlength=len(wanted))
        users = keys // n_items
        first = (
            torch.cat([users.new_full((1,), -1), users[:-1]]) != users
        )  # stays, so that everybody has a training pair
        held = (users % each == 0) & ~first & (torch.rand(len(users), generator=rng, device=device) < HELD)
        for which, chosen in (("", ~held), ("held_", held)):
            for column, values in (("users", users), ("items", keys - users * n_items)):
                parts[which + column].append(values[chosen].int().cpu().numpy())
    return {column: np.concatenate(parts.pop(column)) for column in list(parts)}, n_users, n_items


def save(folder: Path, arrays: Arrays, n_users: int, n_items: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for column, values in arrays.items():
        np.save(folder / f"{column}.npy", values)
    (folder / "sizes.json").write_text(json.dumps([n_users, n_items]))


def load(folder: Path) -> tuple[Arrays, int, int]:
    columns = ("users", "items", "held_users", "held_items")
    return {column: np.load(folder / f"{column}.npy") for column in columns}, *json.loads(
        (folder / "sizes.json").read_text()
    )


def moved(graph: Any, batch: int, pool: int, dim: int, depth: int) -> dict[str, float]:
    """Bytes that each part of a step reads and writes at least."""
    row, table, layers = 4 * dim, 4 * dim * graph.n, depth + 1
    hop = 2 * graph.n_pairs * (row + 8) + table + 12 * graph.n  # of an edge a row, its column and its scale
    rows = 3 * batch * layers * row
    return {
        "draw": batch * pool * 16.0,
        "propagate": depth * hop,
        "match": batch * (pool + 2) * layers * row,
        "loss": 2 * rows,
        "backward": depth * hop + table + 4 * rows,  # the hops, a table of zeros, and rows read and added
        "step": 7 * table,
    }


def train(
    arrays: Arrays, n_users: int, n_items: int, asked: argparse.Namespace, device: torch.device
) -> dict[str, Any]:
    gpu = device.type == "cuda"

    def held() -> float:
        return torch.cuda.memory_allocated() if gpu else 0.0

    def clock() -> float:
        if gpu:
            torch.cuda.synchronize()
        return time.perf_counter()

    epochs.STORED = 0  # the order is computed at every size, as it is at 10⁹
    users, items = arrays["users"], arrays["items"]
    nothing = Pairs(users[:0], items[:0])
    ids = IdMap(np.arange(n_users)), IdMap(np.arange(n_items))
    split = Split(Pairs(users, items), nothing, Pairs(arrays["held_users"], arrays["held_items"]), *ids)
    rate = copy_rate(device)
    host_peak()
    before, began = host_peak(), clock()
    graph = build_graph(split, device, path="triton-lean" if gpu else "lean")
    found: dict[str, Any] = {"pairs": graph.n_pairs, "users": n_users, "items": n_items, "graph s": clock() - began}
    found["graph host bytes a pair"] = (host_peak() - before) * 2**20 / graph.n_pairs
    graph_bytes = held()
    backbone, sampler = LightGCN(dim=asked.dim, depth=3, normal_start=asked.start), SAHC(pool=10)
    batch = FIXED * max(1, round(asked.pairs / FROM))
    protocol = Protocol(batch=batch, learning_rate=asked.rate)
    streams, profiler = Streams.of(0, device), Profiler(device)
    parameters = initial_parameters(backbone, sampler, graph, streams)
    step = TrainingStep(graph, backbone, sampler, BPR(), protocol, parameters, streams, profiler)
    runner = epochs.Epochs(step, capture=True)
    if gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    taken, marks = [], [0.0]

    def between(epoch: int, at: int) -> None:
        marks.append(clock())
        if marks[-1] - marks[0] > asked.seconds:
            raise Enough

    runner.between = between
    for epoch in range(asked.epochs):
        marks[:] = [clock()]
        try:
            runner.run(epoch)
        except Enough:
            break
        finally:
            profiler.settle()
            taken.append({"steps": len(marks) - 1, "seconds": marks[-1] - marks[0]})
    steps = sum(one["steps"] for one in taken)
    losses = runner.losses[: taken[-1]["steps"]].tolist()
    table = 4 * asked.dim * graph.n
    found |= {
        "batch": batch, "steps of an epoch": runner.steps, "epochs": taken, "first and last loss": [losses[0], losses[-1]],
        "epoch s": float(np.median(np.diff(marks))) * runner.steps, "copy GB/s": rate / 1e9,
        "GB": {
            "graph, computed": (8 * graph.n_pairs + (20 if gpu else 16) * graph.n + 8 * n_users) / 1e9,
            "graph": graph_bytes / 1e9,
            "six tables, computed": 6 * table / 1e9,
            "peak": torch.cuda.max_memory_allocated() / 1e9 if gpu else host_peak() * 2**20 / 1e9,
        },
        "parts": {
            part: {"s": profiler.seconds[part] / steps, "GB": gone / 1e9, "floor s": gone / rate}
            for part, gone in moved(graph, batch, sampler.pool, asked.dim, backbone.depth).items()
        },
    }  # fmt: skip
    print(f"{found['epoch s']:.1f} s an epoch, {steps} steps run; now it is judged", flush=True)
    del step.optimiser
    began, truth = clock(), Truth.of(split, "test", "train", device)
    tops = {"model": rank(*step.vectors(parameters), truth, K), "most popular": most_popular(truth, K)}
    found["recall@20"] = {
        name: means(measure(top, truth, (K,), ("recall",)), (K,))[f"recall@{K}"] for name, top in tops.items()
    }
    found |= {"judged users": len(truth), "judging s": clock() - began}
    found["machine"] = torch.cuda.get_device_name() if gpu else cpu_model()
    return found


def report(found: dict[str, Any]) -> None:
    print(f"{found['pairs']:,} pairs, {found['users']:,} users, {found['items']:,} items on {found['machine']}")
    print(f"graph: {found['graph s']:.1f} s, {found['graph host bytes a pair']:.1f} host bytes a pair beyond the set")
    steps, size = found["steps of an epoch"], found["batch"]
    print(f"an epoch of {steps} steps of {size:,}: {found['epoch s']:.1f} s; run: {found['epochs']}")
    print("GB: " + ", ".join(f"{name} {value:.3f}" for name, value in found["GB"].items()))
    print(
        f"| part | ms a step | GB | ms at {found['copy GB/s']:.0f} GB/s | times the floor |\n|---|---:|---:|---:|---:|"
    )
    for part in PARTS:
        spent, gone, floor = found["parts"][part].values()
        print(f"| {part} | {1e3 * spent:.2f} | {gone:.3f} | {1e3 * floor:.2f} | {spent / floor:.2f} |")
    print(f"first and last loss of the last epoch: {found['first and last loss']}")
    print(f"recall@20 of {found['judged users']:,} users: {found['recall@20']}, in {found['judging s']:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("half", nargs="?", choices=["make", "train"], help="one half alone")
    parser.add_argument("--pairs", type=float, default=1e6)
    parser.add_argument("--data", type=Path, help="folder of what was made")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3, help="learning rate")
    parser.add_argument(
        "--start", type=float, default=0.1, help="deviation of the first vectors; Xavier's falls with the nodes"
    )
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600, help="an epoch that takes longer is cut, and reckoned")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    device = torch.device(asked.device)
    if asked.half and not asked.data:
        parser.error("one half alone needs --data")
    began = time.perf_counter()
    made = load(asked.data) if asked.half == "train" else planted(int(asked.pairs), device)
    print(f"{'loaded' if asked.half == 'train' else 'drawn'} in {time.perf_counter() - began:.1f} s", flush=True)
    if device.type == "cuda":
        torch.cuda.empty_cache()
    if asked.half == "make":
        save(asked.data, *made)
        return
    asked.pairs = len(made[0]["users"])
    found = train(*made, asked, device)
    report(found)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
