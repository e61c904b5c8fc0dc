"""How well somebody new is served from a few of their items, and which constants do it best on validation.

A model is trained on the embedded set. Then each user with validation items is taken for somebody new: some of their
training items, drawn at random, are fold_in in, and the list is held against the validation part. The constants with the
best mean over backbones and numbers of items are the ones to choose; those in the code are then held against the test part.

    python benchmarks/fold_in.py
"""

import argparse
import itertools
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
import torch

import sahcns
from sahcns.model.fold_in import ELSEWHERE, RIDGE, fold_in, gram

METRIC = "recall@20"
SIZES = (1, 3, 10, None)  # items of somebody new; None: all that they have in training
GRID = {"elsewhere": (0.01, 0.02, 0.05, 0.1, 0.2), "ridge": (0.03, 0.1, 0.3, 1.0)}
BACKBONES = (sahcns.LightGCN(), sahcns.MF())


def drawn(split: sahcns.Split, size: int | None) -> Mapping[int, torch.Tensor]:
    """Some training items of each user, the same ones every time."""
    rng, train = np.random.default_rng(0), split.train
    order = np.argsort(train.users, kind="stable")
    users, starts = np.unique(train.users[order], return_index=True)
    every = np.split(train.items[order], starts[1:])
    return {
        int(user): torch.from_numpy(rng.permutation(items)[:size].astype(np.int64))
        for user, items in zip(users, every, strict=True)
    }


def served(
    items: torch.Tensor, have: Mapping[int, torch.Tensor], truth: sahcns.Truth, elsewhere: float, ridge: float
) -> float:
    """The metric, in percent, with every user's vector fold_in in from what they have."""
    users, everything = torch.zeros(truth.n_users, items.shape[1]), gram(items)
    for user in truth.users.tolist():
        if user in have:
            users[user] = fold_in(items[have[user]], everything, elsewhere, ridge)
    return 100 * sahcns.evaluate(users, items, truth, ks=(20,), metrics=("recall",))[METRIC]


def popular(split: sahcns.Split, truth: sahcns.Truth) -> float:
    counts = torch.bincount(torch.from_numpy(np.asarray(split.train.items, np.int64)), minlength=split.n_items)
    one = torch.ones(split.n_users, 1)
    return 100 * sahcns.evaluate(one, counts[:, None].float(), truth, ks=(20,), metrics=("recall",))[METRIC]


def line(cells: Sequence[object]) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=40)
    asked = parser.parse_args()
    split = sahcns.prepare_named("ml-latest-small")
    protocol = sahcns.Protocol(epochs=asked.epochs, batch=1024, learning_rate=0.01)
    runs = [sahcns.fit(split, backbone, sahcns.DNS(), protocol=protocol, device="cpu") for backbone in BACKBONES]
    names = [type(backbone).__name__ for backbone in BACKBONES]
    tables = [run.recommender.item_vectors for run in runs]
    have = {size: drawn(split, size) for size in SIZES}
    shown = [f"{size or 'all'} item{'s' * (size != 1)}" for size in SIZES]

    valid = sahcns.Truth.of(split, "valid", "train")
    print(f"mean {METRIC} on validation over {', '.join(names)} and {', '.join(shown)}")
    line(["elsewhere", *(f"ridge {ridge:g}" for ridge in GRID["ridge"])])
    line(["---:"] * (1 + len(GRID["ridge"])))
    found = {}
    for point in itertools.product(*GRID.values()):
        found[point] = fmean(served(items, have[size], valid, *point) for items in tables for size in SIZES)
    for elsewhere in GRID["elsewhere"]:
        line([f"{elsewhere:g}", *(f"{found[elsewhere, ridge]:.2f}" for ridge in GRID["ridge"])])
    best = max(found, key=lambda point: found[point])
    print(f"best: elsewhere {best[0]:g}, ridge {best[1]:g}; in the code: {ELSEWHERE:g}, {RIDGE:g}\n")

    test = sahcns.Truth.of(split, "test", "train")
    print(f"{METRIC} on test with the constants of the code; popularity alone has {popular(split, test):.1f}")
    line(["backbone", *shown, "trained vector"])
    line(["---", *["---:"] * (1 + len(SIZES))])
    for name, run, items in zip(names, runs, tables, strict=True):
        own = 100 * run.test[METRIC]
        line([name, *(f"{served(items, have[size], test, ELSEWHERE, RIDGE):.1f}" for size in SIZES), f"{own:.1f}"])


if __name__ == "__main__":
    main()
