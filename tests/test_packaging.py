"""What a packager goes by: the terms of all that ships, and one description everywhere."""

import tomllib
from pathlib import Path

import yaml

from sahcns.data.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_terms_of_the_code_and_of_the_data_inside_are_licence_files() -> None:
    found = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    inside = [ROOT / "src/sahcns/data/embedded" / one.name for one in CATALOGUE.values() if one.embedded]
    assert inside
    assert found == {ROOT / "LICENSE", *(folder / "README.txt" for folder in inside)}


def test_the_citation_says_what_the_package_says() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["license"] == PROJECT["license"]
    assert cited["abstract"] == PROJECT["description"]
