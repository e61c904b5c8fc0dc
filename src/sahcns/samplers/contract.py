"""The trainer's check of a sampler's answers: real ids, unseen items, shares that add up to one, nothing else changed.

And of its hooks: what they do must have an effect, and only where it is meant to.
"""

from typing import Any

import torch
from torch import Tensor

from sahcns.errors import TrainingError
from sahcns.graph import Graph, Unseen
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching, seen_in
from sahcns.samplers.mixture import Mixture


def drawn_from(sampler: Sampler, graph: Graph) -> Unseen:
    """What its pools are drawn from, by its own weights if it has some."""
    weights = sampler.weights(graph.popularity.clone())  # a copy: one that is added to would change what all see
    return graph.unseen if weights is None else graph.reweighted(weights)


def begun(sampler: Sampler, graph: Graph) -> Any:
    """The state that the sampler begins with."""
    kind = type(sampler)
    if kind.end_epoch is not Sampler.end_epoch and kind.begin is Sampler.begin:
        raise TrainingError(
            f"{kind.__name__}.end_epoch() would never be called, since there is no state for it to work on; write "
            "begin(self, graph), which returns one"
        )
    return sampler.begin(graph)


def ended(sampler: Sampler, state: Any, item_vectors: Tensor, graph: Graph, rng: Rng) -> None:
    """Its work between epochs; what it returns would be lost."""
    returned = sampler.end_epoch(state, item_vectors, graph, rng)  # type: ignore[func-returns-value]
    if returned is not None:
        raise TrainingError(
            f"{type(sampler).__name__}.end_epoch() returned {type(returned).__name__}, which nothing would look at; change the "
            "state in place, such as state.copy_(new), and return None"
        )


def answer(sampler: Sampler, match: Matching, rng: Rng, checked: bool = True) -> Mixture:
    """The sampler's mixture for a batch in its full form; `checked` looks at its ids and weights too."""
    name = type(sampler).__name__
    lent = _lent(match) if checked else {}
    before = {what: tensor._version for what, tensor in lent.items()}
    mixture = sampler.choose(match, rng)
    changed = [f"match.{what}" for what, tensor in lent.items() if tensor._version != before[what]]
    if changed:  # parts of one tensor cannot be told apart
        raise TrainingError(
            f"{name}.choose() changed {' or '.join(changed)} in place, with which training goes on; change a copy (.clone())"
        )
    if not isinstance(mixture, Mixture):
        raise TrainingError(f"{name}.choose() must return a Mixture; it returned {type(mixture).__name__}")
    mixture = mixture.checked(len(match.users), len(match.layers), name)
    if mixture.weights is not None:  # in another float type they would widen, or break, what comes after
        mixture = Mixture(mixture.items, mixture.weights.to(match.layers[0].dtype))
    if checked:
        if mixture.weights is not None and bool(mixture.weights.isnan().any()) and _sound(match):
            raise TrainingError(
                f"{name} returned weights that are not numbers (NaN), though all scores are; look for 0/0, inf - inf, or the "
                "root or logarithm of something below 0"
            )
        check(mixture, match.users, match.positives, match.graph, name)
    return mixture


def _lent(match: Matching) -> dict[str, Tensor]:
    """What a sampler reads and somebody else goes on with: the loss, the next batch, the parameters themselves."""
    graph = match.graph
    whole = ("pair_users", "pair_items", "seen_offsets", "seen_items", "seen_keys")
    return {
        **{what: getattr(match, what) for what in ("users", "positives", "pairs", "epoch", "popularity")},
        **{f"layers[{at}]": layer for at, layer in enumerate(match.layers)},
        **{f"graph.{what}": getattr(graph, what) for what in whole},
    }


def _sound(match: Matching) -> bool:
    """Whether scores and even their squares are finite: where training exploded, the sampler is not to blame."""
    return all(bool(scores.square().sum().isfinite()) for scores in (match.a, match.p))


def check(mixture: Mixture, users: Tensor, positives: Tensor, graph: Graph, sampler: str) -> None:
    """Raise a `TrainingError` that names the first fault. The pair's own positive may only be *mixed in*."""
    items, weights = mixture.items, mixture.weights  # [B, K, M, T or 1], [B, K, M, T]
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
    seen = seen_in(graph, users, items)
    if items.shape[2] > 1:
        seen = seen & (items != positives[:, None, None, None])
    if seen.any():
        user = int(users[torch.nonzero(seen)[0, 0]])
        raise TrainingError(
            f"{sampler} returned item {int(items[seen][0])} as a negative of user {user}, who has it in training; choose "
            "among match.candidates, or ask match.seen(items), or mix in the pair's own positive"
        )
