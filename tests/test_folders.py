"""A folder is there whole or not at all, whatever happens while it is written, and never in the place of another's."""

import contextlib
import hashlib
import itertools
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sahcns import folders
from sahcns.errors import DataError
from sahcns.files import unfinished_name
from sahcns.folders import FolderKind, load_folder, npy, read_description, read_folder, refuse_foreign, write_folder

BOX = FolderKind("box", "box.json", "test-box", 3, "make one by hand", "pack it again")


def packed(folder: Path, text: str = "one", more: bool = True) -> Path:
    files = {"a.txt": text, **({"b.txt": text * 2} if more else {})}
    return write_folder(
        BOX, folder, ((name, [t.encode(), b"!"]) for name, t in files.items()), {"label": text, "n": np.int64(7)}
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    home, described = read_folder(BOX, packed(tmp_path / "deep" / "box"))
    assert home == tmp_path / "deep" / "box"
    assert (home / "b.txt").read_text() == "oneone!"
    assert (described["label"], described["n"]) == ("one", 7)
    assert described["files"]["a.txt"] == {"bytes": 4, "sha256": hashlib.sha256(b"one!").hexdigest()}
    assert (home / "box.json").read_text("utf-8").startswith('{\n  "format": "test-box",\n  "format_version": 3,\n')


def test_a_former_folder_is_replaced_with_all_its_files(tmp_path: Path) -> None:
    packed(tmp_path / "box")
    packed(tmp_path / "box", "two", more=False)
    assert sorted(contents(tmp_path / "box")) == ["a.txt", "box.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["box"]


def test_a_file_is_not_overwritten_and_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="file is a file"):
        packed(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert read_folder(BOX, packed(tmp_path / "empty"))[1]["label"] == "one"


def test_through_a_link_the_folder_itself_is_replaced(tmp_path: Path) -> None:
    packed(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    packed(tmp_path / "link", "two")
    assert (tmp_path / "link").is_symlink()
    assert read_description(BOX, tmp_path / "real")["label"] == "two"


@pytest.mark.parametrize("name", ["thesis.tex", ".hidden", "box.json"])
def test_what_is_not_ours_is_left_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / name).write_text('{"format": "another"}')
    for refused in (lambda: packed(tmp_path / "box"), lambda: refuse_foreign(BOX, tmp_path / "box")):
        with pytest.raises(DataError, match=f"'{name}'"):
            refused()
    assert contents(tmp_path / "box") == {name: b'{"format": "another"}'}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", r"box\.json"),
        ("[]", "box"),
        ('{"format": "test-box", "format_version": 4}', "version 4"),
        ('{"format": "test-box"}', "version None"),
        ('{"format": "test-box", "format_version": 3}', "files"),
        ('{"format": "test-box", "format_version": 3, "files": {"a": 1}}', r"files\.a"),
        ('{"format": "test-box", "format_version": 3, "files": {"../a": {"bytes": 1, "sha256": ""}}}', r"'\.\./a'"),
    ],
)
def test_a_strange_description_is_refused(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "box.json").write_text(text)
    with pytest.raises(DataError, match=named):
        read_folder(BOX, tmp_path)


def test_damage_is_found_and_named(tmp_path: Path) -> None:
    path = packed(tmp_path / "box") / "a.txt"
    path.write_text("onE!")
    with pytest.raises(DataError, match=r"a\.txt.*SHA-256"):
        read_folder(BOX, tmp_path / "box")
    read_folder(BOX, tmp_path / "box", contents=False)
    path.write_text("on")
    with pytest.raises(DataError, match=r"a\.txt.*2 bytes, not 4"):
        read_folder(BOX, tmp_path / "box", contents=False)
    path.unlink()
    with pytest.raises(DataError, match=r"a\.txt is missing"):
        read_folder(BOX, tmp_path / "box")


