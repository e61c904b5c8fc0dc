"""The data of a run by the name of a set that ships inside."""

from pathlib import Path

import pytest

from tests.cli.conftest import Sahcns


def test_a_cache_that_cannot_be_written_says_what_to_do(
    sahcns: Sahcns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder", "utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    done = sahcns("train", "ml-latest-small", "--epochs", "1", "--out", tmp_path / "run")
    assert done.code == 2
    assert done.err.splitlines()[-1].endswith(
        "Not a directory; set XDG_CACHE_HOME to a folder that can be written, or prepare it where you like: "
        "sahcns data prepare ml-latest-small FOLDER"
    )
    assert not (tmp_path / "run").exists()
    fetched = sahcns("data", "get", "ml-100k")
    assert fetched.code == 2
    assert "cannot make the folder" in fetched.err
    assert "name another place for them, or set XDG_CACHE_HOME" in fetched.err
