"""What the process around the application is told."""

import gc
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from sahcns.serving import server
from sahcns.serving.server import Settings, make_application
from tests.model.films import films
from tests.model.test_recommender import made


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    yield Settings((str(made(films()).save(tmp_path / "run")),), most_seconds=7, most_body=5000, token="secret")
    gc.unfreeze()


def test_settings_reach_the_gate(settings: Settings) -> None:
    gate = make_application(settings)
    assert gate.settings == settings
    assert gate.hosts == {"127.0.0.1", "::1", "localhost"}


def test_what_is_there_at_the_start_is_never_looked_through_for_garbage(settings: Settings) -> None:
    before = gc.get_freeze_count()
    make_application(settings)
    assert gc.get_freeze_count() > before + 10_000


def test_there_are_as_many_files_as_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda which, both: given.append(both))
    server._allow_files(1024)
    server._allow_files(100_000)
    server._allow_files(0)
    assert given == [(1280, 4096), (4096, 4096)]
