"""Files of results, searches and inspections, damaged byte by byte and in their structure: right, or an error of ours."""

import contextlib
import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sahcns.errors import SahcnsError, SettingError
from sahcns.files import DIGEST, read_json
from sahcns.lab import Inspection, inspection_report, read_search, results_in
from sahcns.lab.comparison import comparison_report
from sahcns.lab.tune.report import search_report
from sahcns.lab.tune.search import Tuned, refuse_unused, tuned_for
from sahcns.plain import read_from
from tests.lab.comparison.made_results import alike
from tests.lab.tune.test_report import SEARCH

EACH = 100  # mutations of each kind of file
STORED = Path(__file__).parents[2] / "reproduction" / "results"
FOREIGN: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    1e999,
    -0.5,
    "",
    "x",
    "\ud800",
    [],
    {},
    [[]],
    {"a": None},
    json.loads("[" * 90 + "]" * 90),
)
Look = Callable[[], object]
"""Reads the file and makes of it what a command would; gives what must not differ in silence."""


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value within."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, one in inside:
        yield (*path, name)
        yield from places(one, (*path, name))


def damaged_values(values: Any, rng: random.Random) -> Any:
    """One value replaced by another's, or by something foreign; or one gone, doubled, or under another name."""
    made = copy.deepcopy(values)
    every = list(places(made))
    *way, last = rng.choice([one for one in every if len(one) <= rng.choice((2, 4, 9))] or every)  # few in long lists
    parent = made
    for name in way:
        parent = parent[name]
    kind = rng.randrange(5)
    if kind == 0:
        del parent[last]
    elif kind == 1 and isinstance(parent, dict):
        parent[rng.choice([*parent, f"{last}x"])] = parent.pop(last)
    elif kind == 2 and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[last]))
    else:
        parent[last] = rng.choice(FOREIGN)
    return made


def damaged_bytes(content: bytes, rng: random.Random) -> bytes:
    """A bit flipped, bytes cut out, doubled or overwritten, or the end cut off."""
    at, size = rng.randrange(len(content)), rng.randint(1, 12)
    return rng.choice(
        [
            content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :],
            content[:at] + content[at + size :],
            content[:at] + content[at : at + size] + content[at:],
            content[:at] + rng.randbytes(size) + content[at + size :],
            content[:at],
        ]
    )


def attack(path: Path, look: Look, *, silent: bool) -> None:
    """`silent`: what has no digest may be read as something else."""
    content, right, rng = path.read_bytes(), look(), random.Random(path.name)
    for turn in range(EACH):
        mutation = damaged_bytes(content, rng)
        if path.suffix == ".json" and turn % 3:
            mutation = json.dumps(damaged_values(json.loads(content), rng)).encode()
        path.write_bytes(mutation)
        try:
            seen = look()
        except SahcnsError:
            continue
        assert silent or repr(seen) == repr(right), mutation


def unsealed(path: Path) -> None:
    """As an earlier version wrote it."""
    values = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({name: one for name, one in values.items() if name not in (DIGEST, "users_sha256")}))


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("kind", ["runs", "users"])
def test_results_and_what_each_user_got(tmp_path: Path, kind: str, old: bool) -> None:
    looks = {"epoch": [0, 5], "seconds": [1.0, 2.0], "recall@20": [0.1, 0.2]}
    for one in alike(["sahc", "dns"], np.random.default_rng(0), seeds=3, users=12, metrics=["recall@20"]):
        history = {"loss": [0.5, 0.4], "seconds": [1.0, 1.0], "looks": looks}
        saved = replace(one, key=f"{one.label}-{one.seed}", history=history).save(tmp_path)
        if old and saved.path is not None:
            unsealed(saved.path)

    def look() -> object:
        results = results_in(tmp_path)
        comparison_report(results, metrics=["recall@20"])
        return [(one.to_dict(), one.users()) for one in results]

    attack(next((tmp_path / kind).glob("dns-2021.*")), look, silent=old)


@pytest.mark.parametrize("old", [False, True])
def test_searches(tmp_path: Path, old: bool) -> None:
    replace(SEARCH, folder=tmp_path).save()
    if old:
        unsealed(tmp_path / "trials.json")

    def look() -> object:
        search_report(tmp_path)
        return read_search(tmp_path)

    attack(tmp_path / "trials.json", look, silent=old)


def test_tuned_settings(tmp_path: Path) -> None:
    replace(SEARCH, folder=tmp_path).save()

    def look() -> object:
        tuned = Tuned.read(tmp_path)
        with contextlib.suppress(SettingError):
            refuse_unused([tuned], [])
        return tuned_for([tuned], "abcdef", "lightgcn", "sahc")

    attack(tmp_path / "tuned.json", look, silent=True)  # who likes writes it by hand


def test_inspections(tmp_path: Path) -> None:
    path = tmp_path / "look.json"
    path.write_bytes(next((STORED / "diagnostics").glob("*.json")).read_bytes())

    def look() -> object:
        with read_from(path):
            return inspection_report(Inspection.from_dict(read_json(path, missing="none", again="again")))

    attack(path, look, silent=True)
