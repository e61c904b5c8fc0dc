"""What a prepared set is called in tables: the catalogue's name, and what makes it another set than the catalogue's."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sahcns.data.catalogue import CATALOGUE, NamedSet


def data_name(manifest: Mapping[str, Any], folder: str | os.PathLike[str]) -> str:
    """`ml-1m`; `ml-1m (10-core)` where filters or split are not the catalogue's; for a set without a name its folder's.

    A set that was prepared as the catalogue says, but does not have its counts, is told by its fingerprint.
    """
    about = manifest.get("catalogue")
    name = about.get("name") if isinstance(about, Mapping) else None
    if not isinstance(about, Mapping) or not name:
        return Path(os.path.realpath(folder)).name
    recipe, wanted = manifest.get("recipe"), CATALOGUE.get(name)
    changed = list(_changes(wanted, recipe)) if wanted is not None and isinstance(recipe, Mapping) else []
    if not changed and about.get("differs_from_catalogue"):
        changed = [f"data {str(manifest.get('fingerprint', ''))[:10]}"]
    return f"{name} ({', '.join(changed)})" if changed else str(name)


def _changes(wanted: NamedSet, recipe: Mapping[str, Any]) -> Iterator[str]:
    """Each setting that is not the catalogue's, in a word or two."""
    own = wanted.recipe.to_dict()
    counts = list(own) if "all" in wanted.parts else ["unseen", *(["seed"] if "valid" not in wanted.parts else [])]
    alike: dict[str, Callable[[Any], Any]] = {
        "ratios": lambda ratios: [round(share / sum(ratios), 9) for share in ratios],  # 8:1:1 is 0.8:0.1:0.1
        "core": lambda core: max(core, 1),  # 0 and 1 are off
    }
    words: dict[str, Callable[[Any], str]] = {
        "events": lambda events: "all events" if events is None else "+".join(events),
        "min_rating": lambda least: "all ratings" if least is None else f"ratings ≥ {least:g}",
        "years": lambda years: "all years" if years is None else "{}–{}".format(*years),
        "core": lambda core: f"{core}-core" if core > 1 else "no core",
        "ratios": lambda ratios: ":".join(f"{share:g}" for share in ratios),
    }
    for setting in counts:
        value, same = recipe.get(setting, own[setting]), alike.get(setting, lambda value: value)
        if same(value) != same(own[setting]):
            yield words[setting](value) if setting in words else f"{setting} {value}"
