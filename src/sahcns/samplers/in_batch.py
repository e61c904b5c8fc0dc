"""In-batch: the batch's other positives, for all its pairs; and drawn items beside them, if wanted.

Yi, Yang, Hong, Cheng, Heldt, Kumthekar, Zhao, Wei, Chi. Sampling-Bias-Corrected Neural Modeling for Large Corpus Item
Recommendations. RecSys 2019; with drawn items (mixed negatives) Yang et al., WWW 2020 Companion.

    negatives of pair b = { i_1 … i_B } and N · B drawn items, but i_b itself
    q(j) ∝ c_j / Σ_k c_k + N / n_items,   c_j the training pairs of item j

No item is gathered for a pair: scores are one product of the batch's users with its items.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import setting


@dataclass(frozen=True)
class InBatch(Sampler):
    """Nothing is drawn: popular items come as negatives as often as they come as positives."""

    name: ClassVar[str] = "in-batch"
    draws_negatives: ClassVar[bool] = True
    gives_seen: ClassVar[bool] = True

    pool: int = setting(0, "items drawn for each pair beside, N, which serve the whole batch", low=0, search=())
    mask: str = setting(
        "same",
        "what is no negative of a pair: its own item, or all items that its user has in training",
        choices=("same", "seen"),
        search=(),
    )
    correct: bool = setting(False, "take log q(j) from the logits of a softmax (logQ)", search=())

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        items = torch.cat([match.positives, match.candidates.flatten()])
        same, own = self.mask == "same", len(match.positives)
        return Mixture.for_all(items, None if same else match.seen(items[None]), self._log_q(match), own, same)

    def _log_q(self, match: Matching) -> torch.Tensor | None:
        """[n_items]; of an item without training pairs, which is not drawn, as if it had one."""
        if not self.correct:
            return None
        counts = match.popularity.clamp(min=1).to(match.layers[0].dtype)
        return torch.log(counts / match.popularity.sum() + self.pool / match.graph.n_items)
