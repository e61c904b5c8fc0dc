"""Interactions from a few rows written out by hand."""

from collections.abc import Sequence

import numpy as np

from sahcns.data import IdMap, Interactions, Pairs, Split, Texts
from sahcns.data.ids import Id
from sahcns.data.interactions import Events


def interactions(
    rows: Sequence[tuple[Id, Id]],
    *,
    ratings: Sequence[float] | None = None,
    times: Sequence[int] | None = None,
    titles: dict[Id, str] | None = None,
    events: Sequence[str] | None = None,
    nanoseconds: Sequence[int] | None = None,
    path: str = "rows.csv",
) -> Interactions:
    """What a reader gives for `rows` of (user, item), in this order."""
    kinds = list(dict.fromkeys(events or ()))
    user_ids, item_ids = IdMap.of(user for user, _ in rows), IdMap.of(item for _, item in rows)
    return Interactions(
        users=user_ids.encode([user for user, _ in rows]).astype(np.int32),
        items=item_ids.encode([item for _, item in rows]).astype(np.int32),
        user_ids=user_ids,
        item_ids=item_ids,
        ratings=None if ratings is None else np.array(ratings, np.float32),
        times=None if times is None else np.array(times, np.int64),
        titles=None if titles is None else Texts.of(titles.get(item_ids[k], "") for k in range(len(item_ids))),
        source={"files": [{"path": path}]},
        events=None if events is None else Events(np.array([*map(kinds.index, events)], np.uint8), tuple(kinds)),
        nanoseconds=None if nanoseconds is None else np.array(nanoseconds, np.int32),
    )


def decoded(split: Split) -> dict[str, list[tuple[Id, Id]]]:
    """The original (user, item) of each part."""
    return {name: original(split, part) for name, part in split.parts().items()}


def original(split: Split, part: Pairs) -> list[tuple[Id, Id]]:
    return list(zip(split.user_ids.decode(part.users), split.item_ids.decode(part.items), strict=True))
