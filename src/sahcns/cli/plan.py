"""A whole run before anything of it is built: from a TOML or YAML file, a run's record, the command line, or several.

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

from sahcns.cli.console import tell, warn
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
RECORDED = ("backbone", "sampler", "protocol", "data", "machine")  # sections that every record of a run has
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


def plan_in(path: Path, best: bool = False) -> Plan:
    """The plan in a TOML or YAML file, or in the record of a run, which may be given by its model's folder.

    `best` asks a record of a run that was judged for the epochs it found best, and not for the most it was allowed.
    """
    from sahcns.folders import home_of
    from sahcns.lab.comparison.diff import RECORD

    path = home_of(path)
    path = path / RECORD if path.is_dir() else path
    return _recorded(path, best) if path.suffix.lower() == ".json" else read_plan(path)


def _recorded(path: Path, best: bool) -> Plan:
    """Settings, protocol, seed and fingerprint, and the folder of data if it is still there.

    The files that the run imported are only noted: a record comes from anywhere, and must not run code.
    """
    from sahcns.files import check_version, read_json
    from sahcns.lab.grid.result import FORMAT, FORMAT_VERSION
    from sahcns.model.folder import RUN

    versions = {RUN.format: RUN.version, FORMAT: FORMAT_VERSION}
    values = read_json(path, missing=f"the run file {path} is not there", again="ask for it again")
    if not isinstance(values, dict) or str(values.get("format")) not in versions:
        raise DataError(f"{path} is no record of a run; a run is described in TOML or YAML, or by such a record")
    check_version(path, values, versions[values["format"]], again="ask for it again")
    missing = [name for name in RECORDED if not isinstance(values.get(name), dict)]
    if missing or not isinstance(values.get("seed"), int):
        raise DataError(f"{path} is broken, it has no {[*missing, 'seed'][0]!r}; ask for it again")
    data, kernels = values["data"], str(values["machine"].get("kernels"))
    protocol = values["protocol"]
    if "whole_of" in data:
        if not best:
            tell(f"{path} is of a run with --whole, which is not in the record's protocol: give it again")
    elif best and isinstance(values.get("best_epoch"), int):
        protocol = {**protocol, "epochs": values["best_epoch"] + 1}  # they are counted from 0
        tell(f"{protocol['epochs']} epoch{'s' * (protocol['epochs'] != 1)}, after which {path} found validation best")
    backbone, sampler = ({**values[part]} for part in ("backbone", "sampler"))
    objective = {**values.get("objective", {"name": "bpr"})}  # records from before there were others have none
    folder = data.get("folder")
    return Plan(
        data=folder if folder and Path(folder).exists() else None,
        seed=values["seed"],
        kernels=kernels if kernels == "reference" or "-" in kernels else None,  # the others are what `auto` finds
        recorded_imports=tuple(Path(name) for name in values.get("imports", ())),
        backbone=backbone.pop("name", None),
        sampler=sampler.pop("name", None),
        backbone_settings=backbone,
        sampler_settings=sampler,
        objective=objective.pop("name", None),
        objective_settings=objective,
        protocol=protocol,
        fingerprint=data.get("whole_of") or data.get("fingerprint"),
        code=values.get("code"),
    )


def check_known(plan: Plan) -> None:
    """Refuse a recorded part that is not known here, and say which file the record's run imported."""
    from sahcns.backbones import Backbone
    from sahcns.objectives import Objective
    from sahcns.samplers import Sampler
    from sahcns.settings import Configured, named

    parts: tuple[tuple[type[Configured], str | None], ...] = (
        (Backbone, plan.backbone),
        (Sampler, plan.sampler),
        (Objective, plan.objective),
    )
    for base, name in parts:
        if plan.recorded_imports and name is not None and name not in named(base):
            options = " ".join(f"--import {path}" for path in plan.recorded_imports)
            raise SettingError(
                f"the {base.__name__.lower()} {name!r} is not known here, and what a record names is not imported; if you "
                f"trust its file, give {options}, or where it is now"
            )


def warn_of_differences(plan: Plan, folder: Path | None, fingerprint: str, code: str | None) -> None:
    """Say where the data in `folder`, or the user's own code, are not those of the record."""
    if folder is not None and plan.fingerprint not in (None, fingerprint):
        warn(
            f"{folder} holds other data (fingerprint {fingerprint[:12]}…) than the record was made on "
            f"({str(plan.fingerprint)[:12]}…), so its numbers cannot come out again"
        )
    if code is not None and plan.code not in (None, code):
        warn(
            f"{' and '.join(map(str, plan.imports))} is not the code that the record was made with (digest {code[:8]}, and "
            f"there {str(plan.code)[:8]}), so its numbers may not come out again"
        )
