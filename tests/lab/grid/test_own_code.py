"""The user's own files decide a result's key: the sampler's, and those that it imports; never a text that is not run."""

import hashlib
import importlib
import sys
from pathlib import Path

import pytest

from sahcns.errors import DataError
from sahcns.importing import import_files
from sahcns.lab.grid.own_code import own_code, own_sources
from sahcns.samplers import Sampler
from sahcns.settings import class_named

MINE = """
from dataclasses import dataclass
import sahcns
import torch
{imports}

@dataclass(frozen=True)
class Mine(sahcns.Sampler):
    name = "{name}"

    def choose(self, match, rng):
        return match.pick({rule}(match))
"""
RULE = "def softest(match):\n    return match.scores.argmin(1)\n"


def imported(file: Path, name: str) -> type[Sampler]:
    import_files([file])
    return class_named(Sampler, name)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two texts of one second and one length are one to a .pyc
    return tmp_path


@pytest.mark.parametrize(
    ("way", "rule"), [("from own_rules.soft import softest", "softest"), ("import own_rules", "own_rules.soft.softest")]
)
def test_what_the_file_imports_of_one_s_own_decides_too(home: Path, way: str, rule: str) -> None:
    package, mine = home / "own_rules", home / "own_with_rules.py"
    package.mkdir()
    (package / "__init__.py").write_text("from own_rules import soft\n")
    (package / "soft.py").write_text(RULE)
    mine.write_text(MINE.format(imports=way, name="own-with-rules", rule=rule))
    try:
        first = own_code(imported(mine, "own-with-rules"))
        (package / "soft.py").write_text(RULE.replace("argmin", "argmax"))
        for name in ("own_rules.soft", "own_rules"):
            importlib.reload(sys.modules[name])
        changed = own_code(imported(mine, "own-with-rules"))
    finally:
        for name in ("own_rules.soft", "own_rules"):
            sys.modules.pop(name, None)
    assert first is not None
    assert changed != first


@pytest.mark.parametrize("within", [False, True], ids=["at the top", "within a method"])
def test_a_number_that_is_imported_decides_wherever_the_import_stands(home: Path, within: bool) -> None:
    """A number does not say which module it is from, and what a method imports is not there before it is called."""
    numbers, mine = home / "own_numbers.py", home / "own_with_numbers.py"
    text = MINE.format(imports="from own_numbers import SHARE", name="own-with-numbers", rule="SHARE * len")
    if within:
        text = MINE.format(imports="", name="own-with-numbers", rule="SHARE * len")
        text = text.replace("        return", "        from own_numbers import SHARE\n        return")
    numbers.write_text("SHARE = 1\n")
    mine.write_text(text)
    found = []
    for share in (1, 2, 1):
        numbers.write_text(f"SHARE = {share}\n")
        sys.modules.pop("own_numbers", None)
        found.append(own_code(imported(mine, "own-with-numbers")))
    sys.modules.pop("own_numbers", None)
    assert found[0] == found[2] != found[1]


def test_two_files_of_one_name_decide_each_for_itself(home: Path) -> None:
    """The digest of the first was that of the second, and a change of the first was not seen."""
    files = [home / folder / "own_namesake.py" for folder in ("one", "other")]
    for number, file in enumerate(files):
        file.parent.mkdir()
        file.write_text(MINE.format(imports="", name=f"own-namesake-{number}", rule="len"))
    import_files(files)
    first, other = (class_named(Sampler, f"own-namesake-{number}") for number in (0, 1))
    assert own_sources(first) == [files[0].resolve()]
    assert own_code(first) != own_code(other)


def test_what_is_installed_does_not_decide(home: Path) -> None:
    """Or every version of torch would make another method; and runs of a file alone keep the keys that they have."""
    mine = home / "own_alone.py"
    mine.write_text(MINE.format(imports="import json, numpy", name="own-alone", rule="len"))
    alone = hashlib.sha256(hashlib.sha256(mine.read_bytes()).digest()).hexdigest()
    assert own_code(imported(mine, "own-alone")) == alone[:16]


@pytest.mark.parametrize("edit", ["sampler", "helper", "constant", "broken"])
def test_a_file_that_was_changed_after_its_import_is_refused(home: Path, edit: str) -> None:
    """The old text would be run, and its result kept under the new one's key."""
    rules, mine = home / "own_stale_rules.py", home / "own_stale.py"
    text = MINE.format(imports="from own_stale_rules import softest", name="own-stale", rule="softest")
    rules.write_text(RULE + "SHARE = 0.5\nCALLS = 0\n\n\ndef count():\n    global CALLS\n    CALLS += 1\n")
    mine.write_text(text)
    try:
        kind = imported(mine, "own-stale")
        sys.modules["own_stale_rules"].count()  # what the file itself changes is no sign of another text
        first = own_code(kind)
        file, old, new = {
            "sampler": (mine, "softest(match)", "softest(match) * 0"),
            "helper": (rules, "argmin", "argmax"),
            "constant": (rules, "SHARE = 0.5", "SHARE = 0.7"),
            "broken": (mine, "class Mine", "class"),
        }[edit]
        before = file.read_text()
        file.write_text(before.replace(old, new))
        with pytest.raises(DataError, match=f"{file.name} was changed after it was imported"):
            own_code(kind)
        file.write_text(before + "\n# a remark\n")
        assert own_code(kind) != first  # another text, though it does the same
    finally:
        sys.modules.pop("own_stale_rules", None)
