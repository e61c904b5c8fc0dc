"""A command line in this process, with a cache folder of its own and no way to the network."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sahcns.cli import COMMANDS, HELP
from sahcns.cli.group import run
from sahcns.data import save_split
from tests.model.films import films


@dataclass(frozen=True)
class Done:
    """What a command line left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Sahcns = Callable[..., Done]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nothing listens
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.delenv("COLUMNS", raising=False)  # tables as wide as where nobody measures the terminal
    monkeypatch.setattr("sahcns.lab.bench.ENOUGH", 0.005)  # times are measured, and not looked at
    return tmp_path / "cache" / "sahcns"


@pytest.fixture
def sahcns(cache: Path, capsys: pytest.CaptureFixture[str]) -> Sahcns:
    def call(*arguments: str | Path) -> Done:
        capsys.readouterr()
        code = run(COMMANDS, HELP, [str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Done(code, shown.out, shown.err)

    return call


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    return save_split(films(), tmp_path / "films")


def refused(done: Done) -> str:
    """The one sentence of a command that was refused."""
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    return done.err.removeprefix("error: ").rstrip("\n")
