"""The trainer's checks of a sampler: real ids, unseen items, shares that add up to one, hooks that have an effect."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sahcns.errors import TrainingError
from sahcns.graph import Graph, Unseen
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture

Choose = Callable[[Matching, Rng], Mixture]


def candidate_tables(sampler: Sampler, graph: Graph) -> Unseen:
    """What its pools are drawn from, by its own weights if it has some."""
    weights = sampler.weights(graph.popularity.clone())  # a copy: one that is added to would change what all see
    return graph.unseen if weights is None else graph.reweighted(weights)


def initial_state(sampler: Sampler, graph: Graph) -> Any:
    """The state that the sampler begins with."""
    kind = type(sampler)
    if kind.end_epoch is not Sampler.end_epoch and kind.begin is Sampler.begin:
        raise TrainingError(
            f"{kind.__name__}.end_epoch() would never be called, since there is no state for it to work on; write "
            "begin(self, graph), which returns one"
        )
    return sampler.begin(graph)


def check_choice(sampler: Sampler, match: Matching, rng: Rng, choose: Choose | None = None) -> Mixture:
    """The sampler's mixture for a batch in its full form, with its ids and weights checked."""
    name = type(sampler).__name__
    shared = _shared_tensors(match)
    before = {what: tensor._version for what, tensor in shared.items()}
    mixture = (choose or sampler.choose)(match, rng)
    changed = [f"match.{what}" for what, tensor in shared.items() if tensor._version != before[what]]
    if changed:  # parts of one tensor cannot be told apart
        raise TrainingError(
            f"{name}.choose() changed {' or '.join(changed)} in place, with which training goes on; change a copy (.clone())"
        )
    if not isinstance(mixture, Mixture):
        raise TrainingError(f"{name}.choose() must return a Mixture; it returned {type(mixture).__name__}")
    mixture = mixture.checked(len(match.users), len(match.layers), name, match.layers[0].dtype)
    dim = match.layers[0].shape[1] * match.graph.columns.count
    for what, value in (("weights", mixture.weights), ("a shift", mixture.shift)):
        if value is not None and value.shape[4 if what == "weights" else 3 :] not in ((), (dim,)):
            raise TrainingError(
                f"{name} returned {what} of shape {list(value.shape)}; where each dimension has its own, the last axis is "
                f"{dim}, the width of the layers"
            )
    if mixture.weights is not None and bool(mixture.weights.isnan().any()) and _scores_are_finite(match):
        raise TrainingError(
            f"{name} returned weights that are not numbers (NaN), though all scores are; look for 0/0, inf - inf, or the "
            "root or logarithm of something below 0"
        )
    check(mixture, match.users, match.positives, match.graph, name, sampler.gives_seen)
    return mixture


def _shared_tensors(match: Matching) -> dict[str, Tensor]:
    """What a sampler reads and somebody else goes on with: the loss, the next batch, the parameters themselves."""
    graph = match.graph
    return {
        **{what: getattr(match, what) for what in ("users", "positives", "pairs", "epoch", "popularity")},
        **{f"layers[{at}]": layer for at, layer in enumerate(match.layers)},
        **{f"graph.{what}": getattr(graph, what) for what in graph.per_pair},
    }


def _scores_are_finite(match: Matching) -> bool:
    """Scores and even their squares: where training exploded, the sampler is not to blame."""
    return all(bool(scores.square().sum().isfinite()) for scores in (match.a, match.p))


def check(
    mixture: Mixture, users: Tensor, positives: Tensor, graph: Graph, sampler: str, gives_seen: bool = False
) -> None:
    """Raise a `TrainingError` that names the first fault. The pair's own positive may only be *mixed in*."""
    items, weights = mixture.items, mixture.weights  # [B or 1, K, M, T or 1], [B, K, M, T]
    outside = (items < 0) | (items >= graph.n_items)
    if outside.any():
        value = int(items[outside][0])
        raise TrainingError(f"{sampler} returned item {value}; items run from 0 to {graph.n_items - 1}")
    if weights is not None:
        total = weights.sum(2)
        off = (total - 1).abs().nan_to_num(0.0)  # NaN of scores that exploded shows in the loss, which says what to try
        if (off > 1e-4).any():
            worst = float(total.flatten()[off.argmax()])
            raise TrainingError(
                f"{sampler} returned weights that sum to {worst:.4g} over the mixed items; they must sum to 1"
            )
    if gives_seen:
        return
    seen = graph.has_seen(users, items)
    if items.shape[2] > 1:
        seen = seen & (items != positives[:, None, None, None])
    if (excluded := mixture.excluded(positives)) is not None:
        seen = seen & ~excluded[:, :, None, None]
    if seen.any():
        user = int(users[torch.nonzero(seen)[0, 0]])
        item = int(items.expand_as(seen)[seen][0])
        raise TrainingError(
            f"{sampler} returned item {item} as a negative of user {user}, who has it in training; choose "
            "among match.candidates, or ask match.seen(items), or mix in the pair's own positive"
        )
