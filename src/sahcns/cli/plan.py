"""A whole run before anything of it is built: from a TOML or YAML file, from the command line, or from both.

    seed = 0                        # device, kernels, out and import stand here too
    data = "films"
    [backbone]
    name = "lightgcn"
    [sampler]
    name = "sahc"
    alpha = 0.3
    [protocol]
    epochs = 200

Paths in a file are relative to the file.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sahcns.cli.console import tell
from sahcns.errors import DataError, SettingError, nearest

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.samplers import Sampler
    from sahcns.settings import Configured
    from sahcns.training import Protocol

    Part = TypeVar("Part", bound=Configured)

KEYS = ("data", "backbone", "sampler", "protocol", "seed", "device", "kernels", "out", "import")
PARTS = ("backbone", "sampler")


@dataclass(frozen=True)
class Plan:
    """What was said about a run; None, or nothing, where nothing was said."""

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
    fingerprint: str | None = None  # of the data, where a record says it
    code: str | None = None  # digest of the user's own code, where a record says it
    recorded_imports: tuple[
        Path, ...
    ] = ()  # files that a record's run imported: to be named to the user, never imported

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
            mine, other = getattr(self, part), getattr(file, part)
            left = getattr(file, f"{part}_settings")
            if mine and mine != other:
                merged["code"] = None
            if mine and mine != other and left:
                tell(f"{', '.join(left)} in the file belong to another {part} than {mine} and are left out")
                merged[f"{part}_settings"] = getattr(self, f"{part}_settings")
        return Plan(**merged)

    def build(self) -> "tuple[Backbone, Sampler, Protocol]":
        """The three parts, checked; torch is imported here."""
        from sahcns.backbones import Backbone
        from sahcns.samplers import Sampler
        from sahcns.settings import class_named
        from sahcns.training import Protocol

        backbone = class_named(Backbone, self.backbone or "lightgcn")
        sampler = class_named(Sampler, self.sampler or "sahc")
        for name, value in self.sampler_settings.items():
            own = {entry.name for entry in dataclasses.fields(sampler)}
            if name in own:
                continue
            if name in {entry.name for entry in dataclasses.fields(backbone)}:
                raise SettingError(
                    f"{sampler.name} has no argument {name!r}, but {backbone.name} has: --set backbone.{name}={value}"
                )
            if name in {entry.name for entry in dataclasses.fields(Protocol)}:
                raise SettingError(
                    f"{sampler.name} has no argument {name!r}, but training has: --{name.replace('_', '-')} {value}"
                )
        return (
            made(backbone, self.backbone_settings),
            made(sampler, self.sampler_settings),
            made(Protocol, self.protocol),
        )


def made(kind: "type[Part]", values: Mapping[str, Any]) -> "Part":
    """Built from values as they stand in a file or on a command line: text is read by the type of the argument.

    YAML, for one, takes 1e-3 for text.
    """
    return kind.from_dict({k: kind.parsed(k, v) if isinstance(v, str) else v for k, v in values.items()})


def assigned(texts: list[str]) -> dict[str, dict[str, str]]:
    """`--set NAME=VALUE …` as {"sampler": {…}, "backbone": {…}}; a bare name is the sampler's."""
    found: dict[str, dict[str, str]] = {part: {} for part in PARTS}
    for text in texts:
        name, equals, value = text.partition("=")
        part, _, argument = name.strip().rpartition(".")
        if not equals or not argument:
            raise SettingError(f"--set {text!r} must be NAME=VALUE, such as alpha=0.3 or backbone.dim=32")
        if (part or "sampler") not in found:
            raise SettingError(f"--set {text!r}: there is no part {part!r} to set; {nearest(part, PARTS)}")
        found[part or "sampler"][argument] = value
    return found


def read_plan(path: Path) -> Plan:
    """The plan in a TOML or YAML file."""
    values = load(path)
    for key in values:
        if key not in KEYS:
            raise SettingError(f"{path}: a run has no {key!r}; {nearest(str(key), KEYS)}")
    told: dict[str, Any] = {name: _kept(path, values, name, str) for name in ("device", "kernels")}
    told["seed"] = _kept(path, values, "seed", int)
    if (out := _kept(path, values, "out", str)) is not None:
        told["out"] = path.parent / out
    imports = values.get("import", [])
    if not isinstance(imports, str | list) or not all(isinstance(name, str) for name in imports):
        raise SettingError(f"{path}: import={imports!r} must be a file or a list of files")
    told["imports"] = tuple(path.parent / name for name in ([imports] if isinstance(imports, str) else imports))
    data = _section(path, values, "data", "folder")
    if data:
        _only(path, "data", data, ("folder",))
        beside = path.parent / str(data["folder"])
        told["data"] = str(beside if beside.exists() else data["folder"])
    for part in PARTS:
        section = _section(path, values, part, "name")
        told[part] = section.pop("name", None)
        told[f"{part}_settings"] = section
    told["protocol"] = _section(path, values, "protocol", "")
    return Plan(**told)


def load(path: Path) -> dict[str, Any]:
    """The file as a dictionary; what cannot be read is an error that names the line."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() == ".toml":
            return tomllib.loads(text)
        if path.suffix.lower() not in (".yaml", ".yml"):
            raise SettingError(f"{path} must be a .toml, .yaml or .yml file")
        values = yaml.safe_load(text) or {}
    except FileNotFoundError:
        raise DataError(f"the run file {path} is not there") from None
    except (tomllib.TOMLDecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise SettingError(f"{path} must hold names and values, such as `seed: 0`, not {type(values).__name__}")
    return values


def _section(path: Path, values: Mapping[str, Any], name: str, main: str) -> dict[str, Any]:
    """A section of the file; `sampler = "dns"` is short for a section with only its name."""
    found = values.get(name, {})
    if isinstance(found, str) and main:
        return {main: found}
    if not isinstance(found, dict):
        raise SettingError(f"{path}: {name}={found!r} must be a section" + (f" or a {main}" if main else ""))
    if found and main and not isinstance(found.get(main), str):
        raise SettingError(f'{path}: the section {name} needs its {main}, such as {main} = "…"')
    return dict(found)


def _only(path: Path, section: str, values: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in values:
        if key not in known:
            raise SettingError(f"{path}: the section {section} has no {key!r}; {nearest(str(key), known)}")


def _kept(path: Path, values: Mapping[str, Any], name: str, kind: type) -> Any:
    found = values.get(name)
    if found is not None and (not isinstance(found, kind) or isinstance(found, bool)):
        what = "a whole number" if kind is int else "text"
        raise SettingError(f"{path}: {name}={found!r} must be {what}")
    return found
