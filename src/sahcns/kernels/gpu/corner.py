"""Which tiles of Ã are full enough to be multiplied, once users and items are each ordered by degree."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sahcns.graph import Adjacency


@dataclass(frozen=True)
class Tile:
    """Sizes; the values are those that won on an H200 (benchmarks/tune_blocks.py)."""

    rows: int = 128
    columns: int = 64
    share: float = 0.03  # of its cells that a tile must fill to be worth multiplying
    stretch: int = 12  # tiles that one program sums up
    warps: int = 8
    stages: int = 3


@dataclass(frozen=True)
class Side:
    """The places of the users or of the items."""

    start: int
    end: int  # behind the last one
    stop: int  # the same, rounded up to whole tiles


@dataclass(frozen=True)
class Belt:
    """A row of tiles: how many of them are multiplied, from the first place of the other side on."""

    side: Side
    tiles: int

    def pieces(self, most: int) -> list[int]:
        """Where to cut it into stretches of about equal length, both ends included."""
        count = -(-self.tiles // most)
        return [piece * self.tiles // max(count, 1) for piece in range(count + 1)]


def by_degree(adjacency: Adjacency, multiple: int) -> tuple[Tensor, tuple[Side, Side]]:
    """Places [n] of users, then of items, each by falling degree."""
    n_users, n = adjacency.n_users, adjacency.n
    users = Side(0, n_users, -(-n_users // multiple) * multiple)
    items = Side(users.stop, users.stop + n - n_users, users.stop + -(-(n - n_users) // multiple) * multiple)
    places = torch.empty_like(adjacency.degrees)
    for side, own in ((users, slice(0, n_users)), (items, slice(n_users, n))):
        order = torch.argsort(adjacency.degrees[own], descending=True, stable=True)
        places[own][order] = torch.arange(side.start, side.end, device=places.device)
    return places, (users, items)


def corner(row: Tensor, column: Tensor, sides: tuple[Side, Side], tile: Tile) -> list[Belt]:
    """Of each row of tiles as many, from the fullest on, as gain most over gathering."""
    across = sides[1].stop // tile.columns
    filled = torch.bincount(
        row // tile.rows * across + column // tile.columns, minlength=sides[1].stop // tile.rows * across
    )
    filled = filled.view(-1, across)
    belts = []
    for own, other in (sides, sides[::-1]):
        there = filled[
            own.start // tile.rows : own.stop // tile.rows, other.start // tile.columns : other.stop // tile.columns
        ]
        most, at = (there - tile.share * tile.rows * tile.columns).cumsum(1).max(1)
        belts += [Belt(other, tiles) for tiles in torch.where(most > 0, at + 1, 0).tolist()]
    return belts


def without(adjacency: Adjacency, gone: Tensor) -> Adjacency:
    """The other edges of each row, in the same order."""
    running = torch.cat([gone.new_zeros(1, dtype=torch.int64), (~gone).cumsum(0)])
    offsets = running[adjacency.offsets.long()]
    return replace(
        adjacency,
        offsets=offsets,
        columns=adjacency.columns[~gone],
        values=adjacency.values[~gone],
        degrees=offsets.diff(),
    )
