"""Settings of a whole run, each by one name: `pool` is the sampler's, `backbone.depth` or `protocol.l2` another part's.

A trial of a search and a row of a comparison are a sampler and such settings, over the parts that all have in common.
"""

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any

from sahcns.errors import SettingError, nearest
from sahcns.settings import Configured, class_named

if TYPE_CHECKING:
    from sahcns.samplers import Sampler

JUDGED = ("mask", "monitor", "select_on")  # of the protocol: alike in all rows of a table, in all trials of a search
OBJECTIVE = {"name": "bpr"}  # of runs, jobs and searches from before there were others

Known = dict[str, tuple[type[Configured], "Field[Any]", Any]]
"""Name → the class that has the setting, its field, and its value unless told."""


def known_settings(kind: "type[Sampler]", parts: Mapping[str, Configured]) -> Known:
    """All that can be set of a run with this sampler and these `parts`, which go by `backbone`, `objective`, `protocol`."""
    known: Known = {entry.name: (kind, entry, entry.default) for entry in fields(kind)}
    for word, part in parts.items():
        own = (entry for entry in fields(part) if word != "protocol" or entry.name not in JUDGED)
        known |= {f"{word}.{entry.name}": (type(part), entry, getattr(part, entry.name)) for entry in own}
    return known


def built(kind: "type[Sampler]", settings: Mapping[str, Any], parts: Mapping[str, Configured]) -> dict[str, Any]:
    """The sampler and the parts with these settings, as `fit` takes them by name."""
    parts = with_objective(settings, parts)
    own: dict[str, dict[str, Any]] = {"": {}, **{word: {} for word in parts}}
    for name, value in settings.items():
        word, _, argument = name.rpartition(".")
        if word == "protocol" and argument in JUDGED:
            raise SettingError(f"{name} says how runs are judged, which is alike for all; leave it to the protocol")
        if word not in own:
            raise SettingError(f"{kind.name} has no argument {name!r}; {nearest(name, known_settings(kind, parts))}")
        if name != "objective":
            own[word][argument] = value
    changed = {word: type(part).from_dict({**part.to_dict(), **own[word]}) for word, part in parts.items()}
    return {"sampler": kind.from_dict(own[""]), **changed}


def rebuilt(told: Mapping[str, Any]) -> dict[str, Any]:
    """The sampler and the parts again, from their descriptions in a record, as `fit` takes them by name."""
    from sahcns.backbones import Backbone
    from sahcns.objectives import Objective
    from sahcns.samplers import Sampler
    from sahcns.training import Protocol

    bases: dict[str, type[Any]] = {
        "sampler": Sampler,
        "backbone": Backbone,
        "objective": Objective,
        "protocol": Protocol,
    }
    made = {}
    for word, base in bases.items():
        kind = base if base is Protocol else class_named(base, told[word]["name"])
        made[word] = kind.from_dict({name: value for name, value in told[word].items() if name != "name"})
    return made


def with_objective(settings: Mapping[str, Any], parts: Mapping[str, Configured]) -> Mapping[str, Configured]:
    """The parts with the objective that the settings name by `objective`, where that is another one."""
    if "objective" not in settings or settings["objective"] == parts["objective"].name:
        return parts
    from sahcns.objectives import Objective

    return {**parts, "objective": class_named(Objective, settings["objective"])()}
