"""Raw interactions → filters → split, every step counted."""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sahcns.data.assemble import Steps, assemble
from sahcns.data.core import k_core
from sahcns.data.events import FEW, no_events
from sahcns.data.filters import Mask, Rows, distinct, joined, sort_pairs, time_order, within_years
from sahcns.data.interactions import Interactions
from sahcns.data.recipe import TIMED, Recipe
from sahcns.data.split import Split
from sahcns.data.splitting import assign
from sahcns.errors import DataError, SettingError

Scalar = TypeVar("Scalar", bound=np.generic)


def prepare(interactions: Interactions, recipe: Recipe | None = None) -> Split:
    """The split that `recipe` (`Recipe()`, unless told) describes: events → rating → window → duplicates → k-core → split.

    The manifest holds each step with the counts of users, items and rows after it.
    """
    recipe = recipe or Recipe()
    if not isinstance(interactions, Interactions):
        raise SettingError(f"interactions is of type {type(interactions).__name__}; read it first: prepare(read(…))")
    _refuse(interactions, recipe)
    steps = Steps(len(interactions.user_ids), len(interactions.item_ids), interactions.name)
    finish = partial(
        assemble,
        user_ids=interactions.user_ids,
        item_ids=interactions.item_ids,
        titles=interactions.titles,
        recipe=recipe,
        rule=_split_rule(recipe),
        steps=steps,
        source=interactions.source,
    )
    rows, ratings, times = Rows(interactions.users, interactions.items), interactions.ratings, interactions.times
    nanoseconds = interactions.nanoseconds if recipe.split in TIMED else None
    events, source = interactions.events, interactions.source
    glance: Any = source.get("glance", {})  # at the kinds of some rows
    del interactions  # where the caller keeps no hold on them either, each column goes once its step is done
    steps.record("read", "all rows", rows, counts=(steps.n_users, steps.n_items))

    if recipe.events is not None and events is not None:
        kinds = events.among(recipe.events, steps.source, _event_column(source))
        mask = kinds[events.codes]
        # Who has only viewed a thing may well be recommended it, so these rows are left out and not set aside.
        rows, ratings = rows.keep(mask), _kept(ratings, mask)
        times, nanoseconds = _kept(times, mask), _kept(nanoseconds, mask)
        steps.record("events", ", ".join(recipe.events), rows)
        steps.done[-1] |= {"kept": events.counts(kinds), "left_out": events.counts(~kinds)}
    elif 1 < len(alike := events.counts() if events is not None else glance.get("kinds", {})) <= FEW:
        steps.record("events", f"off, {len(alike)} kinds alike", rows)
        steps.done[-1] |= {"kept": alike, "left_out": {}} | ({"rows_looked_at": glance["rows"]} if glance else {})
    events = None

    aside: list[Rows] = []  # what the next two steps take out
    rule, remedy = "off", ""
    if recipe.min_rating is not None and ratings is not None:
        mask = ratings >= np.float32(recipe.min_rating)
        rule = f"rating ≥ {recipe.min_rating:g}"
        if not mask.any():
            remedy = f"its ratings run from {np.nanmin(ratings):g} to {np.nanmax(ratings):g}, so lower min_rating"
        aside.append(rows.keep(~mask))
        rows, times, nanoseconds = rows.keep(mask), _kept(times, mask), _kept(nanoseconds, mask)
    elif ratings is not None and len(ratings) and ratings.min() < ratings.max():
        rule = f"off, {ratings.min():g} to {ratings.max():g} alike"
    ratings = None
    steps.record("rating", rule, rows, remedy)

    rule, remedy = "off", ""
    if recipe.years is not None and times is not None:
        mask = within_years(times, recipe.years)
        rule = f"years {recipe.years[0]}–{recipe.years[1]}"
        if not mask.any():
            ends = np.array([times.min(), times.max()]).astype("datetime64[s]").astype("datetime64[D]")
            remedy = f"its times run from {ends[0]} to {ends[1]}, so choose other years"
        aside.append(rows.keep(~mask))
        # Which of several equal pairs stays is only seen by a split that looks at the time; else times end here.
        rows, times = rows.keep(mask), times[mask] if recipe.split in TIMED else None
        nanoseconds = _kept(nanoseconds, mask)
    steps.record("window", rule, rows, remedy)

    if recipe.split in TIMED and times is not None:
        rows = Rows(rows.users, rows.items, time_order(times, nanoseconds))
    rows = sort_pairs(rows)
    rows = rows.keep(distinct(rows, recipe.duplicates))
    rule = "off" if recipe.duplicates == "none" else f"keep {recipe.duplicates}"
    steps.record("duplicates", rule, rows, counts=steps.counts)  # one row of each pair stays, so nobody is lost

    rule, counts = "off", steps.counts
    if recipe.core > 1:
        mask, *left = k_core(rows.users, rows.items, recipe.core, steps.n_users, steps.n_items)
        rows, rule, counts = rows.keep(mask), f"{recipe.core}-core", (left[0], left[1])
    steps.record("k-core", rule, rows, "lower core, or loosen the steps before it", counts)

    return finish(rows, assign(rows, recipe), aside=joined(aside))


def _refuse(interactions: Interactions, recipe: Recipe) -> None:
    """What the recipe asks of the interactions and they do not have."""
    source = interactions.name
    if recipe.split == "given":
        raise SettingError("split='given' is for ready-made files: use prepare_given(train, valid, test)")
    if recipe.events is not None and interactions.events is None:
        raise DataError(no_events(interactions.source, source))
    if recipe.min_rating is not None and interactions.ratings is None:
        asked = f"min_rating={recipe.min_rating:g}"
        raise DataError(f"{asked} needs ratings, and {source} has none; name its rating column with rating=")
    if interactions.times is None:
        if recipe.years is not None:
            raise DataError(f"years={recipe.years} needs times, and {source} has none; name its time column with time=")
        if recipe.split in TIMED:
            raise DataError(
                f"split={recipe.split!r} needs times, and {source} has none; "
                "name its time column with time=, or split at random"
            )


def _event_column(source: Mapping[str, object]) -> object:
    columns = source.get("columns")
    return columns.get("event") if isinstance(columns, dict) else None


def _kept(column: npt.NDArray[Scalar] | None, mask: Mask) -> npt.NDArray[Scalar] | None:
    return None if column is None else column[mask]


def _split_rule(recipe: Recipe) -> str:
    if recipe.split == "leave-last-out":
        return recipe.split
    shares = ":".join(f"{ratio:g}" for ratio in recipe.ratios)
    return f"{recipe.split} {shares}" + (f", seed {recipe.seed}" if recipe.split.startswith("random") else "")
