"""What a packager goes by: the terms of all that ships, and one description everywhere."""

import tomllib
from pathlib import Path

import yaml

import sahcns
from sahcns.data.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_terms_of_the_code_and_of_the_data_inside_are_licence_files() -> None:
    found = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    inside = [ROOT / "src/sahcns/data/embedded" / one.name for one in CATALOGUE.values() if one.embedded]
    assert inside
    assert found == {ROOT / "LICENSE", *(folder / "README.txt" for folder in inside)}


def test_the_citation_is_that_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors", "preferred-citation"} <= cited.keys()
    assert (cited["license"], cited["abstract"]) == (PROJECT["license"], PROJECT["description"])
    assert cited["version"] == sahcns.__version__
    assert f"## {sahcns.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
