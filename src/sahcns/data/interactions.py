"""What every reader returns: who met what, perhaps how much they liked it, when, and in which kind of event."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.data.filters import Int64, Mask, Rows, chunks
from sahcns.data.ids import IdMap, Texts, did_you_mean
from sahcns.errors import DataError

FEW_KINDS = 20  # of events, at most, that are worth a remark where nobody chose among them
NAT = np.iinfo(np.int64).min  # the time of a row that has none


@dataclass(frozen=True, eq=False)
class Events:
    """Row e is of kind `names[codes[e]]`, or of none where that is ''; kinds differ by more than case and outer blanks.

    codes   unsigned [E]
    rows    how many are of each kind [K], where the codes are not at hand
    """

    codes: npt.NDArray[Any]
    names: tuple[str, ...]
    rows: Int64 | None = None

    def counts(self, kinds: Mask | None = None) -> dict[str, int]:
        """Rows of each kind that has some, the most frequent first; of all `kinds` [K], unless told."""
        parts = (np.bincount(self.codes[part], minlength=len(self.names)) for part in chunks(len(self.codes)))
        rows = sum(parts, np.zeros(len(self.names), np.int64)) if self.rows is None else self.rows
        order = np.argsort(-rows, kind="stable")
        return {self.names[k]: int(rows[k]) for k in order if rows[k] and (kinds is None or kinds[k])}

    def choose(self, wanted: Sequence[str], source: str) -> Mask:
        """Which kinds [K] are wanted; one that does not occur is an error that says which do."""
        counts = self.counts()
        known = {fold_case(name): name for name in counts}
        for name in wanted:
            if fold_case(name) not in known:
                raise DataError(
                    f"{source} has no event {name!r}; there are: {list_kinds(counts)}{did_you_mean(name, counts)}"
                )
        chosen = {known[fold_case(name)] for name in wanted}
        return np.array([name in chosen for name in self.names])


def fold_case(name: str) -> str:
    """What two spellings of one kind have in common: ` Purchase` and `purchase` are one."""
    return name.strip().casefold()


def list_kinds(counts: Mapping[str, int]) -> str:
    """`view (8,012), cart (1,500) and 7 more`."""
    listed = ", ".join(f"{name or chr(39) * 2} ({rows:,})" for name, rows in [*counts.items()][:FEW_KINDS])
    return listed if len(counts) <= FEW_KINDS else f"{listed} and {len(counts) - FEW_KINDS:,} more"


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """Rows in file order, ids already dense; `len(self)` rows.

    users, items   int32 [E] positions into `user_ids`, `item_ids`, which hold the ids that occur and no others
    ratings        float32 [E], NaN where a row has none; None when the source has none
    times          int64 [E], whole seconds since 1970-01-01 UTC, NAT where a row has none; or None
    titles         one text per item (empty where unknown), or None
    source         where it came from: files, format, rows read, rows skipped and why (goes into the manifest)
    events         which kind of event each row is (view, cart, purchase), or None
    nanoseconds    int32 [E], how far past the second of `times` each row is, or None when no row is
    categories     as titles are, several with `|` between
    quantities     float32 [E], as ratings are; below 0 for a return
    prices         float32 [E], as ratings are
    """

    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    user_ids: IdMap
    item_ids: IdMap
    ratings: npt.NDArray[np.float32] | None = None
    times: npt.NDArray[np.int64] | None = None
    titles: Texts | None = None
    source: dict[str, Any] = field(default_factory=dict)
    events: Events | None = None
    nanoseconds: npt.NDArray[np.int32] | None = None
    categories: Texts | None = None
    quantities: npt.NDArray[np.float32] | None = None
    prices: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        names = ("ratings", "times", "titles", "categories", "events", "quantities", "prices")
        columns = [name for name in names if getattr(self, name) is not None]
        people = f"{len(self.user_ids):,} users and {len(self.item_ids):,} items"
        return f"Interactions({len(self):,} rows of {people}{', with ' if columns else ''}{' and '.join(columns)})"

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """What there is of a row beside its user and item, by role; `past` is nanoseconds, and `event` a code."""
        found = {"rating": self.ratings, "time": self.times, "past": self.nanoseconds, "price": self.prices}
        found |= {"quantity": self.quantities, "event": None if self.events is None else self.events.codes}
        return {role: column for role, column in found.items() if column is not None}

    def blocks(self, wanted: Container[str]) -> Iterator[Rows]:
        """All rows at once, with the columns that are wanted; once handed over, they are held here no more."""
        columns = {role: column for role, column in self.columns.items() if role in wanted}
        return iter([None, Rows(self.users, self.items, columns=columns)].pop, None)

    @property
    def name(self) -> str:
        """What an error calls them: the file they came from, the first of several, or `the interactions`."""
        return named(self.source)


def named(source: Mapping[str, Any]) -> str:
    """The file that rows came from, or the first of several."""
    paths = [str(file["path"]) for file in source.get("files", [])]
    more = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
    return f"{paths[0]}{more}" if paths else "the interactions"
