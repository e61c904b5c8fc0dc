"""A whole comparison before anything of it is built: from a TOML or YAML file, from the command line, or from both.

    data = ["films"]                # seeds, workers, device, kernels, baseline, tuned, out and import stand here too
    backbones = ["lightgcn", {name = "simgcl", dim = 32}]
    samplers = ["rns", "dns", {name = "dns", label = "dns-50", pool = 50}, "sahc"]
    [protocol]
    epochs = 200

Paths in a file are relative to the file.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.cli.plan import load, made
from sahcns.errors import SettingError, nearest

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.lab.comparison.compare import Contestant
    from sahcns.training import Protocol

KEYS = (
    *("data", "out", "seeds", "backbones", "samplers", "protocol", "tuned", "baseline"),
    *("workers", "device", "kernels", "import"),
)
SAMPLERS, BACKBONES, SEEDS = ("rns", "dns", "mixgcf", "sahc"), ("lightgcn",), 5
MANY = 1000  # seeds that nobody asks for, but 2020 is one

Part = Mapping[str, Any]
"""`{"name": "dns", "label": "dns-50", "pool": 50}`."""


@dataclass(frozen=True)
class ComparePlan:
    """What was said about a comparison; None, or nothing, where nothing was said."""

    data: tuple[str, ...] = ()
    out: Path | None = None
    seeds: int | Sequence[int] | None = None
    samplers: tuple[Part, ...] = ()
    backbones: tuple[Part, ...] = ()
    protocol: Mapping[str, Any] = field(default_factory=dict)
    tuned: tuple[Path, ...] = ()
    baseline: str | None = None
    workers: int | None = None
    device: str | None = None
    kernels: str | None = None
    imports: tuple[Path, ...] = ()

    def over(self, file: "ComparePlan") -> "ComparePlan":
        """This plan, and `file` where this one says nothing."""
        merged: dict[str, Any] = {}
        for entry in dataclasses.fields(self):
            mine, other = getattr(self, entry.name), getattr(file, entry.name)
            if entry.name == "protocol":
                merged[entry.name] = {**other, **mine}
            elif entry.name == "imports":
                merged[entry.name] = other + mine
            else:
                merged[entry.name] = other if mine in (None, ()) else mine
        return ComparePlan(**merged)

    def build(self, assigned: Sequence[str]) -> "tuple[list[Contestant], list[Backbone], Protocol]":
        """The rows, the backbones and the protocol, with what `--set` says; torch is imported here."""
        from sahcns.backbones import Backbone
        from sahcns.lab.comparison.compare import Contestant
        from sahcns.samplers import Sampler
        from sahcns.settings import class_named
        from sahcns.training import Protocol

        samplers = [dict(part) for part in self.samplers or _named(SAMPLERS)]
        backbones = [dict(part) for part in self.backbones or _named(BACKBONES)]
        drawing = {part["name"] for part in samplers if class_named(Sampler, part["name"]).draws_negatives()}
        for text in assigned:
            _assign(text, samplers, backbones, drawing)
        rows = []
        for part in samplers:
            kind = class_named(Sampler, part["name"])
            told = {name: value for name, value in part.items() if name not in ("name", "label")}
            settings = {
                name: kind.parsed(name, value) if isinstance(value, str) else value for name, value in told.items()
            }
            made(kind, settings)  # refused now, in its own words
            rows.append(Contestant(kind, settings, part.get("label") or kind.name))
        models = [made(class_named(Backbone, part.pop("name")), part) for part in backbones]
        return rows, models, made(Protocol, self.protocol)


def names_in(text: str | None, option: str) -> tuple[Part, ...]:
    """`rns,dns` as parts."""
    if text is None:
        return ()
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise SettingError(f"{option} {text!r} names nothing; names stand with commas between, such as rns,sahc")
    return _named(names)


def seeds_in(text: str | None) -> int | list[int] | None:
    """`5` is a number of seeds, `2020,2021` and `7,` are seeds."""
    if text is None:
        return None
    if text.isdecimal() and int(text) >= MANY:
        raise SettingError(
            f"--seeds {text} would be {text} runs of each; for the seed {text} alone write --seeds {text},"
        )
    try:
        return [int(part) for part in text.split(",") if part.strip()] if "," in text else int(text)
    except ValueError:
        raise SettingError(
            f"--seeds {text!r} must be a number of seeds, or seeds with commas, such as 2020,2021"
        ) from None


def read_compare_plan(path: Path) -> ComparePlan:
    """The plan in a TOML or YAML file."""
    values = load(path)
    for key in values:
        if key not in KEYS:
            raise SettingError(f"{path}: a comparison has no {key!r}; {nearest(str(key), KEYS)}")
    for name, kind, what in (("device", str, "text"), ("kernels", str, "text"), ("baseline", str, "text")):
        _of_kind(path, name, values.get(name), kind, what)
    _of_kind(path, "out", values.get("out"), str, "a folder")
    _of_kind(path, "workers", values.get("workers"), int, "a whole number")
    _of_kind(path, "protocol", values.get("protocol"), dict, "a section")
    seeds = values.get("seeds")
    if isinstance(seeds, bool) or not (seeds is None or isinstance(seeds, int) or _all(seeds, int)):
        raise SettingError(f"{path}: seeds={seeds!r} must be a whole number or a list of them")
    sets = _texts(path, values, "data")
    return ComparePlan(
        data=tuple(str(path.parent / name) if (path.parent / name).exists() else name for name in sets),
        out=path.parent / values["out"] if "out" in values else None,
        seeds=seeds,
        samplers=_parts(path, values, "samplers"),
        backbones=_parts(path, values, "backbones"),
        protocol=values.get("protocol", {}),
        tuned=tuple(path.parent / name for name in _texts(path, values, "tuned")),
        baseline=values.get("baseline"),
        workers=values.get("workers"),
        device=values.get("device"),
        kernels=values.get("kernels"),
        imports=tuple(path.parent / name for name in _texts(path, values, "import")),
    )


def _named(names: Sequence[str]) -> tuple[Part, ...]:
    return tuple({"name": name} for name in names)


def kept_pools(rows: "Sequence[Contestant]", assigned: Sequence[str]) -> list[str]:
    """What to say of those that a pool for all has left alone."""
    if not any(text.partition("=")[0].strip() == "pool" for text in assigned):
        return []
    drawing = [row for row in rows if row.kind.draws_negatives()]
    return [
        f"{row.label}: its pool stays {row.settings.get('pool', row.kind().pool)}; it draws negatives, not candidates "
        f"(--set {row.label}.pool=… changes it)"
        for row in drawing
        if len(drawing) < len(rows)
    ]


def _assign(
    text: str, samplers: list[dict[str, Any]], backbones: list[dict[str, Any]], drawing: Collection[str]
) -> None:
    """`sahc.alpha=0.3`, `backbone.dim=32`, `backbone.simgcl.dim=32`, or `pool=20` for every sampler.

    One pool for all is for those that choose from it; the others, `drawing` negatives, have it if they are alone.
    """
    name, equals, value = text.partition("=")
    *where, argument = name.strip().split(".")
    if not equals or not argument or len(where) > 2 or (len(where) == 2 and where[0] != "backbone"):
        raise SettingError(f"--set {text!r} must be NAME=VALUE, such as sahc.alpha=0.3, pool=20 or backbone.dim=32")
    if where[:1] == ["backbone"]:
        meant = [part for part in backbones if where[1:] in ([], [part["name"]])]
        known = [f"backbone.{part['name']}" for part in backbones]
    else:
        meant = [part for part in samplers if not where or where[0] in (part["name"], part.get("label"), "sampler")]
        known = [part.get("label") or part["name"] for part in samplers] + ["backbone"]
        if (where, argument) == ([], "pool"):
            meant = [part for part in samplers if part["name"] not in drawing] or samplers
    if not meant:
        raise SettingError(f"--set {text!r}: {'.'.join(where)} is not compared; {nearest('.'.join(where), known)}")
    for part in meant:
        part[argument] = value


def _parts(path: Path, values: Mapping[str, Any], name: str) -> tuple[Part, ...]:
    """A list of names or of sections with a name."""
    found = values.get(name, [])
    listed = found if isinstance(found, list) else [found]
    parts = [{"name": one} if isinstance(one, str) else one for one in listed]
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in parts):
        raise SettingError(
            f'{path}: {name} must be a list of names, or of sections with a name, such as {{name = "…"}}'
        )
    return tuple(parts)


def _texts(path: Path, values: Mapping[str, Any], name: str) -> list[str]:
    found = values.get(name, [])
    listed = [found] if isinstance(found, str) else found
    if not _all(listed, str):
        raise SettingError(f"{path}: {name}={found!r} must be a name or a list of names")
    return list(listed)


def _all(found: object, kind: type) -> bool:
    return isinstance(found, list) and all(isinstance(one, kind) and not isinstance(one, bool) for one in found)


def _of_kind(path: Path, name: str, found: object, kind: type, what: str) -> None:
    if found is not None and (not isinstance(found, kind) or isinstance(found, bool)):
        raise SettingError(f"{path}: {name}={found!r} must be {what}")
