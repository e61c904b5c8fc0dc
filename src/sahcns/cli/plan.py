"""What a run, or a comparison of many, is before anything of it is built: by a TOML or YAML file, a record, the options.

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

A comparison has `seeds`, lists of `data`, `backbones` and `samplers`, and workers, on, baseline, tuned and margin. A row may
have settings of its own for what all else have in common:

    samplers = ["rns", "dns", {name = "dns", label = "dns-50", pool = 50, protocol = {l2 = 1e-2}}, "sahc"]

Paths in a file are relative to the file. What is not given is not in the plan.
"""

import dataclasses
import shlex
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sahcns.cli.console import count, tell, warn
from sahcns.cli.options import assign, parse_assignment, parse_numbers
from sahcns.errors import DataError, SettingError, nearest

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.lab.comparison.compare import Contestant
    from sahcns.objectives import Objective
    from sahcns.samplers import Sampler
    from sahcns.settings import Configured
    from sahcns.training import Protocol

    Built = TypeVar("Built", bound=Configured)

Plan = dict[str, Any]
Parts = tuple["Backbone", "Sampler", "Objective", "Protocol"]
TERMS = {"seed": 0, "device": "auto", "kernels": "auto"}
PARTS = {"backbone": "lightgcn", "sampler": "sahc", "objective": "bpr"}  # each with what it is unless told
COMPARED = {"backbones": ["lightgcn"], "samplers": ["rns", "dns", "mixgcf", "sahc"]}
SHARED = {"out": "path", "device": str, "kernels": str, "import": ["path"], "protocol": dict}
RUN = {**SHARED, "data": "data", "seed": int, **dict.fromkeys(PARTS, "part")}
COMPARISON = {
    **SHARED, "data": ["data"], "seeds": "seeds", **{name: ["part"] for name in COMPARED}, "baseline": str, "tuned": ["path"],
    "objective": "part", "workers": int, "on": str, "margin": float,
}  # fmt: skip
WORDS = {str: "text", int: "a whole number", float: "a number", dict: "a section"}
RECIPES = {file.stem: file for file in Path(__file__).with_name("recipes").glob("*.toml")}
OF_ROW = ("backbone", "objective", "protocol")  # what a row may have settings of its own of
MANY = 1000  # seeds that nobody asks for, but 2020 is one


def _value(home: Path, value: Any, kind: Any) -> Any:
    """A value of a file as it is used, seen from the file's folder; a TypeError says what it must be."""
    if isinstance(kind, list):  # one alone stands for a list of one
        return [_value(home, one, kind[0]) for one in (value if isinstance(value, list) else [value])]
    if kind == "seeds":
        return _value(home, value, [int] if isinstance(value, list) else int)
    if kind == "path":
        return home / _value(home, value, str)
    if kind == "data":  # a folder beside the file, or else one by its whole name; `[data] folder = "films"` is the same
        folder = _value(home, value["folder"] if isinstance(value, dict) and value.keys() == {"folder"} else value, str)
        return str(home / folder) if (home / folder).exists() else folder
    if kind == "part":  # `sampler = "dns"` is short for a section with only its name
        value = {"name": value} if isinstance(value, str) else value
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            raise TypeError('a name, or a section with name = "…"')
    elif kind is float and type(value) is int:
        return float(value)
    elif type(value) is not kind:
        raise TypeError(WORDS[kind])
    return value


