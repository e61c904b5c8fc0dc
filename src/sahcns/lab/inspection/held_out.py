"""Which pairs are held out. Looked up to count false negatives, and for nothing else: no sampler ever sees it."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sahcns.data.split import Split


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The validation and test pairs, as sorted keys user · n_items + item."""

    valid: Tensor
    test: Tensor
    n_items: int

    @classmethod
    def of(cls, split: Split, device: torch.device) -> "HeldOut":
        keys = [
            np.unique(np.asarray(pairs.users, np.int64) * split.n_items + np.asarray(pairs.items, np.int64))
            for pairs in (split.valid, split.test)
        ]
        valid, test = (torch.from_numpy(part).to(device) for part in keys)
        return cls(valid, test, split.n_items)

    def __bool__(self) -> bool:
        return len(self.valid) + len(self.test) > 0

    def has(self, users: Tensor, items: Tensor) -> Tensor:
        """users [B], items [B, …] → true where the item is held out of the user."""
        return self.among(self.valid, users, items) | self.among(self.test, users, items)

    def among(self, part: Tensor, users: Tensor, items: Tensor) -> Tensor:
        """The same for `valid` or `test` alone."""
        wanted = (users.view(-1, *(1,) * (items.dim() - 1)) * self.n_items + items).contiguous()
        if not len(part):
            return torch.zeros_like(wanted, dtype=torch.bool)
        return part[torch.searchsorted(part, wanted).clamp(max=len(part) - 1)] == wanted
