"""From labelled rows to a Split: each pair once, no pair in two parts, dense ids, and the manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sahcns.data.aside import not_in, placed
from sahcns.data.core import degrees
from sahcns.data.filters import Int32, Mask, Rows, pair_starts
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
    total = len(rows)
    rows, labels = _each_pair_once(rows, labels)
    repeats = total - len(rows)
    rows, user_ids, item_ids, titles, aside = dense(rows, user_ids, item_ids, titles, aside)
    unseen, out = find_unseen(rows, labels, user_ids, item_ids, recipe.unseen, part_names)
    if recipe.unseen == "drop" and out is not None:
        rows, labels = rows.keep(~out), labels[~out]
        rows, user_ids, item_ids, titles, aside = dense(rows, user_ids, item_ids, titles, aside)
    steps.record("split", rule, rows, counts=(len(user_ids), len(item_ids)))
    beside = Pairs.none() if aside is None else not_in(rows, aside)
    steps.done[-1] |= {"repeated_pairs_dropped": repeats, "unseen_in_training": unseen, "set_aside": len(beside)}

    masks = (labels == part for part in range(len(PARTS)))
    train, valid, test = (Pairs(rows.users[mask], rows.items[mask]) for mask in masks)
    manifest: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "sahcns_version": __version__}
    split = Split(train, valid, test, user_ids, item_ids, titles, manifest, beside)
    manifest |= {
        "fingerprint": split.fingerprint,
        "source": dict(source),
        "recipe": recipe.to_dict(),
        "steps": steps.done,
        "statistics": statistics(split),
    }
    return split


def _each_pair_once(rows: Rows, labels: Labels) -> tuple[Rows, Labels]:
    """A repeated pair stays where it does no harm: in training if it is there at all, else validation, else test."""
    starts = pair_starts(rows)
    if starts.all():
        return rows, labels
    return rows.keep(starts), np.minimum.reduceat(labels, np.flatnonzero(starts))


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


def dense(
    rows: Rows, user_ids: IdMap, item_ids: IdMap, titles: Texts | None, aside: Rows | None
) -> tuple[Rows, IdMap, IdMap, Texts | None, Rows | None]:
    """Positions without gaps over the users and items that have a row; rows aside of others are gone."""
    users, used_users = _without_gaps(rows.users, len(user_ids))
    items, used_items = _without_gaps(rows.items, len(item_ids))
    if used_users is not None:
        user_ids = user_ids.take(used_users)
    if used_items is not None:
        item_ids, titles = item_ids.take(used_items), None if titles is None else titles.take(used_items)
    return Rows(users, items), user_ids, item_ids, titles, aside and placed(aside, used_users, used_items)


def _without_gaps(column: Int32, size: int) -> tuple[Int32, Int32 | None]:
    """The column over the positions in use, and which those were; None if all of them."""
    used = degrees(column, size) > 0
    if used.all():
        return column, None
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return place.take(column), np.flatnonzero(used).astype(np.int32)
