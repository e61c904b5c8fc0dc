"""Claims: one holder, none left behind, and what the dead leave is swept up."""

import subprocess
import sys
from pathlib import Path

import pytest

from sahcns.errors import DataError
from sahcns.lab.grid.claims import claim, sweep


def test_a_key_has_one_holder_at_a_time_and_no_file_stays(tmp_path: Path) -> None:
    with claim(tmp_path, "a") as first, claim(tmp_path, "a") as second, claim(tmp_path, "b") as other:
        assert (first, second, other) == (True, False, True)
        assert sorted(path.name for path in (tmp_path / "claims").iterdir()) == ["a", "b"]
    assert list((tmp_path / "claims").iterdir()) == []
    with claim(tmp_path, "a") as again:
        assert again


def test_a_claim_on_a_file_that_its_former_holder_removed_is_no_claim(
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
    with claim(tmp_path, "a") as mine:
        assert mine
        assert len(seen) == 1
        assert (tmp_path / "claims" / "a").exists()
        with claim(tmp_path, "a") as second:
            assert not second


def test_a_killed_process_frees_its_claim_and_is_swept_up(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, time\nfrom sahcns.lab.grid.claims import claim\n"
        "with claim(pathlib.Path(sys.argv[1]), 'k-s1-00') as mine:\n    print(mine, flush=True)\n    time.sleep(60)\n"
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
    with claim(tmp_path, "k-s1-00") as mine:
        assert not mine
    holder.kill()
    holder.communicate()
    assert [path.name for path in (tmp_path / "claims").iterdir()] == ["k-s1-00"]
    sweep(tmp_path)
    assert list((tmp_path / "claims").iterdir()) == []
    assert (half.exists(), whole.exists()) == (False, True)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "claims").write_text("a file")
    with pytest.raises(DataError, match=r"cannot write .*claims/a: "), claim(tmp_path, "a"):
        pass


def test_a_system_without_file_locks_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows; what only reads results does not come here."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(DataError, match=r"file locks .* `sahcns train`"), claim(tmp_path, "a"):
        pass
    with pytest.raises(DataError, match="file locks"):  # which a grid begins with, before it starts processes
        sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_all_but_claims_can_be_imported_without_file_locks() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import sahcns; [getattr(sahcns, name) for name in sahcns.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
