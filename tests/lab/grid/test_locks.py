"""Locks: one holder, no file left behind, and what the dead leave is swept up."""

import subprocess
import sys
from pathlib import Path

import pytest

from sahcns.errors import DataError
from sahcns.lab.grid.locks import lock, sweep


def test_a_key_has_one_holder_at_a_time_and_no_file_stays(tmp_path: Path) -> None:
    with lock(tmp_path, "a") as first, lock(tmp_path, "a") as second, lock(tmp_path, "b") as other:
        assert (first, second, other) == (True, False, True)
        assert sorted(path.name for path in (tmp_path / "claims").iterdir()) == ["a", "b"]
    assert list((tmp_path / "claims").iterdir()) == []
    with lock(tmp_path, "a") as again:
        assert again


def test_a_lock_on_a_file_that_its_last_holder_removed_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, the holder leaves (removing the file) and another comes: the lock is on no file."""
    import fcntl

    flock, seen = fcntl.flock, list[int]()

    def late(handle: int, how: int) -> None:
        flock(handle, how)
        if not seen:
            seen.append(handle)
            (tmp_path / "claims" / "a").unlink()

    monkeypatch.setattr(fcntl, "flock", late)
    with lock(tmp_path, "a") as mine:
        assert mine
        assert len(seen) == 1
        assert (tmp_path / "claims" / "a").exists()
        with lock(tmp_path, "a") as second:
            assert not second


def test_a_killed_process_frees_its_lock_and_is_swept_up(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, time\nfrom sahcns.lab.grid.locks import lock\n"
        "with lock(pathlib.Path(sys.argv[1]), 'k-s1-00') as mine:\n    print(mine, flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    (tmp_path / "runs").mkdir()
    half, whole = tmp_path / "runs" / ".k-s1-00.json.1f3a9c04", tmp_path / "runs" / "k-s1-00.json"
    half.write_text("{")
    whole.write_text("{}")
    sweep(tmp_path)
    assert half.exists()  # its writer lives
    with lock(tmp_path, "k-s1-00") as mine:
        assert not mine
    holder.kill()
    holder.communicate()
    assert [path.name for path in (tmp_path / "claims").iterdir()] == ["k-s1-00"]
    sweep(tmp_path)
    assert list((tmp_path / "claims").iterdir()) == []
    assert (half.exists(), whole.exists()) == (False, True)


def test_a_place_that_cannot_be_written_and_a_system_without_locks_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "claims").write_text("a file")
    with pytest.raises(DataError, match="claims/a"), lock(tmp_path, "a"):
        pass
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows; reading results does not come here
    with pytest.raises(DataError, match="file locks"):
        sweep(tmp_path)


def test_everything_can_be_imported_without_file_locks() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import sahcns; [getattr(sahcns, name) for name in sahcns.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
