"""From labelled rows to a Split: each pair once, no pair in two parts, dense ids, and the manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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

    def record(self, step: str, rule: str, rows: Rows, remedy: str = "") -> None:
        """Counts after a step; a step that left nothing is an error that names it, the counts before and `remedy`."""
        before = self.done[-1] if self.done else None
        if not len(rows):
            if before is None:
                raise DataError(f"{self.source} has no rows; there is nothing to prepare")
            counts = f"{before['rows']:,} rows of {before['users']:,} users and {before['items']:,} items"
            raise DataError(
                f"nothing is left of {self.source} after the {step} step ({rule}), which met {counts}; {remedy}"
            )
        if before is not None and before["rows"] == len(rows):
            users, items = before["users"], before["items"]
        else:
            users = int(np.count_nonzero(degrees(rows.users, self.n_users)))
            items = int(np.count_nonzero(degrees(rows.items, self.n_items)))
        self.done.append({"step": step, "rule": rule, "users": users, "items": items, "rows": len(rows)})


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
) -> Split:
    """The split of rows sorted by (user, item); `part_names` are what an error calls the three parts."""
    total = len(rows)
    rows, labels = _each_pair_once(rows, labels)
    repeats = total - len(rows)
    unseen, out = refuse_unseen(rows, labels, user_ids, item_ids, recipe.unseen, part_names)
    if recipe.unseen == "drop":
        rows, labels = rows.keep(~out), labels[~out]
    steps.record("split", rule, rows)
    steps.done[-1]["repeated_pairs_dropped"] = repeats
    steps.done[-1]["unseen_in_training"] = unseen

    users, user_ids, _ = _dense(rows.users, user_ids)
    items, item_ids, kept_items = _dense(rows.items, item_ids)
    if titles is not None and len(titles) != len(item_ids):
        titles = titles.take(kept_items)
    train, valid, test = (Pairs(users[labels == part], items[labels == part]) for part in range(len(PARTS)))
    manifest: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "sahcns_version": __version__}
    split = Split(train, valid, test, user_ids=user_ids, item_ids=item_ids, titles=titles, manifest=manifest)
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


def refuse_unseen(
    rows: Rows, labels: Labels, user_ids: IdMap, item_ids: IdMap, rule: Unseen, part_names: Sequence[str]
) -> tuple[dict[str, Any], Mask]:
    """Counts and places of valid and test rows whose user or item never trains; under rule "error" the first raises."""
    train = labels == TRAIN
    new_users = degrees(rows.users[train], len(user_ids)) == 0
    new_items = degrees(rows.items[train], len(item_ids)) == 0
    by_user, by_item = new_users[rows.users], new_items[rows.items]
    out = by_user | by_item
    counts = {
        "users": len(np.unique(rows.users[by_user])),
        "items": len(np.unique(rows.items[by_item])),
        "valid_rows": int(np.count_nonzero(labels[out] == VALID)),
        "test_rows": int(np.count_nonzero(labels[out] == TEST)),
    }
    if rule == "error" and out.any():
        at = int(np.argmax(out))
        who = f"user {user_ids[int(rows.users[at])]!r}" if by_user[at] else f"item {item_ids[int(rows.items[at])]!r}"
        raise DataError(
            f"{who} is in {part_names[labels[at]]} but never in training ({part_names[TRAIN]}), one of "
            f"{counts['users']:,} such users and {counts['items']:,} such items; give them training rows, or choose "
            "unseen='keep' to rank them all the same or unseen='drop' to leave their rows out"
        )
    return {"rule": rule, **counts}, out


def _dense(column: Int32, ids: IdMap) -> tuple[Int32, IdMap, Int32]:
    """Positions without gaps, the map of the ids that are left, and which those were."""
    used = np.flatnonzero(degrees(column, len(ids))).astype(np.int32)
    if len(used) == len(ids):
        return column, ids, used
    position = np.zeros(len(ids), np.int32)
    position[used] = np.arange(len(used), dtype=np.int32)
    return position[column], ids.take(used), used