def load_file(file: Path) -> Plan:
    """The names and values in a TOML or YAML file."""
    import yaml

    try:
        content = file.read_text(encoding="utf-8")
        if file.suffix.lower() == ".toml":
            values = tomllib.loads(content)
        elif file.suffix.lower() in (".yaml", ".yml"):
            values = yaml.safe_load(content) or {}
        else:
            raise SettingError(f"{file} must be a .toml, .yaml or .yml file")
    except FileNotFoundError:
        raise DataError(f"the file {file} is not there") from None
    except (OSError, tomllib.TOMLDecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise SettingError(f"{file} must hold names and values, such as `seed: 0`, not {type(values).__name__}")
    return values


def read_file(file: Path, kinds: Mapping[str, Any]) -> Plan:
    """The plan in such a file; an unknown key or a wrong value is an error that names it."""
    values = load_file(file)
    for key, value in values.items():
        if key not in kinds:
            raise SettingError(f"{file} has an unknown key {key!r}; {nearest(str(key), kinds)}")
        try:
            values[key] = _value(file.parent, value, kinds[key])
        except TypeError as wanted:
            raise SettingError(f"{file}: {key}={value!r} must be {wanted}") from None
    return values


def read_plan(file: Path, best: bool = False) -> Plan:
    """The plan in a TOML or YAML file, or in the record of a run, which may be given by its model's folder; or by the name of
    a recipe that ships inside, where there is no such file.

    `best` asks a record of a run that was judged for the epochs it found best, and not for the most it was allowed.
    The files that a recorded run imported are only noted: a record comes from anywhere, and must not run code.
    """
    from sahcns.folders import home_of

    if not file.exists() and file.name == str(file) and not file.suffix:
        if file.name not in RECIPES:
            raise DataError(
                f"the file {file} is not there, nor is there a recipe of that name; {nearest(file.name, RECIPES)}"
            )
        file = RECIPES[file.name]
    if not home_of(file).is_dir() and file.suffix.lower() != ".json":
        return read_file(file, RUN)
    from sahcns.lab.comparison.diff import read_run

    record = read_run(file)
    try:
        about, kernels, protocol = record["data"], str(record["machine"]["kernels"]), record["protocol"]
        plan: Plan = {name: record[name] for name in ("seed", "backbone", "sampler")}
    except KeyError as missing:
        raise DataError(f"{file} is no whole record of a run, it has no {missing}; ask for it again") from None
    refit = about.get("refit", {})
    if not best and (refit or "whole_of" in about):
        option = "--refit" if refit else "--whole"
        tell(f"{file} is of a run with {option}, which is not in the record's protocol: give it again")
    if best and "whole_of" not in about and isinstance(record.get("best_epoch"), int):
        protocol = {**protocol, "epochs": record["best_epoch"] + 1}  # they are counted from 0
        tell(f"{count(protocol['epochs'], 'epoch')}, after which {file} found validation best")
    if (folder := about.get("folder")) and Path(folder).exists():
        plan["data"] = folder
    if kernels == "reference" or "-" in kernels:  # the others are what `auto` finds
        plan["kernels"] = kernels
    return {
        **plan,
        "objective": record.get("objective", {"name": "bpr"}),  # records from before there were others have none
        "protocol": protocol,
        "fingerprint": about.get("whole_of") or refit.get("of") or about.get("fingerprint"),
        "code": record.get("code"),
        "recorded_imports": record.get("imports", ()),
    }


def parse_parts(settings: Sequence[str], **names: str | None) -> Plan:
    """`--set NAME=VALUE …` beside the names of the parts; a bare NAME is the sampler's."""
    parts: dict[str, dict[str, str]] = {part: {} if name is None else {"name": name} for part, name in names.items()}
    owners = {name: {name: "", **({"": ""} if name == "sampler" else {})} for name in parts}
    assign(settings, [(owners[name], part) for name, part in parts.items()], "alpha=0.3")
    return parts


def merge(given: Plan, file: Plan) -> Plan:
    """`given`, and `file` where that says nothing. Settings of a part that is replaced go with it."""
    merged = {**file, **{name: value for name, value in given.items() if value not in (None, [])}}
    imports = [*file.get("import", ()), *given.get("import", ())]
    merged["import"] = [*{one.resolve(): one for one in imports}.values()]
    merged["protocol"] = {**file.get("protocol", {}), **given["protocol"]}
    for name in PARTS.keys() & given.keys():
        mine, theirs = given[name], file.get(name, {})
        if mine.get("name") not in (None, theirs.get("name")):
            if left := ", ".join(argument for argument in theirs if argument != "name"):
                tell(f"{left} in the file belong to another {name} than {mine['name']} and are left out")
            merged["code"], theirs = None, {}
        merged[name] = {**theirs, **mine}
    return merged


def terms_of(plan: Plan) -> Plan:
    return {name: plan.get(name, default) for name, default in TERMS.items()}


def build(plan: Plan) -> Parts:
    """The parts, checked; torch is imported here."""
    from sahcns.backbones import Backbone
    from sahcns.objectives import Objective
    from sahcns.samplers import Sampler
    from sahcns.training import Protocol

    backbone, objective = _kind(Backbone, plan), _kind(Objective, plan)
    sampler = _kind(Sampler, plan, objective.only_sampler)
    own, models, terms = ({entry.name for entry in dataclasses.fields(kind)} for kind in (sampler, backbone, Protocol))
    for name, value in plan.get("sampler", {}).items():
        if name not in own and name in models | terms:
            option = f"--set backbone.{name}={value}" if name in models else f"--{name.replace('_', '-')} {value}"
            whose = backbone.name if name in models else "training"
            raise SettingError(f"{sampler.name} has no argument {name!r}, but {whose} has: {option}")
    values = [plan.get(name, {}) for name in (*PARTS, "protocol")]
    return (
        build_part(backbone, values[0]), build_part(sampler, values[1]), build_part(objective, values[2]),
        build_part(Protocol, values[3]),
    )  # fmt: skip


def build_part(kind: "type[Built]", values: Mapping[str, Any]) -> "Built":
    """Built from values as they stand in a file or on a command line, with the part's name among them or without."""
    return kind.from_dict(parse_values(kind, {name: value for name, value in values.items() if name != "name"}))


def parse_values(kind: "type[Configured]", values: Mapping[str, Any]) -> dict[str, Any]:
    """Text is read by the type of the argument; YAML, for one, takes 1e-3 for text."""
    return {name: kind.parsed(name, value) if isinstance(value, str) else value for name, value in values.items()}


def _kind(base: "type[Built]", plan: Plan, default: str = "") -> "type[Built]":
    """The class that the plan names, or else the default.

    Where a record names one that is not known here, the file that has it is said.
    """
    from sahcns.settings import class_named, named

    what = base.__name__.lower()
    name = plan.get(what, {}).get("name", default or PARTS[what])
    if plan.get("recorded_imports") and name not in named(base):
        options = " ".join(f"--import {file}" for file in plan["recorded_imports"])
        raise SettingError(
            f"the {what} {name!r} is not known here, and what a record names is not imported; if you trust its file, give "
            f"{options}, or where it is now"
        )
    return class_named(base, name)


def warn_of_differences(plan: Plan, folder: Path | None, fingerprint: str, code: str | None) -> None:
    """Say where the data in `folder`, or the user's own code, are not those of the record."""
    if folder is not None and plan.get("fingerprint") not in (None, fingerprint):
        there = f"{folder} holds other data (fingerprint {fingerprint[:12]}…) than the record was made on"
        warn(f"{there} ({plan['fingerprint'][:12]}…), so its numbers cannot come out again")
    if code is not None and plan.get("code") not in (None, code):
        here = f"{' and '.join(map(str, plan['import']))} is not the code that the record was made with"
        warn(f"{here} (digest {code[:8]}, and there {plan['code'][:8]}), so its numbers may not come out again")


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


def parse_row(text: str) -> Plan:
    """`dns pool=32 protocol.l2=1e-2 label=dns-32` as a row of a file has it."""
    name, *settings = shlex.split(text) or [""]
    if not name or "=" in name:
        raise SettingError(f"--row {text!r} must begin with a sampler's name, as in 'dns pool=32 protocol.l2=1e-2'")
    row: Plan = {"name": name}
    for one in settings:
        owner, argument, value = parse_assignment(f"--row {text!r}:", one, "pool=32 or protocol.l2=1e-2")
        row[f"{owner}.{argument}".removeprefix(".")] = value
    return row


def build_comparison(
    plan: Plan, assignments: Sequence[str]
) -> "tuple[list[Contestant], list[Backbone], Objective, Protocol]":
    """The rows, and what they are trained with, with what `--set` says; torch is imported here."""
    from sahcns.backbones import Backbone
    from sahcns.lab.comparison.compare import Contestant
    from sahcns.lab.parts import JUDGED, built, known_settings, with_objective
    from sahcns.objectives import Objective
    from sahcns.settings import class_named
    from sahcns.training import Protocol

    models, choosers = (
        [dict(spec) for spec in plan.get(what) or _value(Path(), default, ["part"])]
        for what, default in COMPARED.items()
    )
    rows = [Contestant.of(spec) for spec in choosers]
    told, minimised, terms = (
        [dict(row.settings) for row in rows],
        dict(plan.get("objective", {})),
        dict(plan["protocol"]),
    )
    around: list[tuple[dict[str, str], Plan]] = [({"objective": ""}, minimised), ({"protocol": ""}, terms)]
    around += [({"backbone": "", f"backbone.{spec['name']}": ""}, spec) for spec in models]
    for text in assignments:  # one pool for all is for those that choose from it; others have it if they are alone
        pool = text.partition("=")[0].strip() == "pool" and not all(row.kind.draws_negatives for row in rows)
        parts = [*around]
        for row, own in zip(rows, told, strict=True):
            names = ("sampler", row.kind.name, row.label)
            if not (pool and row.kind.draws_negatives):
                own_parts = {f"{name}.{word}": f"{word}." for name in names for word in OF_ROW}
                parts.append((dict.fromkeys(("", *names), "") | own_parts, own))
            else:
                kept = f"{row.label}: its pool stays {own.get('pool', row.kind().pool)}"
                tell(f"{kept}; it draws negatives, not candidates (--set {row.label}.pool=… changes it)")
        assign([text], parts, "sahc.alpha=0.3 or backbone.dim=32")
    backbones = [build_part(class_named(Backbone, spec["name"]), spec) for spec in models]
    objective = build_part(class_named(Objective, minimised.get("name", PARTS["objective"])), minimised)
    protocol, times = build_part(Protocol, terms), Counter(spec["name"] for spec in choosers if "label" not in spec)
    common = {"backbone": backbones[0], "objective": objective, "protocol": protocol}
    # What was asked for of the protocol goes before what was tuned, as what was asked for of a sampler does.
    asked = {name: getattr(protocol, name) for name in terms if name not in JUDGED} if plan.get("tuned") else {}
    given, made = {f"protocol.{name}": value for name, value in asked.items()}, list[Contestant]()
    for row, own in zip(rows, told, strict=True):
        known = known_settings(row.kind, with_objective(own, common))
        settings = {
            name: known[name][0].parsed(name.rpartition(".")[2], value)
            if isinstance(value, str) and name in known
            else value
            for name, value in own.items()
        }
        built(row.kind, settings, common)  # refused now, in its own words
        ordered = sorted(own.items(), key=lambda one: one[0].rpartition(".")[0])  # the sampler's own first
        words = ", ".join(f"{name}={value}" for name, value in ordered)
        label = f"{row.label} ({words})" if words and times[row.label] > 1 else row.label
        made.append(dataclasses.replace(row, settings={**given, **settings}, label=label))
    return made, backbones, objective, protocol
