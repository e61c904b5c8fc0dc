"""A file that is made once."""

import json
from pathlib import Path

import pytest

from reproduction.once import once


def test_made_once_and_whole(tmp_path: Path) -> None:
    calls = []

    def make() -> dict[str, object]:
        calls.append(1)
        return {"format": "x", "long": {"a": list(range(200)), "b": 2.5}}

    assert once(tmp_path, "kind", "key", make)
    assert not once(tmp_path, "kind", "key", make)
    assert calls == [1]
    assert json.loads((tmp_path / "kind" / "key.json").read_text("utf-8")) == make()
    assert [path.name for path in (tmp_path / "kind").iterdir()] == ["key.json"]
    assert not list((tmp_path / "claims").iterdir())


def test_what_was_left_half_written_is_swept_up_and_a_failure_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "kind").mkdir()
    (tmp_path / "kind" / ".key.json.1f3a9c04").write_text("{", "utf-8")

    def broken() -> dict[str, object]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        once(tmp_path, "kind", "key", broken)
    assert not list((tmp_path / "kind").iterdir())
    assert once(tmp_path, "kind", "key", lambda: {"format": "x"})
