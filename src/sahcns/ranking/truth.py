"""What a ranking is held against: who is evaluated, what was held out, and what may not be recommended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sahcns.data.split import Pairs, Split
from sahcns.errors import DataError, SettingError, nearest

HeldOut = Literal["valid", "test"]
Masked = Literal["train", "train+valid", "none"]


@dataclass(frozen=True, eq=False)
class Csr:
    """Row r holds `items[starts[r]:starts[r+1]]`, ascending and without repeats.

    starts [n_rows+1] int64, rows [nnz] int64 (the row of each entry), items [nnz] int64; `bounds` is `starts` on the
    host, so that cutting the rows into blocks never waits for the device.
    """

    starts: Tensor
    rows: Tensor
    items: Tensor
    bounds: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls,
        rows: npt.NDArray[np.integer],
        items: npt.NDArray[np.integer],
        n_rows: int,
        n_items: int,
        device: torch.device | str = "cpu",
    ) -> "Csr":
        """From (row, item) pairs in any order; repeats count once."""
        keys = np.sort(rows.astype(np.int64) * n_items + items)
        keys = keys[np.diff(keys, prepend=-1) > 0]  # as np.unique, which hashes and is many times slower here
        bounds = np.searchsorted(keys, np.arange(n_rows + 1, dtype=np.int64) * n_items)
        of_row, of_item = np.divmod(keys, max(n_items, 1))
        starts, at_row, at_item = (torch.from_numpy(array).to(device) for array in (bounds, of_row, of_item))
        return cls(starts, at_row, at_item, bounds)

    @classmethod
    def of_lists(cls, lists: Sequence[Tensor], n_items: int, device: torch.device | str = "cpu") -> "Csr":
        """From one tensor of item ids a row."""
        rows = np.repeat(np.arange(len(lists)), [len(ids) for ids in lists])
        items = np.concatenate([np.zeros(0, np.int64), *(ids.cpu().numpy().astype(np.int64) for ids in lists)])
        if len(items) and not 0 <= items.min() <= items.max() < n_items:
            bad = items.min() if items.min() < 0 else items.max()
            raise SettingError(f"seen holds item {bad}; items are numbered 0 to {n_items - 1}")
        return cls.of(rows, items, len(lists), n_items, device)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def lengths(self) -> Tensor:
        return self.starts.diff()

    def flat(self, width: int) -> Tensor:
        """Position of every entry in a row-major matrix of `width` columns, ascending; [nnz] int64."""
        return self.rows * width + self.items

    def take(self, rows: Tensor) -> "Csr":
        """The lists at `rows`, in that order; waits for the device."""
        lengths = self.lengths[rows]
        starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        bounds = starts.cpu().numpy()
        of_row = torch.repeat_interleave(lengths, output_size=int(bounds[-1]))
        at = (self.starts[rows] - starts[:-1])[of_row] + torch.arange(len(of_row), device=of_row.device)
        return Csr(starts, of_row, self.items[at], bounds)


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """Prepared once a run, on the device of the vectors, for the E users with at least one held-out item.

    users [E] int64 ascending; held, masked: E rows each, row r about users[r]; popularity [n_items] int64, the number
    of training pairs of each item. A held-out item that is also masked can never be found and counts as missed.
    """

    part: HeldOut
    mask: Masked
    n_users: int
    n_items: int
    users: Tensor
    held: Csr
    masked: Csr
    popularity: Tensor

    @classmethod
    def of(cls, split: Split, part: HeldOut, mask: Masked = "train", device: torch.device | str = "cpu") -> "Truth":
        """From a split: `part` is ranked against, `mask` says whose pairs are taken out of the ranking.

        mask="train" keeps validation items in the test ranking, as the published code bases do; mask="train+valid"
        takes them out too, which raises every number a little, so a reported result must say which was used.
        """
        for name, value, allowed in (("part", part, get_args(HeldOut)), ("mask", mask, get_args(Masked))):
            if value not in allowed:
                raise SettingError(f"{name}={value!r} is not one of {', '.join(allowed)}; {nearest(value, allowed)}")
        if part == "valid" and mask == "train+valid":
            raise SettingError(
                "mask='train+valid' would hide the validation items that part='valid' looks for; use mask='train'"
            )
        held = split.parts()[part]
        if not len(held):
            raise DataError(f"the split has no {part} pairs to rank against; prepare the data with a {part} share")
        users = np.flatnonzero(np.bincount(held.users, minlength=split.n_users))
        row_of = np.full(split.n_users, -1, np.int64)
        row_of[users] = np.arange(len(users))

        def lists(*parts: Pairs) -> Csr:
            own = [(row_of >= 0)[pairs.users] for pairs in parts]  # before anything is made of the others
            rows = [row_of[pairs.users[mine]] for pairs, mine in zip(parts, own, strict=True)]
            items = [pairs.items[mine] for pairs, mine in zip(parts, own, strict=True)]
            empty = np.zeros(0, np.int32)
            return Csr.of(
                np.concatenate([empty, *rows]), np.concatenate([empty, *items]), len(users), split.n_items, device
            )

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
