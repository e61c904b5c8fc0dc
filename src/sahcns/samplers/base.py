"""What a sampler is: one method, a matching in, a mixture out.

    @dataclass(frozen=True)
    class Softest(Sampler):
        name = "softest"

        def choose(self, match, rng):
            return match.pick(match.scores.argmin(1))

That is a whole sampler: it works in `fit` on any backbone, and on the command line once its file is imported.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.errors import TrainingError
from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import Configured, setting


@dataclass(frozen=True)
class Sampler(Configured):
    """Chooses the negative of each training pair from its pool; `.settings()` explains each argument."""

    pool: int = setting(10, "candidates drawn for each pair, N", low=1)

    draws_negatives: ClassVar[bool] = (
        False  # `pool` counts negatives, not candidates: one pool for all is not meant for it
    )

    gives_seen: ClassVar[bool] = (
        False  # its negatives may be items that the user has in training, and it says which not
    )

    taught_by_choice: ClassVar[bool] = (
        False  # `choose` runs with gradient to its own parameters, which a mixture's shift may carry
    )

    remade: ClassVar[tuple[str, ...]] = ()  # of its state: what is made again from the rest, so no checkpoint holds it

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        """The negatives of a batch; runs without gradient."""
        raise TrainingError(f"{type(self).__name__} does not define choose(self, match, rng), which returns a Mixture")

    @classmethod
    def has_loss(cls) -> bool:
        """Whether it has a loss of its own, so that a step is more than objective and L2."""
        return cls.extra_loss is not Sampler.extra_loss

    # What follows is opt-in; most samplers never see it.

    def weights(self, popularity: Tensor) -> Tensor | None:
        """Draw candidates in proportion to these whole-number weights [n_items]; None draws uniformly."""
        return None

    def trainable(self, dim: int, rng: Rng, dtype: torch.dtype) -> dict[str, Tensor]:
        """Parameters of the sampler's own, trained with the model through `extra_loss`."""
        return {}

    def extra_loss(
        self, parameters: dict[str, Tensor], users: Tensor, positives: Tensor, negatives: Tensor, agg: Aggregation
    ) -> Tensor | None:
        """A loss on the batch's layers, with gradient: users, positives [B, T, d], negatives [B, K, T, d]."""
        return None

    def begin(self, graph: Graph) -> Any:
        """State to keep from epoch to epoch, made once before training; found again as `match.state`."""
        return None

    def end_epoch(self, state: Any, item_vectors: Tensor, graph: Graph, rng: Rng) -> None:
        """Called after each epoch with the current final item embeddings [n_items, D], if `begin` gave a state."""
