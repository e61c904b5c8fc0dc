"""Metrics, numbers, differences and lists in words."""

from sahcns.lab import Paired, number

METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
RECALL, NDCG = AT_20 = METRICS[2:]
NAMES = {"recall@10": "Recall@10", "ndcg@10": "NDCG@10", RECALL: "Recall@20", NDCG: "NDCG@20"}
READINGS = {"best": "best epoch", "last": "where it stopped"}
"""A run is read at the best validation epoch, which is the headline, and at the epoch where training stopped."""


def points(paired: Paired) -> str:
    """`+0.12`: the difference in percentage points."""
    return number(100 * paired.difference, sign=True)


def seeds(n: int) -> str:
    return f"{n} seed{'s' * (n != 1)}"
