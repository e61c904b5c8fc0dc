"""Interactions → filters → split, every step counted; or the split that ready-made files describe."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sahcns.data.filters import Int32, Rows, distinct, k_core, sort_pairs, take_back, time_order, weigh, within_years
from sahcns.data.ids import IdMap, Texts
from sahcns.data.interactions import FEW_KINDS, NAT, Interactions
from sahcns.data.recipe import TIMED, Recipe, Unseen
from sahcns.data.split import PARTS, Split
from sahcns.data.splitting import TRAIN, Dense, Labels, Steps, assemble, assign, find_unseen
from sahcns.errors import DataError, SettingError

Overlap = Literal["error", "drop"]


def prepare(interactions: Interactions, recipe: Recipe | None = None) -> Split:
    """The split that `recipe` (`Recipe()`, unless told) describes, its steps in the order that `Recipe` says.

    The manifest holds each step with the counts of users, items and rows after it.
    """
    recipe = recipe or Recipe()
    if not isinstance(interactions, Interactions):
        raise SettingError(f"interactions is of type {type(interactions).__name__}; read it first: prepare(read(…))")
    _check_columns(interactions, recipe)
    made = Dense(
        Rows(interactions.users, interactions.items, columns=_columns(interactions, recipe)),
        interactions.user_ids,
        interactions.item_ids,
        interactions.titles,
        interactions.categories,
    )
    steps = Steps(len(made.user_ids), len(made.item_ids), interactions.name)
    events, source = interactions.events, interactions.source
    del interactions  # where the caller keeps no hold on them either, each column goes once its step is done
    steps.record("read", "all rows", made.rows, counts=(steps.n_users, steps.n_items))

    if events is not None:
        kinds = None if recipe.events is None else events.choose(recipe.events, steps.source)
        kept = events.counts(kinds)
        if kinds is not None and recipe.events is not None:
            # Who has only viewed a thing may well be recommended it, so these rows are left out and not set aside.
            made.rows = made.rows.keep(kinds[events.codes])
            steps.record("events", ", ".join(recipe.events), made.rows)
            steps.done[-1] |= {"kept": kept, "left_out": events.counts(~kinds)}
        elif 1 < len(kept) <= FEW_KINDS:
            steps.record("events", f"off, {len(kept)} kinds alike", made.rows)
            steps.done[-1] |= {"kept": kept, "left_out": {}}
    events = None
    _drop_missing(made, recipe, source, steps)

    rows, aside = made.rows, list[Rows]()  # what the next three steps take out
    made.rows = Rows(np.empty(0, np.int32), np.empty(0, np.int32))
    if "quantity" in rows.columns:
        rows, back, returns = take_back(rows)
        if returns or len(back):
            aside.append(back.bare())
            remedy = "all was returned; leave quantities out with quantity=0"
            steps.record("returns", f"{returns:,} taken back", rows, remedy)
        rows = rows if recipe.weight in ("quantity", "price") else rows.drop("quantity")

    rule, remedy = "off", ""
    if (ratings := rows.columns.get("rating")) is not None:
        low, high = np.fmin.reduce(ratings), np.fmax.reduce(ratings)
        if recipe.min_rating is not None:
            mask = ratings >= np.float32(recipe.min_rating)
            rule = f"rating ≥ {recipe.min_rating:g}"
            remedy = f"its ratings run from {low:g} to {high:g}, so lower min_rating"
            aside.append(rows.bare().keep(~mask))
            rows = rows.keep(mask)
        elif low < high:
            rule = f"off, {low:g} to {high:g} alike"
        ratings, rows = None, rows if recipe.weight == "rating" else rows.drop("rating")
    steps.record("rating", rule, rows, remedy)

    rule, remedy = "off", ""
    if recipe.years is not None:
        mask, ends = within_years(rows.columns["time"], recipe.years)
        rule, remedy = f"years {recipe.years[0]}–{recipe.years[1]}", f"its times run from {ends}, so choose other years"
        aside.append(rows.bare().keep(~mask))
        # Which of several equal pairs stays is only seen by a split that looks at the time; else times end here.
        rows = (rows if recipe.split in TIMED or recipe.half_life else rows.drop("time")).keep(mask)
    steps.record("window", rule, rows, remedy)

    if recipe.split in TIMED:
        rows = replace(rows, when=time_order(rows.columns["time"], rows.columns.get("past"))).drop("past")
        rows = rows if recipe.half_life else rows.drop("time")
    rows = sort_pairs(rows)
    if recipe.weight is not None or recipe.half_life is not None:
        rows = weigh(rows, recipe.weight, recipe.half_life)
    rows = rows.keep(distinct(rows, recipe.duplicates))
    rule = "off" if recipe.duplicates == "none" else f"keep {recipe.duplicates}"
    steps.record("duplicates", rule, rows, counts=steps.counts)  # one row of each pair stays, so nobody is lost

    rule, counts = "off", steps.counts
    if recipe.core > 1:
        mask, n_users, n_items = k_core(rows.users, rows.items, recipe.core, steps.n_users, steps.n_items)
        rows, rule, counts = rows.keep(mask), f"{recipe.core}-core", (n_users, n_items)
    steps.record("k-core", rule, rows, "lower core, or loosen the steps before it", counts)

    labels = assign(rows, recipe)
    made.rows = replace(rows, when=None)
    made.aside = aside
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
    files = [(label, part) for label, part in enumerate((train, valid, test)) if part is not None]
    names = list(PARTS)
    for label, part in files:
        names[label] = part.name if part.source.get("files") else PARTS[label]
        if not len(part):
            raise DataError(f"{names[label]} has no rows; every part of a given split needs some")

    user_ids, to_users = _merge_ids([part.user_ids for _, part in files])
    item_ids, to_items = _merge_ids([part.item_ids for _, part in files])
    steps = Steps(len(user_ids), len(item_ids), names[TRAIN])
    rows = Rows(
        np.concatenate([to[part.users] for to, (_, part) in zip(to_users, files, strict=True)]),
        np.concatenate([to[part.items] for to, (_, part) in zip(to_items, files, strict=True)]),
        np.concatenate([np.full(len(part), label, np.int32) for label, part in files]),
    )
    steps.record("read", " + ".join(f"{len(part):,} {PARTS[label]}" for label, part in files), rows)
    rows, labels = _remove_overlap(rows, user_ids, item_ids, overlap, names)
    steps.record("duplicates", "each pair once, in the first of train, valid, test", rows, counts=steps.counts)

    rule = "given files"
    if valid is None:
        find_unseen(rows, labels, user_ids, item_ids, unseen, names)  # what the files lack, before rows are moved
        rest = float(1 - Fraction(str(holdout)))  # 1 - 0.7 is a little more than 0.3, and halves would be rounded down
        recipe = replace(recipe, ratios=(rest, holdout, 0), unseen="drop" if unseen == "drop" else "keep")
        labels[labels == TRAIN] = assign(rows.keep(labels == TRAIN), replace(recipe, split="random-user"))
        rule += f", with {holdout:g} of each user's training rows held out for validation, seed {seed}"
    titles, categories = (
        _merge_texts([getattr(part, kind) for _, part in files], to_items, len(item_ids))
        for kind in ("titles", "categories")
    )
    source = {PARTS[label]: dict(part.source) for label, part in files}
    made = Dense(rows, user_ids, item_ids, titles, categories)
    return assemble(made, labels, recipe, rule, steps, source, names)


def _check_columns(interactions: Interactions, recipe: Recipe) -> None:
    """What the recipe asks of the interactions and they do not have."""
    if recipe.split == "given":
        raise SettingError("split='given' is for ready-made files: use prepare_given(train, valid, test)")
    columns = {role: getattr(interactions, f"{role}s") for role in ("event", "rating", "time", "price")}
    columns["quantity"] = interactions.quantities
    for role, setting in _needs(recipe):
        if columns[role] is None:
            files = interactions.source.get("files") or [interactions.source]
            names = [*files[0].get("unused", []), *filter(None, [files[0].get("columns", {}).get(role)])]
            raise DataError(
                f"{setting} needs {role}s, and {interactions.name} has none; name its {role} column with {role}="
                + (repr(names[0]) if len(names) == 1 else f", one of: {', '.join(names)}" if names else "")
            )


def _columns(interactions: Interactions, recipe: Recipe) -> dict[str, npt.NDArray[Any]]:
    """What the steps look at."""
    timed, weight = recipe.split in TIMED, recipe.weight
    columns = {
        "rating": interactions.ratings,
        "time": interactions.times if timed or recipe.years or recipe.half_life else None,
        "past": interactions.nanoseconds if timed else None,
        "quantity": interactions.quantities,
        "price": interactions.prices if weight == "price" else None,
    }
    return {name: column for name, column in columns.items() if column is not None}


def _drop_missing(made: Dense, recipe: Recipe, source: Mapping[str, Any], steps: Steps) -> None:
    """Leave out rows that lack what a step needs, where they were read leniently; else one is an error."""
    lost: dict[str, int] = {}
    for role, setting in _needs(recipe):
        column = made.rows.columns.get(role)
        if column is None:
            continue
        absent = (column == NAT) if role == "time" else np.isnan(column)
        if not (count := int(np.count_nonzero(absent))):
            continue
        if not source.get("lenient"):
            entry = source.get("missing", {}).get(role)
            first = f", the first in line {entry['first_line']:,} of {entry['file']}" if entry else ""
            raise DataError(
                f"{setting} needs {role}s, and {count:,} rows of {steps.source} have none{first}; fill them in, or read "
                "with lenient to leave such rows out"
            )
        made.rows, lost[role] = made.rows.keep(~absent), count
    if lost:
        rule = ", ".join(f"{count:,} without {role}" for role, count in lost.items())
        steps.record("missing", rule, made.rows, "fill them in")


def _needs(recipe: Recipe) -> list[tuple[str, str]]:
    """Which roles the settings need."""
    needs = [
        ("event", "events", recipe.events is not None),
        ("rating", "min_rating", recipe.min_rating is not None),
        ("time", "years", recipe.years is not None),
        ("time", "split", recipe.split in TIMED),
        ("time", "half_life", recipe.half_life is not None),
        (recipe.weight or "", "weight", recipe.weight not in (None, "rows")),
    ]
    return [(role, f"{name}={getattr(recipe, name)!r}") for role, name, needed in needs if needed]


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


def _merge_texts(given: Sequence[Texts | None], to_items: Sequence[Int32], n_items: int) -> Texts | None:
    """One title or category an item: the first that is not empty."""
    if all(texts is None for texts in given):
        return None
    merged = [""] * n_items
    for texts, to in zip(given, to_items, strict=True):
        if texts is not None:
            for k, position in enumerate(to):
                merged[position] = merged[position] or texts[k]
    return Texts.of(merged)
