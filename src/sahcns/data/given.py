"""Training, validation and test from files that are already split: one id map over all, and nothing in two parts."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np

from sahcns.data.assemble import Steps, assemble, find_unseen
from sahcns.data.filters import Int32, Rows, pair_starts, sort_pairs
from sahcns.data.ids import IdMap, Texts
from sahcns.data.interactions import Interactions
from sahcns.data.recipe import Recipe, Unseen
from sahcns.data.split import PARTS, Split
from sahcns.data.splitting import TRAIN, Labels, assign
from sahcns.errors import DataError, SettingError

Overlap = Literal["error", "drop"]


def prepare_given(
    train: Interactions,
    valid: Interactions | None,
    test: Interactions,
    *,
    unseen: Unseen = "error",
    overlap: Overlap = "error",
    holdout: float = 0.1,
    seed: int = 0,
) -> Split:
    """The split that three files describe. Their ratings and times are not looked at, and a repeated row counts once.

    valid     None, for sets published without validation, takes `holdout` of each user's training rows at random
    unseen    a user or item of valid or test that training never has: "error", "keep" (and count) or "drop"
    overlap   a pair in two files: "error", or "drop" it from the later of train, valid, test
    """
    if overlap not in ("error", "drop"):
        raise SettingError(f"overlap={overlap!r} must be one of 'error', 'drop'")
    if not 0 < holdout < 1:
        raise SettingError(f"holdout={holdout!r} must be between 0 and 1, both excluded")
    recipe = Recipe(split="given", seed=seed, unseen=unseen)
    files = [(label, part) for label, part in enumerate((train, valid, test)) if part is not None]
    names = list(PARTS)
    for label, part in files:
        names[label] = part.name if part.source.get("files") else PARTS[label]
        if not len(part):
            raise DataError(f"{names[label]} has no rows; every part of a given split needs some")

    user_ids, to_users = _union([part.user_ids for _, part in files])
    item_ids, to_items = _union([part.item_ids for _, part in files])
    steps = Steps(len(user_ids), len(item_ids), names[TRAIN])
    rows = Rows(
        np.concatenate([to[part.users] for to, (_, part) in zip(to_users, files, strict=True)]),
        np.concatenate([to[part.items] for to, (_, part) in zip(to_items, files, strict=True)]),
        np.concatenate([np.full(len(part), label, np.int32) for label, part in files]),
    )
    steps.record("read", " + ".join(f"{len(part):,} {PARTS[label]}" for label, part in files), rows)
    rows, labels = _each_pair_once(rows, user_ids, item_ids, overlap, names)
    steps.record("duplicates", "each pair once, in the first of train, valid, test", rows, counts=steps.counts)

    rule = "given files"
    if valid is None:
        find_unseen(rows, labels, user_ids, item_ids, unseen, names)  # what the files lack, before rows are moved
        rest = float(1 - Fraction(str(holdout)))  # 1 - 0.7 is a little more than 0.3, and halves would be rounded down
        recipe = replace(recipe, ratios=(rest, holdout, 0), unseen="drop" if unseen == "drop" else "keep")
        labels[labels == TRAIN] = assign(rows.keep(labels == TRAIN), replace(recipe, split="random-user"))
        rule += f", with {holdout:g} of each user's training rows held out for validation, seed {seed}"
    return assemble(
        rows,
        labels,
        user_ids=user_ids,
        item_ids=item_ids,
        titles=_titles([part.titles for _, part in files], to_items, len(item_ids)),
        recipe=recipe,
        rule=rule,
        steps=steps,
        source={PARTS[label]: dict(part.source) for label, part in files},
        part_names=names,
    )


def _each_pair_once(
    rows: Rows, user_ids: IdMap, item_ids: IdMap, overlap: Overlap, names: Sequence[str]
) -> tuple[Rows, Labels]:
    """Rows sorted by (user, item), each pair in the first of its parts; `rows.when` comes in as the part."""
    rows = sort_pairs(rows)
    assert rows.when is not None
    labels = rows.when.astype(np.uint8)
    starts = pair_starts(rows)
    crossing = ~starts
    crossing[1:] &= labels[1:] != labels[:-1]
    if overlap == "error" and crossing.any():
        at = int(np.argmax(crossing))
        raise DataError(
            f"user {user_ids[int(rows.users[at])]!r} with item {item_ids[int(rows.items[at])]!r} is in "
            f"{names[labels[at - 1]]} and in {names[labels[at]]}, one of {int(crossing.sum()):,} such pairs; "
            "a pair may stand in one part only: remove it from the later file, or choose overlap='drop'"
        )
    return Rows(rows.users[starts], rows.items[starts]), labels[starts]


def _union(maps: Sequence[IdMap]) -> tuple[IdMap, list[Int32]]:
    """One map over all ids, and for each given map where its positions went. Numbers and texts together are texts."""
    numbers = [ids.values for ids in maps if not isinstance(ids.values, Texts)]
    if len(numbers) == len(maps):
        union = np.unique(np.concatenate(numbers))
        return IdMap(union), [np.searchsorted(union, values).astype(np.int32) for values in numbers]
    texts = [[str(ids[k]) for k in range(len(ids))] for ids in maps]
    together = IdMap.of(text for part in texts for text in part)
    position = {text: k for k, text in enumerate(together.decode(range(len(together))))}
    return together, [np.array([position[text] for text in part], np.int32) for part in texts]


def _titles(given: Sequence[Texts | None], to_items: Sequence[Int32], n_items: int) -> Texts | None:
    """One title an item: the first that is not empty."""
    if all(titles is None for titles in given):
        return None
    merged = [""] * n_items
    for titles, to in zip(given, to_items, strict=True):
        if titles is not None:
            for k, position in enumerate(to):
                merged[position] = merged[position] or titles[k]
    return Texts.of(merged)
