"""From filtered rows to a Split: which rows train, validate and test, each pair once, dense ids, and the manifest.

The parts have exact counts, and are the same on every machine. Pairs that a filter took out, of users and items that
stay, are set aside: nothing is learnt from them or judged by them, but somebody who gave a film one star knows it, and
is not to be recommended it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.counter import bits, stream_key
from sahcns.data.filters import Int32, Int64, Mask, Rows, chunks, degrees, sort_pairs
from sahcns.data.ids import IdMap, Texts
from sahcns.data.recipe import Recipe, Unseen
from sahcns.data.split import PARTS, Pairs, Split
from sahcns.data.stats import statistics
from sahcns.errors import DataError
from sahcns.version import __version__

Labels = npt.NDArray[np.uint8]
TRAIN, VALID, TEST = 0, 1, 2  # positions in `split.PARTS`; the smaller wins where a repeated pair has several
FORMAT = "sahcns-prepared"
FORMAT_VERSION = 1


def assign(rows: Rows, recipe: Recipe) -> Labels:
    """Part [E] of each row: TRAIN, VALID or TEST. Rows are sorted by (user, item), and carry `when` for time splits."""
    if recipe.split == "random":
        return _by_rank(_draws(len(rows), recipe.seed), recipe.ratios)
    if recipe.split == "random-user":
        place = np.empty(len(rows), np.int32)
        place[np.argsort(_draws(len(rows), recipe.seed))] = np.arange(len(rows), dtype=np.int32)
        return _within_users(rows.users, place, part_sizes(_counts(rows.users), recipe.ratios))
    assert rows.when is not None
    if recipe.split == "time":
        return _by_rank(rows.when, recipe.ratios)
    if recipe.split == "time-user":
        return _within_users(rows.users, rows.when, part_sizes(_counts(rows.users), recipe.ratios))
    held_out = (_counts(rows.users) >= 3).astype(np.int64)  # of leave-last-out
    return _within_users(rows.users, rows.when, (held_out, held_out))


def hold_out(split: Split, share: float = 0.1) -> Split:
    """A split whose validation part is a random share of its training pairs, the same ones whoever asks."""
    train = split.train
    labels = _by_rank(_draws(len(train), 0), (1 - share, share, 0.0))
    return replace(split, train=train.take(labels == TRAIN), valid=train.take(labels == VALID), manifest={})


def part_sizes(counts: Int64, ratios: tuple[float, float, float]) -> tuple[Int64, Int64]:
    """Rows for validation and for test out of each of `counts`: its share, halves rounded up; training gets the rest.

    Validation and test are rounded alike, so equal shares give equal counts, and training keeps at least one row.
    The arithmetic is on whole numbers: 0.1 means one tenth, not the nearest binary fraction.
    """
    shares = [Fraction(str(ratio)) for ratio in ratios]
    kinds, kind_of = np.unique(counts, return_inverse=True)
    valid, test = (
        np.array([floor(int(count) * share / sum(shares) + Fraction(1, 2)) for count in kinds], np.int64)
        for share in shares[1:]
    )
    room = np.maximum(kinds - 1, 0)
    valid = np.minimum(valid, room)
    return valid[kind_of], np.minimum(test, room - valid)[kind_of]


def _draws(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """One number a row. Numbers of one stream never repeat, so their ranks are a random order without ties."""
    key = stream_key(seed, "split")
    drawn = np.empty(count, np.uint64)
    for part in chunks(count):
        drawn[part] = bits(key, part.stop - part.start, part.start)
    return drawn


def _by_rank(values: npt.NDArray[np.integer], ratios: tuple[float, float, float]) -> Labels:
    """The rows of the lowest values train, the next validate, the highest test; no value comes twice."""
    count = len(values)
    valid, test = (int(size[0]) for size in part_sizes(np.array([count]), ratios))
    begins = [rank for rank in (count - valid - test, count - test) if rank < count]  # of validation, of test
    ranked = np.partition(values, begins) if begins else values
    labels = np.zeros(count, np.uint8)
    for rank in begins:
        labels += values >= ranked[rank]
    return labels


def _within_users(users: Int32, place: Int32, sizes: tuple[Int64, Int64]) -> Labels:
    """Of each user's rows the last `sizes[1]` test, the `sizes[0]` before them validate; no two rows share a place."""
    row_at = np.empty(int(place.max(initial=-1)) + 1, np.int32)
    row_at[place] = np.arange(len(place), dtype=np.int32)
    keys = users.astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= place.astype(np.uint64)
    keys.sort()  # user by user, each user's rows by place
    keys &= np.uint64(0xFFFFFFFF)
    counts, (valid, test) = _counts(users), sizes
    labels = np.empty(len(users), np.uint8)
    labels[row_at[keys]] = np.repeat(
        np.tile(np.array([TRAIN, VALID, TEST], np.uint8), len(counts)),
        np.stack([counts - valid - test, valid, test], axis=1).ravel(),
    )
    return labels


