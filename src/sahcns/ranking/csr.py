"""Sorted item lists, one a row, held where the scores are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sahcns.errors import SettingError


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
