"""Rankings and metrics in plain Python loops, straight from their definitions; and random splits to try them on."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from hypothesis import strategies as st
from torch import Tensor

from sahcns.data.split import Split
from sahcns.ranking import HeldOut, Masked

Lists = list[list[int]]
MASKS: list[tuple[HeldOut, Masked, tuple[str, ...]]] = [
    ("valid", "train", ("train",)),
    ("test", "train", ("train",)),
    ("test", "train+valid", ("train", "valid")),
    ("test", "none", ()),
]
DRAWN: dict[str, st.SearchStrategy[Any]] = {  # what lists are held against loops on
    "seed": st.integers(0, 10**6),
    "n_users": st.integers(2, 9),
    "n_items": st.integers(1, 40),
    "k": st.integers(1, 45),
    "busy": st.sampled_from([0.1, 0.6, 0.99]),
}


def random_split(seed: int, n_users: int, n_items: int, *, busy: float = 0.5) -> Split:
    """Every cell is empty or in one part, so the parts are disjoint; the last user has a test item."""
    rng = np.random.default_rng(seed)
    cell = rng.choice(4, (n_users, n_items), p=[1 - busy, busy / 2, busy / 4, busy / 4])
    cell[-1, rng.integers(n_items)] = 3
    train, valid, test = (np.argwhere(cell == part) for part in (1, 2, 3))
    return Split.from_pairs(train, valid, test, n_users=n_users, n_items=n_items)


def whole_vectors(seed: int, n_users: int, n_items: int) -> tuple[Tensor, Tensor]:
    """Small whole numbers: inner products are exact in any order of summation, and full of ties."""
    draw = torch.Generator().manual_seed(seed)
    return tuple(torch.randint(-2, 3, (n, 3), generator=draw).float() for n in (n_users, n_items))  # type: ignore[return-value]


def lists_of(split: Split, part: str) -> dict[int, set[int]]:
    lists: dict[int, set[int]] = {user: set() for user in range(split.n_users)}
    pairs = split.parts()[part]
    for user, item in zip(pairs.users.tolist(), pairs.items.tolist(), strict=True):
        lists[user].add(item)
    return lists


def ranking(split: Split, part: str, masks: tuple[str, ...], users: Tensor, items: Tensor, k: int) -> Lists:
    """Best k unmasked items of every user with a held-out item; equal scores by lowest id; -1 where items run out."""
    held = lists_of(split, part)
    hidden = [lists_of(split, mask) for mask in masks]
    answer = []
    for user in range(split.n_users):
        if not held[user]:
            continue
        scores = {}
        for item in range(split.n_items):
            if not any(item in mask[user] for mask in hidden):
                scores[item] = sum(a * b for a, b in zip(users[user].tolist(), items[item].tolist(), strict=True))
        best = sorted(scores, key=lambda item: (-scores[item], item))[:k]
        answer.append(best + [-1] * (k - len(best)))
    return answer


def by_user(top: list[int], held: set[int], k: int) -> dict[str, float]:
    """The six metrics of one user."""
    hits = [place for place, item in enumerate(top[:k], start=1) if item in held]
    best = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(held)) + 1))
    return {
        "recall": len(hits) / len(held),
        "ndcg": sum(1 / math.log2(place + 1) for place in hits) / best,
        "precision": len(hits) / k,
        "hit": float(len(hits) > 0),
        "mrr": 1 / hits[0] if hits else 0.0,
        "map": sum((n + 1) / place for n, place in enumerate(hits)) / len(held),
    }


def over_lists(top: Lists, popularity: npt.NDArray[np.int64], k: int) -> dict[str, float]:
    """The four metrics of all lists together; Gini as the mean absolute difference over twice the mean."""
    shown = [sum(item in row[:k] for row in top) for item in range(len(popularity))]
    recommended = [item for row in top for item in row[:k] if item >= 0]
    mean = float(np.mean([popularity[item] for item in recommended])) if recommended else 0.0
    pairs = [count for count in popularity for _ in range(count)]
    gap = np.mean([[abs(a - b) for a in shown] for b in shown])
    return {
        "coverage": sum(count > 0 for count in shown) / len(shown),
        "popularity": mean,
        "bias": mean / float(np.mean(pairs)),
        "gini": float(gap / (2 * np.mean(shown))) if recommended else 0.0,
    }
