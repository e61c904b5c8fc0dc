"""What `sahcns doctor` finds, and that completion, which the shell asks for, is on."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import torch

from sahcns.cli import COMMANDS
from tests.cli.conftest import Sahcns


def test_it_names_versions_device_cache_and_extras(sahcns: Sahcns, cache: Path) -> None:
    found = sahcns("doctor", "--json").json
    assert (found["torch"], found["cache"]) == (metadata.version("torch"), str(cache))
    assert found["kernels"] == ("triton" if torch.cuda.is_available() else "cpu")
    assert f"optuna {metadata.version('optuna')}" in found["extra tune"]
    assert not any(name in ("extra dev", "extra docs") for name in found)
    done = sahcns("doctor")
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == len(found) + 2  # a heading and a line: one screen
    assert len(found) < 24


def test_what_is_missing_comes_with_its_remedy(sahcns: Sahcns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = metadata.version

    def without(name: str) -> str:
        if name == "optuna":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "below"))
    found = sahcns("doctor", "--json").json
    assert "sahcns[tune]" in found["extra tune"]
    assert "XDG_CACHE_HOME" in found["cache"]


def test_the_shell_completes_commands() -> None:
    asked = {**os.environ, "_SAHCNS_COMPLETE": "complete_bash", "COMP_WORDS": "sahcns tr", "COMP_CWORD": "1"}
    code = "import sys; from sahcns.cli import main; sys.argv = ['sahcns']; main()"
    done = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [entry.name for entry in COMMANDS if entry.name.startswith("tr")] == ["train"]
