"""Which code made a result: the text of the user's own files decides its key; the commit is noted beside it."""

import hashlib
import linecache
import subprocess
import sys
from pathlib import Path

import pytest

from sahcns import sources
from sahcns.backbones import MF
from sahcns.errors import DataError
from sahcns.importing import import_files
from sahcns.samplers import DNS, Sampler
from sahcns.settings import class_named
from sahcns.sources import own_code, own_files

MINE = """
from dataclasses import dataclass
import json, numpy
import sahcns
{imports}

@dataclass(frozen=True)
class Mine(sahcns.Sampler):
    name = "{name}"

    def choose(self, match, rng):
        return match.pick(match.scores.argmin(1))
"""


def imported(file: Path, name: str, imports: str = "") -> type[Sampler]:
    file.parent.mkdir(exist_ok=True)
    file.write_text(MINE.format(name=name, imports=imports))
    import_files([file])
    return class_named(Sampler, name)


def test_it_is_the_hash_of_the_file_and_what_is_installed_does_not_count(tmp_path: Path) -> None:
    """So it is the same under every version of Python, and runs of one file keep the keys that they have."""
    assert own_code(DNS, MF) is None
    kind = imported(tmp_path / "alone.py", "own-alone")
    inner = hashlib.sha256((tmp_path / "alone.py").read_bytes()).digest()
    assert own_code(kind, MF) == hashlib.sha256(inner).hexdigest()[:16]


@pytest.mark.parametrize(
    "imports", ["from rules import soft", "import rules.soft", "from rules.soft import SHARE", "import numbers_of_mine"]
)
def test_what_it_imports_from_beside_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imports: str) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    helpers = [tmp_path / "rules" / "soft.py", tmp_path / "numbers_of_mine.py"]
    helpers[0].parent.mkdir()
    for helper in (*helpers, tmp_path / "rules" / "__init__.py"):
        helper.write_text("SHARE = 1\n")
    try:
        kind = imported(tmp_path / "with_rules.py", "own-with-rules", imports)
        first = own_code(kind)
        for helper in helpers:
            helper.write_text("SHARE = 2\n")
        assert own_code(kind) != first
    finally:
        for name in ("rules.soft", "rules", "numbers_of_mine"):
            sys.modules.pop(name, None)


def test_two_files_of_one_name_and_a_parent_in_another_file(tmp_path: Path) -> None:
    first, other = (imported(tmp_path / name / "namesake.py", f"own-namesake-{name}") for name in ("one", "other"))
    assert own_files(first) == [(tmp_path / "one" / "namesake.py").resolve()]
    assert own_code(first) != own_code(other)
    child = type("Child", (first,), {"__module__": other.__module__})
    assert own_files(child) == sorted(own_files(first) + own_files(other))


def typed(text: str, remembered: bool) -> type[Sampler]:
    """A class as a notebook makes it: its cell is no file, but Python may be told its text."""
    cell = f"<cell {hash(text)}>"
    space: dict[str, object] = {"__name__": "nowhere"}
    exec(compile(text, cell, "exec"), space)
    if remembered:
        linecache.cache[cell] = (len(text), None, text.splitlines(keepends=True), cell)
    kind = space["Mine"]
    assert isinstance(kind, type)
    return kind


def test_of_a_class_in_a_notebook_the_methods_count_and_one_without_a_text_is_refused() -> None:
    text = MINE.format(name="", imports="")
    first = own_code(typed(text, remembered=True))
    assert first is not None
    assert own_code(typed("\n\n" + text + "\nx = 1\n", remembered=True)) == first
    assert own_code(typed(text.replace("argmin", "argmax"), remembered=True)) != first
    with pytest.raises(DataError, match="Mine has no source text"):
        own_code(typed(text + "# another\n", remembered=False))


def test_the_commit_and_whether_the_checkout_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sources.VARIABLE, "deadbeef")
    assert sources.source_commit() == "deadbeef"
    package = tmp_path / "src" / "sahcns"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(sources, "__file__", str(package / "sources.py"))

    def git(*words: str) -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    assert sources._from_git.__wrapped__() is None  # a checkout around us that does not know us
    git("add", ".")
    git("commit", "-q", "-m", "first")
    (tmp_path / "notes.txt").write_text("not a source")
    assert sources._from_git.__wrapped__() == git("rev-parse", "HEAD")
    (package / "new.py").write_text("")
    assert sources._from_git.__wrapped__() == git("rev-parse", "HEAD") + "+changes"
    monkeypatch.setenv("PATH", str(tmp_path))  # no git here
    assert sources._from_git.__wrapped__() is None
