"""The column of kinds of events, as codes: one byte a row as long as there are few."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sahcns.data.events import Events, folded
from sahcns.data.readers.collecting import Growing
from sahcns.data.readers.values import Mask

if TYPE_CHECKING:
    import polars as pl

MOST = 256  # kinds of a column that nobody asked for; one of more is let go, and costs nothing from there on
GLANCE = 1 << 17  # rows of a file that tell which kinds there are, where none is to be chosen
WIDTHS = ((1 << 8, np.uint8), (1 << 16, np.uint16), (1 << 31, np.int32))


@dataclass
class Kinds:
    """What the batches have given so far; `told` if the caller named the column, and so wants it whatever it holds.

    A row without a kind is of kind '' and no fault: it may well be one of a kind that is not wanted. `glance` leaves
    all rows of a file but the first ones aside.
    """

    told: bool = False
    glance: bool = False
    room: int = field(default_factory=lambda: GLANCE)  # rows of the file at hand still to be glanced at
    codes: Growing | None = field(default_factory=lambda: Growing(np.uint8))  # of texts; None if not every row has one
    places: dict[str, int] = field(default_factory=dict)  # a kind without case and blanks → its number
    known: dict[str, int] = field(default_factory=dict)  # a text as it stands → number of its kind

    @property
    def rows(self) -> int | None:
        """How many rows of the column of a file are wanted; None for all."""
        return self.room if self.glance else None

    def next_file(self) -> None:
        self.room = GLANCE

    def add(self, events: "pl.Series | None", keep: Mask | None) -> None:
        """The texts [≤ n] of a batch, None if its file has no such column; `keep` [n] says which rows stay."""
        import polars as pl

        if self.codes is None:
            return
        if events is None:
            self.codes = None
            return
        texts = events.head(self.room) if self.glance else events
        self.room -= len(texts)
        if keep is not None:
            texts = texts.filter(pl.Series(keep[: len(texts)]))
        texts = texts.fill_null("")
        met = self._met(texts)
        if met.null_count():  # texts that are new
            for text in texts.filter(met.is_null()).unique(maintain_order=True):
                self.known[text] = self.places.setdefault(folded(text), len(self.places))
                if len(self.places) > MOST and not self.told:
                    self.codes = None
                    return
            met = self._met(texts)
            if (fits := _width(len(self.known))) != self.codes.dtype:
                self.codes.widen(fits)
        self.codes.append(met.to_numpy())

    def _met(self, texts: "pl.Series") -> "pl.Series":
        """Where each text [n] stands among those met before; null for one that does not."""
        import polars as pl

        return texts.cast(pl.Enum([*self.known]), strict=False).to_physical()

    def finish(self) -> Events | None:
        """The kinds, each as it is written most often."""
        if self.codes is None:
            return None
        codes, kinds = self.codes.take(), np.fromiter(self.known.values(), _width(len(self.places)))
        if len(kinds) == len(self.places):  # each is written in one way
            return Events(codes, tuple(text.strip() for text in self.known))
        rows = np.bincount(codes, minlength=len(kinds)).tolist()
        names: dict[int, str] = {}
        for _, (text, kind) in sorted(zip(rows, self.known.items(), strict=True), key=lambda one: -one[0]):
            names.setdefault(kind, text.strip())
        return Events(kinds[codes], tuple(names[kind] for kind in range(len(names))))


def _width(count: int) -> npt.DTypeLike:
    return next(dtype for limit, dtype in WIDTHS if count <= limit)


def kinds_in(column: "pl.Series") -> "pl.Series | None":
    """A column of a table as texts, whole numbers without `.0`; None if it holds lists or the like."""
    import polars as pl

    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        column = whole if bool((whole == column).all()) else column
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        return None
    return column.cast(pl.String)
