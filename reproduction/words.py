"""Metrics, numbers, differences and lists in words."""

import math
from collections.abc import Sequence

from sahcns.lab import Paired

METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
RECALL, NDCG = AT_20 = METRICS[2:]
NAMES = {"recall@10": "Recall@10", "ndcg@10": "NDCG@10", RECALL: "Recall@20", NDCG: "NDCG@20"}
READINGS = {"best": "best epoch", "last": "where it stopped"}
"""A run is read at the best validation epoch, which is the headline, and at the epoch where training stopped."""


def points(paired: Paired) -> str:
    """`+0.12`: the difference in percentage points."""
    return number(100 * paired.difference, sign=True)


def number(value: float, digits: int = 2, sign: bool = False) -> str:
    """`13.26`, with sign `+13.26`, zero always without; a dash for what is not a number."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text if float(text) else text.lstrip("+-")  # no -0.00


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def chance(p: float) -> str:
    """A p-value with two digits that count: `0.031`, `2.1e-09`."""
    return "–" if p != p else f"{p:.2g}"


def seeds(n: int) -> str:
    return f"{n} seed{'s' * (n != 1)}"
