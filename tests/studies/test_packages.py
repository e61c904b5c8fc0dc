"""The packages of studies/ stand on one another in one direction only."""

import ast
from pathlib import Path

import pytest

from sahcns import studies

HOME = Path(studies.__file__).parent
MAY_USE: dict[str, set[str]] = {
    "grid": set(),
    "inspection": set(),
    "tuning": {"grid"},
    "comparison": {"grid", "tuning"},
    "paper": {"grid", "inspection", "tuning", "comparison"},
}


def used(package: str) -> set[str]:
    """The other packages whose modules a package imports, at the top or within a function."""
    found: set[str] = set()
    for path in (HOME / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            found |= {name.split(".")[2] for name in names if name.startswith("sahcns.studies.")}
    return found - {package}


def test_every_package_has_its_place() -> None:
    assert {path.parent.name for path in HOME.glob("*/__init__.py")} == MAY_USE.keys()
    assert {path.name for path in HOME.glob("*.py")} == {"__init__.py", "plain.py"}  # what several packages share


@pytest.mark.parametrize("package", MAY_USE)
def test_no_package_uses_one_above_it(package: str) -> None:
    assert used(package) - {"plain"} <= MAY_USE[package]


def test_the_paper_stands_on_all_of_them() -> None:
    assert used("paper") >= MAY_USE["paper"]