def test_a_disk_that_refuses_leaves_the_former_folder(tmp_path: Path) -> None:
    packed(tmp_path / "box")
    before = contents(tmp_path / "box")
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, former[1]))
    try:
        with pytest.raises(DataError, match=r"cannot write the box .*: File too large"):
            packed(tmp_path / "box", "long" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
    assert contents(tmp_path / "box") == before
    assert [path.name for path in tmp_path.iterdir()] == ["box"]


def test_an_error_while_the_content_is_made_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_folder(BOX, tmp_path / "box", ((name, [broken()]) for name in ("a", "b")), {})
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, pathlib, signal, sys
allowed, kind = int(sys.argv[2]), sys.argv[3]
owner, name = (pathlib.Path, "rename") if kind == "rename" else (os, "fsync")
original = getattr(owner, name)
def counted(*args):
    global allowed
    if not allowed:
        os.kill(os.getpid(), signal.SIGKILL)
    allowed -= 1
    return original(*args)
setattr(owner, name, counted)
from tests.test_folders import packed
packed(pathlib.Path(sys.argv[1]), "two")
"""


@pytest.mark.parametrize(
    ("allowed", "kind", "left"),
    [(1, "fsync", "one"), (3, "fsync", "one"), (0, "rename", "one"), (1, "rename", "one"), (4, "fsync", "two")],
    ids=["writing", "before the description is safe", "before the swap", "in the swap", "after the swap"],
)
def test_a_process_killed_at_any_moment_leaves_a_whole_folder(
    tmp_path: Path, allowed: int, kind: str, left: str
) -> None:
    packed(tmp_path / "box")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "box"), str(allowed), kind]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == -signal.SIGKILL
    assert read_folder(BOX, tmp_path / "box")[1]["label"] == left
    packed(tmp_path / "box", "three")
    assert read_folder(BOX, tmp_path / "box")[1]["label"] == "three"
    assert not (tmp_path / ".box.old").exists()


def interrupted(at: int, call: Callable[[], object]) -> bool:
    """Whether Ctrl-C came: before line number `at`, counted as they are run, of the code that writes folders."""
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != folders.__file__:
            return None
        lines += event == "line"
        if event == "line" and lines == at:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_ctrl_c_at_any_line_leaves_the_former_folder_or_the_new_one(tmp_path: Path) -> None:
    """In its place, where people look for it, and with nothing beside it but what the next writer clears away."""
    found, beside = [], []
    for at in itertools.count(1):
        home = tmp_path / str(at)
        packed(home / "box")
        came = interrupted(at, partial(packed, home / "box", "two"))
        assert (home / "box").is_dir()
        found.append(read_folder(BOX, home / "box")[1]["label"])
        beside += [path.name for path in home.iterdir() if path.name != "box"]
        if not came:
            break
    assert found == sorted(found)  # "one" as long as it is not there whole
    assert {"one", "two"} == set(found)
    assert len(found) > 50
    assert len(beside) <= 4  # where it comes in the very lines that clear away


def test_ctrl_c_while_the_former_folder_is_removed_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of it that stood aside would be taken for the former one as soon as somebody moved the new one away."""
    packed(tmp_path / "box")
    unlink, unlinked = os.unlink, []

    def second(path: Any, **named: Any) -> None:
        unlinked.append(path)
        if len(unlinked) == 2:
            raise KeyboardInterrupt
        unlink(path, **named)

    monkeypatch.setattr(os, "unlink", second)
    with pytest.raises(KeyboardInterrupt):
        packed(tmp_path / "box", "two")
    assert read_folder(BOX, tmp_path / "box")[1]["label"] == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["box"]


def test_two_who_write_and_one_who_reads_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Between the two renames of one writer, the other must not find the place free or the former folder left over."""
    packed(tmp_path / "box")

    def write(text: str) -> None:
        for _ in range(150):
            packed(tmp_path / "box", text)

    def label(home: Path, described: dict[str, Any]) -> tuple[str, bytes]:
        return described["label"], (home / "a.txt").read_bytes()

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, "red"), pool.submit(write, "blue")]
        found = set()
        while not all(writer.done() for writer in writers):
            with contextlib.suppress(DataError):  # replaced too often for one reader, which is said
                found.add(load_folder(BOX, tmp_path / "box", label))
        for writer in writers:
            writer.result()
    assert found <= {("one", b"one!"), ("red", b"red!"), ("blue", b"blue!")}
    assert [path.name for path in tmp_path.iterdir()] == ["box"]


def test_a_folder_that_is_replaced_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    packed(tmp_path / "box")
    turns = ["two", "three"]

    def load(home: Path, described: dict[str, Any]) -> tuple[str, bytes]:
        if turns:
            packed(tmp_path / "box", turns.pop())
        return described["label"], (home / "a.txt").read_bytes()

    assert load_folder(BOX, tmp_path / "box", load) == ("two", b"two!")

    def never(home: Path, described: dict[str, Any]) -> None:
        packed(tmp_path / "box")

    with pytest.raises(DataError, match="was replaced 5 times while it was read; wait until"):
        load_folder(BOX, tmp_path / "box", never)


def test_a_mount_point_is_refused_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's volume, say: it can be neither renamed nor replaced, which only the end would tell."""
    monkeypatch.setattr(Path, "is_mount", lambda self: self == tmp_path)
    with pytest.raises(DataError, match="is a mount point, and a box is replaced whole"):
        refuse_foreign(BOX, tmp_path)
    packed(tmp_path / "box")


def test_unfinished_folders_of_another_day_are_cleared_away(tmp_path: Path) -> None:
    old, young = (tmp_path / unfinished_name(tmp_path / "box") for _ in range(2))
    for folder, age in ((old, 100_000), (young, 60)):
        folder.mkdir()
        stamp = folder.stat().st_mtime - age
        os.utime(folder, (stamp, stamp))
    packed(tmp_path / "box")
    assert sorted(path.name for path in tmp_path.iterdir()) == [young.name, "box"]


def test_folders_that_cannot_be_opened_and_names_that_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manners of Windows; a folder that may be written to but not listed cannot be opened elsewhere either."""
    opened, renamed = os.open, os.rename

    def no_folders(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if os.path.isdir(path) and not named:  # with `dir_fd` it is shutil.rmtree, which goes another way on Windows
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *rest, **named)

    def onto_nothing(old: Any, new: Any) -> None:
        if os.path.exists(new):
            raise FileExistsError(17, "File exists", str(new))
        renamed(old, new)

    monkeypatch.setattr(os, "open", no_folders)
    monkeypatch.setattr(os, "rename", onto_nothing)
    (tmp_path / "box").mkdir()
    for text in ("one", "two"):  # into an empty folder, then in the place of a full one
        assert read_folder(BOX, packed(tmp_path / "box", text))[1]["label"] == text
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert read_folder(BOX, packed(tmp_path / "box", "three"))[1]["label"] == "three"
    assert [entry.name for entry in tmp_path.iterdir()] == ["box"]


@pytest.mark.parametrize(
    "array", [np.arange(6, dtype=np.int64).reshape(2, 3).T, np.zeros(0, np.uint8), np.array([1.5], np.float32)]
)
def test_npy_is_what_numpy_writes(tmp_path: Path, array: npt.NDArray[Any]) -> None:
    (tmp_path / "a.npy").write_bytes(b"".join(bytes(piece) for piece in npy(array)))
    loaded = np.load(tmp_path / "a.npy", allow_pickle=False)
    assert loaded.dtype == array.dtype
    np.testing.assert_array_equal(loaded, array)
