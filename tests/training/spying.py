"""Samplers that a user might write: one that notes what it is shown, and one that answers what it is told to."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sahcns.rng import Rng
from sahcns.samplers import Matching, Mixture, Sampler


@dataclass
class Seen:
    """What one call of `choose` was shown."""

    pairs: list[int]
    users: list[int]
    positives: list[int]
    candidates: list[list[int]]
    first_layer: Tensor
    epoch: int


def spying(sampler: Sampler) -> tuple[Sampler, list[Seen]]:
    """The same sampler, and the list it writes its notes to."""
    notes: list[Seen] = []
    kind = type(sampler)

    def choose(self: Sampler, match: Matching, rng: Rng) -> Mixture:
        notes.append(
            Seen(
                match.pairs.tolist(),
                match.users.tolist(),
                match.positives.tolist(),
                match.candidates.tolist(),
                match.layers[0].clone(),
                int(match.epoch),
            )
        )
        return kind.choose(self, match, rng)

    spy = type(f"Spying{kind.__name__}", (kind,), {"choose": choose})(**sampler.to_dict())
    assert isinstance(spy, Sampler)
    return spy, notes


@dataclass(frozen=True)
class Answering(Sampler):
    """Returns what a function of the matching returns."""

    answer: Callable[[Matching], Mixture] = field(default=lambda match: match.pick(torch.zeros_like(match.users)))

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return self.answer(match)
