"""What a ranking is held against: who is evaluated, what was held out, and what may not be recommended."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from sahcns.data.split import Pairs, Split
from sahcns.errors import DataError, SettingError, nearest
from sahcns.ranking.csr import Csr

Part = Literal["valid", "test"]
Mask = Literal["train", "train+valid", "none"]


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """Prepared once a run, on the device of the vectors, for the E users with at least one held-out item.

    users [E] int64 ascending; held, masked: E rows each, row r about users[r]; popularity [n_items] int64, the number
    of training pairs of each item. A held-out item that is also masked can never be found and counts as missed.
    """

    part: Part
    mask: Mask
    n_users: int
    n_items: int
    users: Tensor
    held: Csr
    masked: Csr
    popularity: Tensor

    @classmethod
    def of(cls, split: Split, part: Part, mask: Mask = "train", device: torch.device | str = "cpu") -> "Truth":
        """From a split: `part` is ranked against, `mask` says whose pairs are taken out of the ranking.

        mask="train" keeps validation items in the test ranking, as the published code bases do; mask="train+valid"
        takes them out too, which raises every number a little, so a reported result must say which was used.
        """
        for name, value, allowed in (("part", part, get_args(Part)), ("mask", mask, get_args(Mask))):
            if value not in allowed:
                raise SettingError(f"{name}={value!r} is not one of {', '.join(allowed)}; {nearest(value, allowed)}")
        if part == "valid" and mask == "train+valid":
            raise SettingError(
                "mask='train+valid' would hide the validation items that part='valid' looks for; use mask='train'"
            )
        if not isinstance(split, Split):
            raise SettingError(
                f"split is of type {type(split).__name__}; give a Split: load_split(folder), or what a run was trained on"
            )
        held = split.parts()[part]
        if not len(held):
            raise DataError(f"the split has no {part} pairs to rank against; prepare the data with a {part} share")
        users = np.flatnonzero(np.bincount(held.users, minlength=split.n_users))
        row_of = np.full(split.n_users, -1, np.int64)
        row_of[users] = np.arange(len(users))

        def lists(*parts: Pairs) -> Csr:
            rows = np.concatenate([np.zeros(0, np.int64), *(row_of[pairs.users] for pairs in parts)])
            items = np.concatenate([np.zeros(0, np.int32), *(pairs.items for pairs in parts)])
            return Csr.of(rows[rows >= 0], items[rows >= 0], len(users), split.n_items, device)

        hidden = {"train": [split.train], "train+valid": [split.train, split.valid], "none": []}[mask]
        return cls(
            part=part,
            mask=mask,
            n_users=split.n_users,
            n_items=split.n_items,
            users=torch.from_numpy(users.astype(np.int64)).to(device),
            held=lists(held),
            masked=lists(*hidden),
            popularity=torch.from_numpy(np.bincount(split.train.items, minlength=split.n_items)).to(device),
        )

    def __len__(self) -> int:
        return len(self.held)

    def __repr__(self) -> str:
        return f"Truth({self.part}: {len(self):,} users with {len(self.held.items):,} items, mask={self.mask!r})"
