"""Interactions → filters → split, every step counted; or the split that ready-made files describe."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Literal

import numpy as np
import numpy.typing as npt

from sahcns.data.filters import Int32, Rows, k_core, sort_pairs
from sahcns.data.ids import IdMap, Texts
from sahcns.data.interactions import Interactions
from sahcns.data.recipe import Recipe, Unseen
from sahcns.data.sifting import Sift, needs
from sahcns.data.split import PARTS, Split
from sahcns.data.splitting import TRAIN, Dense, Labels, Steps, assemble, assign, find_unseen
from sahcns.data.stored import Stored
from sahcns.errors import DataError, SettingError

Overlap = Literal["error", "drop"]


def prepare(interactions: Interactions | Stored, recipe: Recipe | None = None) -> Split:
    """The split that `recipe` (`Recipe()`, unless told) describes, its steps in the order that `Recipe` says.

    The manifest holds each step with the counts of users, items and rows after it.
    """
    recipe = recipe or Recipe()
    if not isinstance(interactions, Interactions | Stored):
        raise SettingError(f"interactions is of type {type(interactions).__name__}; read it first: prepare(read(…))")
    _check_columns(interactions, recipe)
    ids, texts = (interactions.user_ids, interactions.item_ids), (interactions.titles, interactions.categories)
    stored = interactions if isinstance(interactions, Stored) else None
    name, source, sizes = interactions.name, interactions.source, (len(ids[0]), len(ids[1]))
    sift = Sift(recipe, interactions.events, source, name, sizes, len(interactions), stored)
    blocks = interactions.blocks(sift.needed())
    del interactions  # where the caller keeps no hold on them either, each column goes once its step is done
    sift.take(blocks)
    steps = Steps(name)
    sift.record(steps)
    rows, aside = sift.finish(), sift.aside
    del sift
    rule = "off" if recipe.duplicates == "none" else f"keep {recipe.duplicates}"
    steps.record("duplicates", rule, len(rows), steps.counts)  # one row of each pair stays, so nobody is lost

    rule, counts = "off", steps.counts
    if recipe.core > 1:
        mask, n_users, n_items = k_core(rows.users, rows.items, recipe.core, *sizes)
        rows, rule, counts = rows.keep(mask), f"{recipe.core}-core", (n_users, n_items)
    steps.record("k-core", rule, len(rows), counts, "lower core, or loosen the steps before it")

    labels = assign(rows, recipe)
    made = Dense(replace(rows, when=None), *ids, *texts, aside)
    del rows, aside
    return assemble(made, labels, recipe, _split_rule(recipe), steps, source)


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
    for part in (train, valid, test):
        if not isinstance(part, Interactions | None):
            raise SettingError(f"a part is of type {type(part).__name__}; files that come split are read with read(…)")
    files = [(label, part) for label, part in enumerate((train, valid, test)) if part is not None]
    names = list(PARTS)
    for label, part in files:
        names[label] = part.name if part.source.get("files") else PARTS[label]
        if not len(part):
            raise DataError(f"{names[label]} has no rows; every part of a given split needs some")

    user_ids, to_users = _merge_ids([part.user_ids for _, part in files])
    item_ids, to_items = _merge_ids([part.item_ids for _, part in files])
    steps, counts = Steps(names[TRAIN]), (len(user_ids), len(item_ids))
    rows = Rows(
        np.concatenate([to[part.users] for to, (_, part) in zip(to_users, files, strict=True)]),
        np.concatenate([to[part.items] for to, (_, part) in zip(to_items, files, strict=True)]),
        np.concatenate([np.full(len(part), label, np.int32) for label, part in files]),
    )
    steps.record("read", " + ".join(f"{len(part):,} {PARTS[label]}" for label, part in files), len(rows), counts)
    rows, labels = _remove_overlap(rows, user_ids, item_ids, overlap, names)
    steps.record("duplicates", "each pair once, in the first of train, valid, test", len(rows), counts)

    rule = "given files"
    if valid is None:
        find_unseen(rows, labels, user_ids, item_ids, unseen, names)  # what the files lack, before rows are moved
        rest = float(1 - Fraction(str(holdout)))  # 1 - 0.7 is a little more than 0.3, and halves would be rounded down
        recipe = replace(recipe, ratios=(rest, holdout, 0), unseen="drop" if unseen == "drop" else "keep")
        labels[labels == TRAIN] = assign(rows.keep(labels == TRAIN), replace(recipe, split="random-user"))
        rule += f", with {holdout:g} of each user's training rows held out for validation, seed {seed}"
    titles, categories = (
        merge_texts([getattr(part, kind) for _, part in files], to_items, len(item_ids))
        for kind in ("titles", "categories")
    )
    source = {PARTS[label]: dict(part.source) for label, part in files}
    made = Dense(rows, user_ids, item_ids, titles, categories)
    return assemble(made, labels, recipe, rule, steps, source, names)


def _check_columns(interactions: Interactions | Stored, recipe: Recipe) -> None:
    """What the recipe asks of the interactions and they do not have."""
    if recipe.split == "given":
        raise SettingError("split='given' is for ready-made files: use prepare_given(train, valid, test)")
    for role, setting in needs(recipe):
        if role not in interactions.columns:
            files = interactions.source.get("files") or [interactions.source]
            names = [*files[0].get("unused", []), *filter(None, [files[0].get("columns", {}).get(role)])]
            raise DataError(
                f"{setting} needs {role}s, and {interactions.name} has none; name its {role} column with {role}="
                + (repr(names[0]) if len(names) == 1 else f", one of: {', '.join(names)}" if names else "")
            )


def _split_rule(recipe: Recipe) -> str:
    if recipe.split == "leave-last-out":
        return recipe.split
    shares = ":".join(f"{ratio:g}" for ratio in recipe.ratios)
    return f"{recipe.split} {shares}" + (f", seed {recipe.seed}" if recipe.split.startswith("random") else "")


def _remove_overlap(
    rows: Rows, user_ids: IdMap, item_ids: IdMap, overlap: Overlap, names: Sequence[str]
) -> tuple[Rows, Labels]:
    """Rows sorted by (user, item), each pair in the first of its parts; `rows.when` comes in as the part."""
    rows = sort_pairs(rows)
    assert rows.when is not None
    labels = rows.when.astype(np.uint8)
    starts = rows.starts()
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


def _merge_ids(maps: Sequence[IdMap]) -> tuple[IdMap, list[Int32]]:
    """One map over all ids, and for each given map where its positions went. Numbers and texts together are texts."""
    ids = [each.decode(range(len(each))) for each in maps]
    together = IdMap.of(chain.from_iterable(ids))
    place = {str(one): k for k, one in enumerate(together.decode(range(len(together))))}
    return together, [np.array([place[str(one)] for one in each], np.int32) for each in ids]


def merge_texts(
    given: Sequence[Texts | None], to_items: Sequence[npt.NDArray[np.integer]], n_items: int
) -> Texts | None:
    """One title or category an item: the first that is not empty."""
    if all(texts is None for texts in given):
        return None
    merged = [""] * n_items
    for texts, to in zip(given, to_items, strict=True):
        if texts is not None:
            for k, position in enumerate(to):
                merged[position] = merged[position] or texts[k]
    return Texts.of(merged)
