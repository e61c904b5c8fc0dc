"""A comparison as options and a TOML or YAML file say it.

    data = ["films"]                # seeds, workers, device, kernels, baseline, tuned, out and import stand here too
    backbones = ["lightgcn", {name = "simgcl", dim = 32}]
    samplers = ["rns", "dns", {name = "dns", label = "dns-50", pool = 50}, "sahc"]
    [protocol]
    epochs = 200

Paths in a file are relative to the file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.cli.plan import build_part, load, take, take_texts
from sahcns.errors import SettingError, nearest

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.lab.comparison.compare import Contestant
    from sahcns.training import Protocol

KINDS = {"out": str, "device": str, "kernels": str, "baseline": str, "workers": int, "protocol": dict}
KEYS = ("data", "seeds", "backbones", "samplers", "tuned", "import", *KINDS)
SAMPLERS, BACKBONES = ("rns", "dns", "mixgcf", "sahc"), ("lightgcn",)
MANY = 1000  # seeds that nobody asks for, but 2020 is one

Spec = dict[str, Any]
"""`{"name": "dns", "label": "dns-50", "pool": 50}`."""


def read_comparison(path: Path) -> dict[str, Any]:
    """The values of a file, checked, with paths as seen from here."""
    values, home = load(path, KEYS), path.parent
    checked = {name: value for name, kind in KINDS.items() if (value := take(path, values, name, kind)) is not None}
    if "out" in checked:
        checked["out"] = home / checked["out"]
    checked["data"] = [str(home / one) if (home / one).exists() else one for one in take_texts(path, values, "data")]
    checked |= {name: [home / one for one in take_texts(path, values, name)] for name in ("tuned", "import")}
    if (seeds := values.get("seeds")) is not None:
        for seed in seeds if isinstance(seeds, list) else [seeds]:
            take(path, {"seeds": seed}, "seeds", int)
        checked["seeds"] = seeds
    for name in ("samplers", "backbones"):
        given = values.get(name, [])
        specs = [
            {"name": one} if isinstance(one, str) else one for one in (given if isinstance(given, list) else [given])
        ]
        if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in specs):
            raise SettingError(f'{path}: {name} must be a list of names, or of sections such as {{name = "…"}}')
        checked[name] = specs
    return checked


def parse_names(text: str, option: str) -> list[Spec]:
    """`rns,dns`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise SettingError(f"{option} {text!r} names nothing; names stand with commas between, such as rns,sahc")
    return [{"name": name} for name in names]


def parse_seeds(text: str) -> int | list[int]:
    """`5` is a number of seeds, `2020,2021` and `7,` are seeds."""
    if text.isdecimal() and int(text) >= MANY:
        raise SettingError(
            f"--seeds {text} would be {text} runs of each; for the seed {text} alone write --seeds {text},"
        )
    try:
        return [int(part) for part in text.split(",") if part.strip()] if "," in text else int(text)
    except ValueError:
        raise SettingError(f"--seeds {text!r} must be a number, or seeds with commas, such as 2020,2021") from None


def build(
    samplers: Sequence[Spec], backbones: Sequence[Spec], protocol: Mapping[str, Any], assignments: Sequence[str]
) -> "tuple[list[Contestant], list[Backbone], Protocol]":
    """The rows, the backbones and the protocol, with what `--set` says; torch is imported here."""
    from sahcns.backbones import Backbone
    from sahcns.lab.comparison.compare import Contestant
    from sahcns.samplers import Sampler
    from sahcns.settings import class_named
    from sahcns.training import Protocol

    choosers = [dict(spec) for spec in samplers or [{"name": name} for name in SAMPLERS]]
    models = [dict(spec) for spec in backbones or [{"name": name} for name in BACKBONES]]
    for text in assignments:
        _assign(text, choosers, models)
    rows = []
    for spec in choosers:
        kind, label = class_named(Sampler, spec.pop("name")), spec.pop("label", "")
        settings = {name: kind.parsed(name, value) if isinstance(value, str) else value for name, value in spec.items()}
        build_part(kind, settings)  # refused now, in its own words
        rows.append(Contestant(kind, settings, label or kind.name))
    return (
        rows,
        [build_part(class_named(Backbone, spec.pop("name")), spec) for spec in models],
        build_part(Protocol, protocol),
    )


def unchanged_pools(rows: "Sequence[Contestant]", assignments: Sequence[str]) -> list[str]:
    """A sentence for each sampler that `--set pool=…` for all leaves alone."""
    drawing = [row for row in rows if row.kind.draws_negatives]
    if len(drawing) == len(rows) or not any(text.partition("=")[0].strip() == "pool" for text in assignments):
        return []
    return [
        f"{row.label}: its pool stays {row.settings.get('pool', row.kind().pool)}; it draws negatives, not candidates "
        f"(--set {row.label}.pool=… changes it)"
        for row in drawing
    ]


def _assign(text: str, samplers: list[Spec], backbones: list[Spec]) -> None:
    """`sahc.alpha=0.3`, `backbone.dim=32`, `backbone.simgcl.dim=32`, or `pool=20` for every sampler.

    One pool for all is for those that choose from it; those that draw negatives have it if they are alone.
    """
    from sahcns.samplers import Sampler
    from sahcns.settings import class_named

    name, equals, value = text.partition("=")
    *where, argument = name.strip().split(".")
    if not equals or not argument or len(where) > 2 or (len(where) == 2 and where[0] != "backbone"):
        raise SettingError(f"--set {text!r} must be NAME=VALUE, such as sahc.alpha=0.3, pool=20 or backbone.dim=32")
    if where[:1] == ["backbone"]:
        meant = [spec for spec in backbones if where[1:] in ([], [spec["name"]])]
        known = [f"backbone.{spec['name']}" for spec in backbones]
    else:
        meant = [spec for spec in samplers if not where or where[0] in (spec["name"], spec.get("label"), "sampler")]
        known = [spec.get("label") or spec["name"] for spec in samplers] + ["backbone"]
        if (where, argument) == ([], "pool"):
            meant = [spec for spec in samplers if not class_named(Sampler, spec["name"]).draws_negatives] or samplers
    if not meant:
        raise SettingError(f"--set {text!r}: {'.'.join(where)} is not compared; {nearest('.'.join(where), known)}")
    for spec in meant:
        spec[argument] = value
