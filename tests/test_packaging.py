"""What a packager goes by: the terms of all that ships, and one description everywhere."""

import re
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


def test_the_lock_pins_what_the_constraints_pin_with_hashes_and_all_that_serves() -> None:
    entries = (ROOT / "requirements.lock").read_text("utf-8").replace("\\\n", " ").splitlines()
    locked = {found[1]: found[2] for entry in entries if (found := re.match(r"(\S+)==(\S+)", entry))}
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if "==" in line)
    assert all("--hash=sha256:" in entry for entry in entries)
    normal = {name.replace("_", "-").lower(): version for name, version in pins.items()}
    assert {name: normal.get(name) for name in locked} == locked
    needed = {
        re.split(r"[\[<>=]", one)[0] for one in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["serve"]
    }
    assert needed - locked.keys() == {"torch"}  # which build of it is for the user to say
