"""A whole run before anything of it is built: from a TOML or YAML file, from the command line, or from both.

    seed = 0                        # device, kernels, out and import stand here too
    data = "films"
    [backbone]
    name = "lightgcn"
    [sampler]
    name = "sahc"
    alpha = 0.3
    [objective]
    name = "bpr"
    [protocol]
    epochs = 200

Paths in a file are relative to the file.
"""

import dataclasses
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sahcns.cli.console import tell
from sahcns.errors import DataError, SettingError, nearest

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.objectives import Objective
    from sahcns.samplers import Sampler
    from sahcns.settings import Configured
    from sahcns.training import Protocol

    Built = TypeVar("Built", bound=Configured)

KEYS = ("data", "backbone", "sampler", "objective", "protocol", "seed", "device", "kernels", "out", "import")
PARTS = ("backbone", "sampler", "objective")
KINDS = {str: "text", int: "a whole number", dict: "a section"}


@dataclass(frozen=True)
class Plan:
    """What is given of a run; None, or nothing, where nothing is given."""

    data: str | None = None
    out: Path | None = None
    seed: int | None = None
    device: str | None = None
    kernels: str | None = None
    imports: tuple[Path, ...] = ()
    backbone: str | None = None
    sampler: str | None = None
    backbone_settings: Mapping[str, Any] = field(default_factory=dict)
    sampler_settings: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None  # of the data, where a record has it
    code: str | None = None  # digest of the user's own code, where a record has it
    objective: str | None = None
    objective_settings: Mapping[str, Any] = field(default_factory=dict)
    recorded_imports: tuple[Path, ...] = ()  # what a record's run imported: to be named to the user, never imported

    def over(self, file: "Plan") -> "Plan":
        """This plan, and `file` where this one says nothing. Settings of a part that is replaced go with it."""
        merged: dict[str, Any] = {}
        for entry in dataclasses.fields(self):
            mine, other = getattr(self, entry.name), getattr(file, entry.name)
            if isinstance(mine, Mapping):
                merged[entry.name] = {**other, **mine}
            elif isinstance(mine, tuple):
                merged[entry.name] = tuple({path.resolve(): path for path in other + mine}.values())
            else:
                merged[entry.name] = other if mine is None else mine
        for part in PARTS:
            mine, left = getattr(self, part), getattr(file, f"{part}_settings")
            if mine and mine != getattr(file, part):
                merged["code"] = None
                merged[f"{part}_settings"] = getattr(self, f"{part}_settings")
                if left:
                    tell(f"{', '.join(left)} in the file belong to another {part} than {mine} and are left out")
        return Plan(**merged)

    def build(self) -> "tuple[Backbone, Sampler, Protocol]":
        """Backbone, sampler and protocol, checked; torch is imported here."""
        from sahcns.backbones import Backbone
        from sahcns.samplers import Sampler
        from sahcns.settings import class_named
        from sahcns.training import Protocol

        backbone = class_named(Backbone, self.backbone or "lightgcn")
        sampler = class_named(Sampler, self.sampler or "sahc")
        own, models, terms = (
            {entry.name for entry in dataclasses.fields(kind)} for kind in (sampler, backbone, Protocol)
        )
        for name, value in self.sampler_settings.items():
            option = f"--set backbone.{name}={value}" if name in models else f"--{name.replace('_', '-')} {value}"
            if name not in own and name in models | terms:
                whose = backbone.name if name in models else "training"
                raise SettingError(f"{sampler.name} has no argument {name!r}, but {whose} has: {option}")
        return (
            build_part(backbone, self.backbone_settings),
            build_part(sampler, self.sampler_settings),
            build_part(Protocol, self.protocol),
        )

    def build_objective(self) -> "Objective":
        """BPR where nothing else is named."""
        from sahcns.objectives import Objective
        from sahcns.settings import class_named

        return build_part(class_named(Objective, self.objective or "bpr"), self.objective_settings)


