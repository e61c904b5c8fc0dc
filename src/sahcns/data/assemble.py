"""From labelled rows to a Split: each pair once, no pair in two parts, dense ids, and the manifest.

Pairs that a filter took out, of users and items that stay, are set aside: nothing is learnt from them or judged by
them, but somebody who gave a film one star knows it, and is not to be recommended it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sahcns.data.filters import Int32, Mask, Rows, degrees, pair_starts, sort_pairs
from sahcns.data.ids import IdMap, Texts
from sahcns.data.recipe import Recipe, Unseen
from sahcns.data.split import PARTS, Pairs, Split
from sahcns.data.splitting import TEST, TRAIN, VALID, Labels
from sahcns.data.stats import statistics
from sahcns.errors import DataError
from sahcns.version import __version__

FORMAT = "sahcns-prepared"
FORMAT_VERSION = 1


@dataclass
class Steps:
    """The steps as they go into the manifest, each with its rule and the counts after it."""

    n_users: int
    n_items: int
    source: str
    done: list[dict[str, Any]] = field(default_factory=list)

    def record(self, step: str, rule: str, rows: Rows, remedy: str = "", counts: tuple[int, int] | None = None) -> None:
        """Counts after a step; a step that left nothing is an error that names it, the counts before and `remedy`.

        counts   users and items that are left, where the step knows them without looking at the rows
        """
        before = self.done[-1] if self.done else None
        if not len(rows):
            if before is None:
                raise DataError(f"{self.source} has no rows; there is nothing to prepare")
            met = f"{before['rows']:,} rows of {before['users']:,} users and {before['items']:,} items"
            raise DataError(
                f"nothing is left of {self.source} after the {step} step ({rule}), which met {met}; {remedy}"
            )
        if before is not None and before["rows"] == len(rows):
            counts = before["users"], before["items"]
        users, items = counts or (
            int(np.count_nonzero(degrees(rows.users, self.n_users))),
            int(np.count_nonzero(degrees(rows.items, self.n_items))),
        )
        self.done.append({"step": step, "rule": rule, "users": users, "items": items, "rows": len(rows)})

    @property
    def counts(self) -> tuple[int, int]:
        """Users and items after the last step."""
        return self.done[-1]["users"], self.done[-1]["items"]


@dataclass
class _Dense:
    """Rows and rows set aside over ids without gaps: every user and item has a row."""

    rows: Rows
    user_ids: IdMap
    item_ids: IdMap
    titles: Texts | None
    aside: Rows | None

    def close_gaps(self) -> None:
        """Drop the users and items without a row, and the rows set aside of these."""
        users, used_users = _close_gaps(self.rows.users, len(self.user_ids))
        items, used_items = _close_gaps(self.rows.items, len(self.item_ids))
        self.rows = Rows(users, items)
        if self.aside is not None:
            users, known_users = _positions(self.aside.users, used_users)
            items, known_items = _positions(self.aside.items, used_items)
            self.aside = Rows(users, items).keep(known_users & known_items)
        if used_users is not None:
            self.user_ids = self.user_ids.take(used_users)
        if used_items is not None:
            self.item_ids = self.item_ids.take(used_items)
            self.titles = None if self.titles is None else self.titles.take(used_items)


def assemble(
    rows: Rows,
    labels: Labels,
    *,
    user_ids: IdMap,
    item_ids: IdMap,
    titles: Texts | None,
    recipe: Recipe,
    rule: str,
    steps: Steps,
    source: Mapping[str, object],
    part_names: Sequence[str] = PARTS,
    aside: Rows | None = None,
) -> Split:
    """The split of rows sorted by (user, item).

    part_names   what an error calls the three parts
    aside        rows that a filter took out
    """
    total, starts = len(rows), pair_starts(rows)
    if not starts.all():  # a repeated pair stays in training if it is there at all, else validation, else test
        rows, labels = rows.keep(starts), np.minimum.reduceat(labels, np.flatnonzero(starts))
    repeats = total - len(rows)
    dense = _Dense(rows, user_ids, item_ids, titles, aside)
    del rows, aside
    dense.close_gaps()
    unseen, out = find_unseen(dense.rows, labels, dense.user_ids, dense.item_ids, recipe.unseen, part_names)
    if recipe.unseen == "drop" and out is not None:
        dense.rows, labels = dense.rows.keep(~out), labels[~out]
        dense.close_gaps()
    steps.record("split", rule, dense.rows, counts=(len(dense.user_ids), len(dense.item_ids)))
    beside = Pairs.none() if dense.aside is None else _pairs_not_in(dense.rows, dense.aside)
    steps.done[-1] |= {"repeated_pairs_dropped": repeats, "unseen_in_training": unseen, "set_aside": len(beside)}

    masks = (labels == part for part in range(len(PARTS)))
    train, valid, test = (Pairs(dense.rows.users[mask], dense.rows.items[mask]) for mask in masks)
    manifest: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "sahcns_version": __version__}
    split = Split(train, valid, test, dense.user_ids, dense.item_ids, dense.titles, manifest, beside)
    manifest |= {
        "fingerprint": split.fingerprint,
        "source": dict(source),
        "recipe": recipe.to_dict(),
        "steps": steps.done,
        "statistics": statistics(split),
    }
    return split


def find_unseen(
    rows: Rows, labels: Labels, user_ids: IdMap, item_ids: IdMap, rule: Unseen, part_names: Sequence[str]
) -> tuple[dict[str, Any], Mask | None]:
    """Counts and places of valid and test rows whose user or item never trains; under rule "error" the first raises.

    Every user and item of the maps has a row.
    """
    train = labels == TRAIN
    new_users = degrees(rows.users[train], len(user_ids)) == 0
    new_items = degrees(rows.items[train], len(item_ids)) == 0
    counts = {"users": int(np.count_nonzero(new_users)), "items": int(np.count_nonzero(new_items))}
    if not counts["users"] and not counts["items"]:
        return {"rule": rule, **counts, "valid_rows": 0, "test_rows": 0}, None
    by_user = new_users[rows.users]
    out = by_user | new_items[rows.items]
    if rule == "error":
        at = int(np.argmax(out))
        who = f"user {user_ids[int(rows.users[at])]!r}" if by_user[at] else f"item {item_ids[int(rows.items[at])]!r}"
        raise DataError(
            f"{who} is in {part_names[labels[at]]} but never in training ({part_names[TRAIN]}), one of "
            f"{counts['users']:,} such users and {counts['items']:,} such items; give them training rows, or choose "
            "unseen='keep' to rank them all the same or unseen='drop' to leave their rows out"
        )
    held_out = np.bincount(labels[out], minlength=len(PARTS))
    return {"rule": rule, **counts, "valid_rows": int(held_out[VALID]), "test_rows": int(held_out[TEST])}, out


def _pairs_not_in(rows: Rows, aside: Rows) -> Pairs:
    """Each pair of `aside` once, sorted, and none of `rows`, sorted too: who liked it later has it among the pairs."""
    aside = sort_pairs(aside)
    aside = aside.keep(pair_starts(aside))
    width = 1 + int(max(rows.items.max(initial=0), aside.items.max(initial=0)))
    keys, wanted = (part.users.astype(np.int64) * width + part.items for part in (rows, aside))
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    rest = aside.keep(keys[place] != wanted)
    return Pairs(rest.users, rest.items)


def _close_gaps(column: Int32, size: int) -> tuple[Int32, Int32 | None]:
    """The column over the positions in use, and which those were; None if all of them."""
    used = degrees(column, size) > 0
    if used.all():
        return column, None
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return place.take(column), np.flatnonzero(used).astype(np.int32)


def _positions(column: Int32, used: Int32 | None) -> tuple[Int32, Mask]:
    """The column over the positions in use (ascending; None if all), and which rows have one."""
    if used is None:
        return column, np.ones(len(column), np.bool_)
    place = np.searchsorted(used, column).astype(np.int32)
    return place, used[np.minimum(place, len(used) - 1)] == column
