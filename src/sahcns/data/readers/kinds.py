"""The column of kinds of events, as codes: one byte a row as long as there are few."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sahcns.data.events import Events, folded
from sahcns.data.readers.collecting import Growing
from sahcns.data.readers.values import Mask

if TYPE_CHECKING:
    import polars as pl

MOST = 256  # kinds of a column that nobody asked for; one of more is let go, and costs nothing from there on


@dataclass
class Kinds:
    """What the batches have given so far; `told` if the caller named the column, and so wants it whatever it holds.

    A row without a kind is of kind '' and no fault: it may well be one of a kind that is not wanted.
    """

    told: bool = False
    codes: Growing | None = field(default_factory=lambda: Growing(np.uint8))  # None where not every row has one
    places: dict[str, int] = field(default_factory=dict)  # a kind without case and blanks → code
    known: dict[str, int] = field(default_factory=dict)  # a text as it stands → code
    rows: list[int] = field(default_factory=list)  # of each text

    def add(self, events: "pl.Series | None", keep: Mask | None) -> None:
        """The texts [n] of a batch, None if its file has no such column; `keep` [n] says which rows stay."""
        import polars as pl

        if self.codes is None:
            return
        if events is None:
            self.codes = None
            return
        texts = events.fill_null("")
        if keep is not None:
            texts = texts.filter(pl.Series(keep))
        met = self._places(texts)
        if met.null_count():  # texts that are new
            for text in texts.filter(met.is_null()).unique(maintain_order=True):
                self.known[text] = self.places.setdefault(folded(text), len(self.places))
                self.rows.append(0)
                if len(self.places) > MOST and not self.told:
                    self.codes = None
                    return
            met = self._places(texts)
        for limit, dtype in ((1 << 8, np.uint16), (1 << 16, np.int32)):
            if len(self.places) > limit and self.codes.dtype.itemsize < np.dtype(dtype).itemsize:
                self.codes.widen(dtype)
        which = met.to_numpy()
        more = np.bincount(which, minlength=len(self.rows)).tolist()
        self.rows = [rows + new for rows, new in zip(self.rows, more, strict=True)]
        self.codes.append(np.fromiter(self.known.values(), self.codes.dtype)[which])

    def _places(self, texts: "pl.Series") -> "pl.Series":
        """Where each text [n] stands among those met before; null for one that does not."""
        import polars as pl

        return texts.cast(pl.Enum([*self.known]), strict=False).to_physical()

    def finish(self) -> Events | None:
        """The kinds, each as it is written most often."""
        if self.codes is None:
            return None
        names: dict[int, str] = {}
        for _, (text, code) in sorted(zip(self.rows, self.known.items(), strict=True), key=lambda one: -one[0]):
            names.setdefault(code, text.strip())
        return Events(self.codes.take(), tuple(names[code] for code in range(len(names))))


def kinds_in(column: "pl.Series") -> "pl.Series | None":
    """A column of a table as texts, whole numbers without `.0`; None if it holds lists or the like."""
    import polars as pl

    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        column = whole if bool((whole == column).all()) else column
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        return None
    return column.cast(pl.String)
