"""The common notation of the samplers in plain Python floats and loops, one training pair at a time.

Nothing here uses the library's mathematics: tensors come in only to be turned into lists. What each sampler does with
these numbers is written out in its own test file.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from sahcns.samplers import Matching, Mixture

Vector = list[float]
Negative = list[dict[int, float]]  # at each layer, the share of each item


def dot(x: Vector, y: Vector) -> float:
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def mean(x: Vector) -> float:
    return math.fsum(x) / len(x)


def cosine(x: Vector, y: Vector) -> float:
    return dot(x, y) / math.sqrt(dot(x, x) * dot(y, y))


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def softplus(x: float) -> float:
    return math.log1p(math.exp(x)) if x < 30 else x


def first_largest(values: Vector) -> int:
    best = 0
    for n, value in enumerate(values):
        if value > values[best]:
            best = n
    return best


def aggregate(kind: str, layers: list[Vector]) -> Vector:
    """Agg: [T][d] → [D]."""
    if kind == "concat":
        return [x for layer in layers for x in layer]
    total = [math.fsum(column) for column in zip(*layers, strict=True)]
    return [x / len(layers) for x in total] if kind == "mean" else total


@dataclass(frozen=True)
class Pair:
    """A user, a positive and a pool; `users` and `items` hold every node's layers, [n][T][d]."""

    kind: str
    user: int
    positive: int
    pool: list[int]
    users: list[list[Vector]]
    items: list[list[Vector]]

    @property
    def layers(self) -> range:
        return range(len(self.users[self.user]))

    @cached_property
    def final_user(self) -> Vector:
        return aggregate(self.kind, self.users[self.user])

    def final_item(self, item: int) -> Vector:
        return aggregate(self.kind, self.items[item])

    def score(self, item: int) -> float:
        """s = <ē_u, Agg(V[item])>."""
        return dot(self.final_user, self.final_item(item))

    def anchor(self, layer: int) -> Vector:
        """ē_u itself for mean and sum; its block `layer` for concat."""
        if self.kind != "concat":
            return self.final_user
        width = len(self.users[self.user][layer])
        return self.final_user[layer * width : (layer + 1) * width]

    def at(self, item: int, layer: int) -> float:
        """a (or p, for the positive): <anchor_l(ē_u), V[item, l]>."""
        return dot(self.anchor(layer), self.items[item][layer])

    def hardest(self) -> int:
        """DNS's item."""
        return self.pool[first_largest([self.score(j) for j in self.pool])]

    def hardest_at(self, layer: int) -> int:
        """The item of the largest layer-wise score."""
        return self.pool[first_largest([self.at(j, layer) for j in self.pool])]

    def by_score(self) -> list[int]:
        """The pool, hardest first; repeats of an item stay side by side."""
        return sorted(self.pool, key=lambda j: -self.score(j))

    def real(self, item: int) -> Negative:
        return [{item: 1.0} for _ in self.layers]

    def with_positive(self, item: int, shares: Vector) -> Negative:
        """λ_l V[i] + (1 - λ_l) V[item]."""
        return [{self.positive: lam, item: 1.0 - lam} for lam in shares]


def pairs_of(match: Matching) -> list[Pair]:
    """A batch as plain numbers."""
    n_users = match.graph.n_users
    tables = [layer.double().tolist() for layer in match.layers]
    nodes = [list(layers) for layers in zip(*tables, strict=True)]
    common = Pair(match.aggregation.kind, 0, 0, [], nodes[:n_users], nodes[n_users:])
    return [
        replace(common, user=u, positive=i, pool=c)
        for u, i, c in zip(match.users.tolist(), match.positives.tolist(), match.candidates.tolist(), strict=True)
    ]


def negatives_of(mixture: Mixture, match: Matching) -> list[list[Negative]]:
    """[B][K] negatives; items without a share are left out, and so are shared ones that are none of the pair's.

    A share for each dimension is told by its mean.
    """
    full = mixture.checked(len(match.users), len(match.layers), "the sampler")
    layers = range(len(match.layers))
    if full.shared:
        none = torch.zeros(len(match.users), full.items.shape[1], dtype=torch.bool)
        excluded = full.excluded(match.positives)
        out = (none if excluded is None else excluded).tolist()
        shared = full.items[0, :, 0, 0].tolist()
        return [
            [[{item: 1.0} for _ in layers] for item, gone in zip(shared, row, strict=True) if not gone] for row in out
        ]
    items = full.items.expand(*full.items.shape[:3], len(layers)).tolist()
    weights = None if full.layer_weights is None else full.layer_weights.double().tolist()
    answer: list[list[Negative]] = []
    for b, several in enumerate(items):
        answer.append([])
        for k, mixed in enumerate(several):
            negative: Negative = [{} for _ in layers]
            for m, ids in enumerate(mixed):
                for t in layers:
                    share = 1.0 if weights is None else weights[b][k][m][t]
                    if share != 0.0:
                        negative[t][ids[t]] = negative[t].get(ids[t], 0.0) + share
            answer[-1].append(negative)
    return answer


def same(found: Negative, expected: Negative, tolerance: float = 1e-9) -> bool:
    """Equal items and, up to rounding, equal shares at every layer."""
    for one, other in zip(found, expected, strict=True):
        for item in {*one, *other}:
            if abs(one.get(item, 0.0) - other.get(item, 0.0)) > tolerance:
                return False
    return True


def assert_agrees(mixture: Mixture, match: Matching, expected: Callable[[Pair], list[Negative]]) -> None:
    """The mixture's negatives of every pair are those of the oracle."""
    for pair, found in zip(pairs_of(match), negatives_of(mixture, match), strict=True):
        wanted = expected(pair)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert same(one, other), f"user {pair.user}, positive {pair.positive}, pool {pair.pool}: {one} != {other}"