def build_part(kind: "type[Built]", values: Mapping[str, Any]) -> "Built":
    """Built from values as they stand in a file or on a command line: text is read by the type of the argument.

    YAML, for one, takes 1e-3 for text.
    """
    return kind.from_dict({k: kind.parsed(k, v) if isinstance(v, str) else v for k, v in values.items()})


def parse_settings(texts: list[str], known: tuple[str, ...] = PARTS) -> dict[str, dict[str, str]]:
    """`--set NAME=VALUE …` as {"sampler": {…}, "backbone": {…}, …}; a bare name is the sampler's."""
    settings: dict[str, dict[str, str]] = {part: {} for part in known}
    for text in texts:
        name, equals, value = text.partition("=")
        part, _, argument = name.strip().rpartition(".")
        if not equals or not argument:
            raise SettingError(f"--set {text!r} must be NAME=VALUE, such as alpha=0.3 or backbone.dim=32")
        if (part or "sampler") not in settings:
            raise SettingError(f"--set {text!r}: there is no part {part!r} to set; {nearest(part, known)}")
        settings[part or "sampler"][argument] = value
    return settings


def read_plan(path: Path) -> Plan:
    """The plan in a TOML or YAML file."""
    values = load(path, KEYS)
    fields: dict[str, Any] = {
        name: take(path, values, name, kind) for name, kind in (("device", str), ("kernels", str), ("seed", int))
    }
    if (out := take(path, values, "out", str)) is not None:
        fields["out"] = path.parent / out
    fields["imports"] = tuple(path.parent / name for name in take_texts(path, values, "import"))
    data = _section(path, values, "data", "folder")
    if data:
        if set(data) > {"folder"}:
            raise SettingError(f"{path}: the section data has only a folder, not {', '.join(set(data) - {'folder'})}")
        beside = path.parent / str(data["folder"])
        fields["data"] = str(beside if beside.exists() else data["folder"])
    for part in PARTS:
        section = _section(path, values, part, "name")
        fields[part] = section.pop("name", None)
        fields[f"{part}_settings"] = section
    return Plan(**fields, protocol=take(path, values, "protocol", dict) or {})


def load(path: Path, keys: Collection[str]) -> dict[str, Any]:
    """A TOML or YAML file as a dictionary; what cannot be read, or has an unknown key, is an error that names it."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() == ".toml":
            values = tomllib.loads(text)
        elif path.suffix.lower() in (".yaml", ".yml"):
            values = yaml.safe_load(text) or {}
        else:
            raise SettingError(f"{path} must be a .toml, .yaml or .yml file")
    except FileNotFoundError:
        raise DataError(f"the run file {path} is not there") from None
    except (tomllib.TOMLDecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise SettingError(f"{path} must hold names and values, such as `seed: 0`, not {type(values).__name__}")
    for key in values:
        if key not in keys:
            raise SettingError(f"{path} has an unknown key {key!r}; {nearest(str(key), keys)}")
    return values


def take(path: Path, values: Mapping[str, Any], name: str, kind: type) -> Any:
    """A value of a file, of its kind; None where there is none."""
    value = values.get(name)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise SettingError(f"{path}: {name}={value!r} must be {KINDS[kind]}")
    return value


def take_texts(path: Path, values: Mapping[str, Any], name: str) -> list[str]:
    """A list of texts; one text stands for a list of one."""
    texts = values.get(name, [])
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SettingError(f"{path}: {name}={texts!r} must be a text or a list of texts")
    return texts


def _section(path: Path, values: Mapping[str, Any], name: str, main: str) -> dict[str, Any]:
    """A section of the file; `sampler = "dns"` is short for a section with only its name."""
    section = values.get(name, {})
    if isinstance(section, str):
        return {main: section}
    if not isinstance(section, dict) or (section and not isinstance(section.get(main), str)):
        raise SettingError(f'{path}: {name}={section!r} must be a {main}, or a section with {main} = "…"')
    return dict(section)