def _counts(users: Int32) -> Int64:
    """How many rows each user has, in the order of the (sorted) users."""
    starts = np.flatnonzero(np.append(np.True_, users[1:] != users[:-1])) if len(users) else np.empty(0, np.int64)
    return np.diff(starts, append=len(users))


@dataclass
class Steps:
    """The steps as they go into the manifest, each with its rule and the counts after it; `source` is for errors."""

    source: str
    done: list[dict[str, Any]] = field(default_factory=list)

    def record(self, step: str, rule: str, rows: int, counts: tuple[int, int], remedy: str = "") -> None:
        """The counts after a step; one that left nothing is an error that names it, the counts before and `remedy`."""
        before = self.done[-1] if self.done else None
        if not rows:
            if before is None:
                raise DataError(f"{self.source} has no rows; there is nothing to prepare")
            met = f"{before['rows']:,} rows of {before['users']:,} users and {before['items']:,} items"
            raise DataError(
                f"nothing is left of {self.source} after the {step} step ({rule}), which met {met}; {remedy}"
            )
        users, items = counts if before is None or before["rows"] != rows else self.counts
        self.done.append({"step": step, "rule": rule, "users": users, "items": items, "rows": rows})

    @property
    def counts(self) -> tuple[int, int]:
        """Users and items after the last step."""
        return self.done[-1]["users"], self.done[-1]["items"]


@dataclass
class Dense:
    """Rows, and rows that a filter took out, with the ids, titles and categories that go with them."""

    rows: Rows
    user_ids: IdMap
    item_ids: IdMap
    titles: Texts | None
    categories: Texts | None
    aside: list[Rows] = field(default_factory=list)

    def close_gaps(self) -> None:
        """Drop the users and items without a row, and the rows set aside of these."""
        for side, kinds in (("users", ["user_ids"]), ("items", ["item_ids", "titles", "categories"])):
            used = degrees(getattr(self.rows, side), len(getattr(self, kinds[0]))) > 0
            if used.all():
                continue
            place = np.cumsum(used, dtype=np.int32) - np.int32(1)
            self.aside = [rows.keep(used[getattr(rows, side)]) for rows in self.aside]
            self.rows, *self.aside = (
                replace(rows, **{side: place.take(getattr(rows, side))}) for rows in (self.rows, *self.aside)
            )
            for kind in kinds:
                if getattr(self, kind) is not None:
                    setattr(self, kind, getattr(self, kind).take(np.flatnonzero(used)))


def assemble(
    dense: Dense,
    labels: Labels,
    recipe: Recipe,
    rule: str,
    steps: Steps,
    source: Mapping[str, object],
    part_names: Sequence[str] = PARTS,
) -> Split:
    """The split of rows sorted by (user, item); `part_names` is what an error calls the three parts."""
    total, starts = len(dense.rows), dense.rows.starts()
    if not starts.all():  # a repeated pair stays in training if it is there at all, else validation, else test
        dense.rows, labels = dense.rows.keep(starts), np.minimum.reduceat(labels, np.flatnonzero(starts))
    repeats = total - len(dense.rows)
    del starts
    dense.close_gaps()
    unseen, out = find_unseen(dense.rows, labels, dense.user_ids, dense.item_ids, recipe.unseen, part_names)
    if recipe.unseen == "drop" and out is not None:
        dense.rows, labels = dense.rows.keep(~out), labels[~out]
        dense.close_gaps()
    steps.record("split", rule, len(dense.rows), (len(dense.user_ids), len(dense.item_ids)))
    beside = _pairs_not_in(dense.rows, dense.aside)
    steps.done[-1] |= {"repeated_pairs_dropped": repeats, "unseen_in_training": unseen, "set_aside": len(beside)}

    weights = dense.rows.columns.get("weight")
    if weights is not None:
        if not weights.sum() > 0 or weights.min() < 0:
            raise DataError(
                f"weight={recipe.weight!r}: the weights of {steps.source} must be 0 or more, and some above"
            )
        weights = (weights / weights.mean()).astype(np.float32)
    pairs = Pairs(dense.rows.users, dense.rows.items, weights)
    train, valid, test = (pairs.take(labels == part) for part in range(len(PARTS)))
    manifest: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "sahcns_version": __version__}
    ids = dense.user_ids, dense.item_ids
    split = Split(train, valid, test, *ids, dense.titles, manifest, beside, dense.categories)
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


def _pairs_not_in(rows: Rows, aside: Sequence[Rows]) -> Pairs:
    """Each pair of `aside` once, sorted, and none of `rows`, sorted too: who liked it later has it among the pairs."""
    if not any(map(len, aside)):
        return Pairs.none()
    users, items = (np.concatenate([getattr(part, side) for part in aside]) for side in ("users", "items"))
    others = sort_pairs(Rows(users, items))
    others = others.keep(others.starts())
    width = 1 + int(max(rows.items.max(initial=0), others.items.max(initial=0)))
    keys, wanted = (part.users.astype(np.int64) * width + part.items for part in (rows, others))
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    rest = others.keep(keys[place] != wanted)
    return Pairs(rest.users, rest.items)
