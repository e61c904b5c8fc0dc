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

from sahcns.cli import plan
from sahcns.cli.options import parse_assignment, parse_numbers
from sahcns.errors import SettingError, nearest

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.lab.comparison.compare import Contestant
    from sahcns.training import Protocol

COMPARISON: dict[str, plan.Kind] = {
    "data": plan.many(plan.data),
    "out": plan.path,
    "seeds": lambda home, value: (plan.many(plan.number) if isinstance(value, list) else plan.number)(home, value),
    "backbones": plan.many(plan.part),
    "samplers": plan.many(plan.part),
    "protocol": plan.section,
    "baseline": plan.text,
    "tuned": plan.many(plan.path),
    "import": plan.many(plan.path),
    "workers": plan.number,
    "device": plan.text,
    "kernels": plan.text,
}
SAMPLERS, BACKBONES = ("rns", "dns", "mixgcf", "sahc"), ("lightgcn",)
MANY = 1000  # seeds that nobody asks for, but 2020 is one

Spec = dict[str, Any]
"""`{"name": "dns", "label": "dns-50", "pool": 50}`."""


def read_comparison(file: Path) -> dict[str, Any]:
    """The values of a file, checked, with paths as seen from here."""
    return plan.read_file(file, COMPARISON)


def parse_seeds(text: str) -> int | list[int]:
    """`5` is a number of seeds, `2020,2021` and `7,` are seeds."""
    seeds = parse_numbers("--seeds", text)
    if "," in text:
        return seeds
    if seeds[0] >= MANY:
        raise SettingError(
            f"--seeds {text} would be {text} runs of each; for the seed {text} alone write --seeds {text},"
        )
    return seeds[0]


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
        settings = plan.parse_values(kind, spec)
        kind.from_dict(settings)  # refused now, in its own words
        rows.append(Contestant(kind, settings, label or kind.name))
    return (
        rows,
        [plan.build_part(class_named(Backbone, spec.pop("name")), spec) for spec in models],
        plan.build_part(Protocol, protocol),
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

    owner, argument, value = parse_assignment("--set", text, "sahc.alpha=0.3, pool=20 or backbone.dim=32")
    if owner.partition(".")[0] == "backbone":
        known = [f"backbone.{spec['name']}" for spec in backbones]
        meant = [spec for spec in backbones if owner in ("backbone", f"backbone.{spec['name']}")]
    else:
        known = [spec.get("label") or spec["name"] for spec in samplers] + ["backbone"]
        meant = [spec for spec in samplers if owner in ("", "sampler", spec["name"], spec.get("label"))]
        if (owner, argument) == ("", "pool"):
            meant = [spec for spec in samplers if not class_named(Sampler, spec["name"]).draws_negatives] or samplers
    if not meant:
        raise SettingError(f"--set {text!r}: {owner} is not compared; {nearest(owner, known)}")
    for spec in meant:
        spec[argument] = value
