"""What one must know to trust a comparison, and to repeat it."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sahcns.lab.comparison.boards import Board
from sahcns.lab.comparison.naming import frozen, listed
from sahcns.lab.grid.result import Result

MANY = 4  # settings of one method that are told one by one
VERSIONS = ("sahcns", "torch", "numpy", "python", "system")


def facts(boards: Sequence[Board], command: str = "") -> list[tuple[str, str]]:
    """Runs, data, protocol, settings, versions, device, sources, and a command that makes it all again."""
    results = [result for board in boards for result in board.results]
    found = [("Runs", f"{len(results)}, seeds {listed(sorted({result.seed for result in results}))}")]
    sets = {name: mark for board in boards for name, mark in board.data.items()}
    for name, fingerprint in sets.items():
        about = next(one.data for one in results if one.data["fingerprint"] == fingerprint)
        counts = [f"{about[key]:,} {key}" for key in ("users", "items", "train", "valid", "test") if key in about]
        found.append((f"Data {name}", f"{', '.join(counts)}; fingerprint {fingerprint}"))
    for at, board in enumerate(boards):
        number = f" {at + 1}" if len(boards) > 1 else ""
        told = ", ".join(f"{name} {value}" for name, value in board.protocol)
        found.append((f"Protocol{number}", f"{told}; kernels {board.kernels}"))
    found += [*_settings(results, "backbone"), *_settings(results, "sampler")]
    versions = _each(
        results, lambda one: ", ".join(f"{key} {one.machine[key]}" for key in VERSIONS if key in one.machine)
    )
    found += [
        ("Versions", versions),
        ("Device", _each(results, lambda one: str(one.machine.get("device", "unknown")))),
        ("Commit", _each(results, lambda one: one.commit or "unknown")),
        ("Training time", f"{sum(one.seconds.get('total', 0.0) for one in results):,.0f} seconds in all"),
    ]
    own = sorted({path for one in results for path in one.imports})
    found += [("Own files", ", ".join(own))] if own else []
    found += [("To repeat it", command)] if command else [("To repeat it", repeat(board)) for board in boards]
    return found


def repeat(board: Board) -> str:
    """A command with the file that it reads, which says everything; one for each set where settings differ by set."""
    whole = _plan(board, list(board.data))
    labels = [part.get("label", part["name"]) for part in whole["samplers"]]
    tuned = len(set(labels)) < len(labels)
    plans = [_plan(board, [name]) for name in board.data] if tuned else [whole]
    texts = []
    for at, plan in enumerate(plans, 1):
        file = f"study-{at}.toml" if len(plans) > 1 else "study.toml"
        lines = [f"{key} = {_toml(value)}" for key, value in plan.items()]
        lines += ["[protocol]", *(f"{key} = {_toml(value)}" for key, value in board.protocol)]
        texts.append(f"sahcns compare --config {file} --out study\n\nwith {file}:\n\n" + "\n".join(lines))
    return "\n\n".join(texts)


def _plan(board: Board, sets: list[str]) -> dict[str, Any]:
    runs = [(row, one) for (data, row), seeds in board.runs.items() if data in sets for one in seeds.values()]
    plan: dict[str, Any] = {
        "data": sets,
        "seeds": sorted({one.seed for _, one in runs}),
        "backbones": _once({**one.backbone} for _, one in runs),
        "samplers": _once(
            {**({} if row.method == one.sampler["name"] else {"label": row.method}), **one.sampler} for row, one in runs
        ),
    }
    imports = sorted({path for _, one in runs for path in one.imports})
    if imports:
        plan["import"] = imports
    if board.kernels == "reference" or "-" in board.kernels:  # the others are what `auto` finds on the machine
        plan["kernels"] = board.kernels
    return plan


def _once(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each once, in order; what is None is not there, as TOML has no word for it."""
    told = [{key: value for key, value in part.items() if value is not None} for part in parts]
    return list({frozen(part): part for part in told}.values())


def _toml(value: Any) -> str:
    """JSON's way of writing text, numbers and truth is TOML's; tables are not."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        inside = ", ".join(map(_toml, value))
        return f"[\n{''.join(f'  {_toml(part)},{chr(10)}' for part in value)}]" if _long(value) else f"[{inside}]"
    return json.dumps(value, ensure_ascii=False)


def _long(value: Sequence[Any]) -> bool:
    return any(isinstance(part, Mapping) for part in value)


def _settings(results: Sequence[Result], what: str) -> list[tuple[str, str]]:
    """`Sampler sahc`: its settings, for each set where they differ from set to set; of many only what they are made of."""
    found: dict[str, dict[str, list[str]]] = {}
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        part = getattr(result, what)
        label = result.label if what == "sampler" else part["name"]
        told = ", ".join(f"{key} {value}" for key, value in part.items() if key != "name") or "no settings"
        if label != part["name"]:
            told = f"{part['name']}, {told}"
        places = found.setdefault(label, {}).setdefault(told, [])
        places += [name] if (name := str(result.data.get("name", ""))) not in places else []
        parts.setdefault(label, []).append(part)
    return [
        (f"{what.capitalize()} {label}", _all_values(parts[label]) if len(variants) > MANY else _one_by_one(variants))
        for label, variants in found.items()
    ]


def _one_by_one(variants: Mapping[str, Sequence[str]]) -> str:
    several = len(variants) > 1
    return "; ".join(f"{told} ({', '.join(places)})" if several else told for told, places in variants.items())


def _all_values(parts: Sequence[Mapping[str, Any]]) -> str:
    """`27 settings, made of pool 5, 10, 20; alpha 0.0, 0.1; each run's file has its own`."""
    values: dict[str, dict[str, Any]] = {}
    for part in parts:
        for key, value in part.items():
            values.setdefault(key, {})[str(value)] = value
    told = "; ".join(f"{key} {', '.join(sorted(found, key=partial(_size, found)))}" for key, found in values.items())
    return f"{len({frozen(part) for part in parts})} settings, made of {told}; each run's file has its own"


def _size(values: Mapping[str, Any], text: str) -> tuple[float, str]:
    """Numbers by what they are, before words."""
    value = values[text]
    return float(value) if isinstance(value, int | float) else math.inf, text


def _each(results: Sequence[Result], value: Callable[[Result], str]) -> str:
    """The value, or each with the number of runs that have it."""
    counts: dict[str, int] = {}
    for result in results:
        counts[value(result)] = counts.get(value(result), 0) + 1
    return next(iter(counts)) if len(counts) == 1 else "; ".join(f"{one} ({n} runs)" for one, n in counts.items())
