"""A set of the catalogue from its name to its split."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from sahcns.data.catalogue import Counts, NamedSet, named_set
from sahcns.data.given import prepare_given
from sahcns.data.interactions import Interactions
from sahcns.data.obtain import find, obtain
from sahcns.data.preparing import prepare
from sahcns.data.recipe import Recipe
from sahcns.data.split import Split
from sahcns.errors import DataError


def prepare_named(
    wanted: NamedSet | str,
    folder: str | os.PathLike[str] | None = None,
    recipe: Recipe | None = None,
    *,
    lenient: bool = False,
) -> Split:
    """The split of a named set by its own recipe or another: `prepare_named("ml-latest-small")`.

    folder    where its files are; None has `obtain` look in the cache, and download what is missing

    The manifest says which set it is, on what terms, and whether its counts are those of the catalogue.
    """
    wanted = named_set(wanted) if isinstance(wanted, str) else wanted
    home = obtain(wanted) if folder is None else Path(folder)
    recipe = recipe or wanted.recipe
    parts = {part: _read(wanted, home, name, lenient) for part, name in wanted.parts.items()}
    if "all" in parts:
        split = prepare(parts["all"], recipe)
    else:
        split = prepare_given(
            parts["train"],
            parts.get("valid"),
            parts["test"],
            unseen=recipe.unseen,
            overlap="drop",
            seed=recipe.seed,
        )
    about: dict[str, Any] = {"name": wanted.name, "homepage": wanted.homepage, "terms": wanted.terms}
    if recipe == wanted.recipe:
        about["differs_from_catalogue"] = wanted.expected.differences(counts(split))
    return replace(split, manifest={**split.manifest, "catalogue": about})


def counts(split: Split) -> Counts:
    """The numbers that the catalogue keeps of a split."""
    parts = {name: len(pairs) for name, pairs in split.parts().items()}
    return Counts(sum(parts.values()), split.n_users, split.n_items, **parts)


def _read(wanted: NamedSet, folder: Path, name: str, lenient: bool) -> Interactions:
    from sahcns.data.readers import read

    path = find(folder, name)
    if path is None:
        raise DataError(f"{folder} has no {name}; run: sahcns data get {wanted.name}")
    arguments: dict[str, Any] = {"event": 0, **wanted.reading, "lenient": lenient}
    return read(path, **arguments)
