"""What every reader returns: who met what, perhaps how much they liked it and when."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sahcns.data.events import Events
from sahcns.data.ids import IdMap, Texts


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """Rows in file order, ids already dense; `len(self)` rows.

    users, items   int32 [E] positions into `user_ids`, `item_ids`, which hold the ids that occur and no others
    ratings        float32 [E] or None when the source has none
    times          int64 [E], whole seconds since 1970-01-01 UTC, or None
    titles         one text per item (empty where unknown), or None
    events         which kind of event each row is (view, cart, purchase), or None
    nanoseconds    int32 [E], how far past the second of `times` each row is, or None when no row is
    source         where it came from: files, format, rows read, rows skipped and why (goes into the manifest)
    """

    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    user_ids: IdMap
    item_ids: IdMap
    ratings: npt.NDArray[np.float32] | None = None
    times: npt.NDArray[np.int64] | None = None
    titles: Texts | None = None
    source: dict[str, object] = field(default_factory=dict)
    events: Events | None = None
    nanoseconds: npt.NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        columns = ("ratings", "times", "titles", "events")
        having = " and ".join(name for name in columns if getattr(self, name) is not None)
        people = f"{len(self.user_ids):,} users and {len(self.item_ids):,} items"
        return f"Interactions({len(self):,} rows of {people}{', with ' if having else ''}{having})"

    @property
    def name(self) -> str:
        """What an error calls them: the file they came from, the first of several, or `the interactions`."""
        files = self.source.get("files")
        paths = [str(file["path"]) for file in files] if isinstance(files, list) else []
        more = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
        return f"{paths[0]}{more}" if paths else "the interactions"
