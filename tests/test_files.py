"""Files written whole, and read with an error that says what is wrong."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sahcns.errors import DataError
from sahcns.files import digest_of, read_marked, write_whole


def read(path: Path) -> object:
    return read_marked(path, "mine", 2, missing="there is none", again="make it again", foreign="another's")


def test_what_was_written_is_read_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "deep" / "a.json", '{"format": "mine", "format_version": 2, "x": 1}')
    assert read(path) == {"format": "mine", "format_version": 2, "x": 1}
    write_whole(path, b'{"format": "mine", "format_version": 2}')
    assert read(path) == {"format": "mine", "format_version": 2}
    assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100 + "]" * 100,
        "[" * 100_000,
        f"[{10**30}]",
        '["\\ud800"]',
        "{",
        '{"format": "mine", "format_version": 2, "sha256": "0"}',
    ],
)
def test_hostile_content_is_no_traceback(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=r"a\.json"):
        read(tmp_path / "a.json")


def test_a_digest_is_of_what_a_file_holds_not_of_its_lines(tmp_path: Path) -> None:
    values = {"format": "mine", "format_version": 2, "x": [1.5, "é"]}
    sealed = values | {"sha256": digest_of(values)}
    (tmp_path / "a.json").write_text(json.dumps(sealed, indent=3))
    assert read(tmp_path / "a.json") == sealed
    (tmp_path / "a.json").write_text(json.dumps(sealed | {"x": [1.25, "é"]}))
    with pytest.raises(DataError, match=r"a\.json"):
        read(tmp_path / "a.json")


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(DataError, match=r"a\.json"):
        read(tmp_path / "a.json")


def test_what_a_killed_writer_left_goes_and_what_another_may_be_writing_stays(tmp_path: Path) -> None:
    names = [".a.csv.0123abcd", ".a.csv.89abcdef", ".a.csv.of-mine", ".b.csv.0123abcd"]
    for name in names:
        (tmp_path / name).write_text("half of")
    (tmp_path / ".a.csv.fedcba98").mkdir()
    (tmp_path / ".a.csv.fedcba98" / "part").write_text("half of")
    yesterday = time.time() - 90_000
    for name in [".a.csv.fedcba98", *names[:1], *names[2:]]:
        os.utime(tmp_path / name, (yesterday, yesterday))
    write_whole(tmp_path / "a.csv", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names[1:], "a.csv"])


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot write the plot .*file/a\.png"):
        write_whole(tmp_path / "file" / "a.png", b"", "plot")


def test_a_link_stays_and_leads_to_the_new_content(tmp_path: Path) -> None:
    real, link = tmp_path / "public" / "page.html", tmp_path / "page.html"
    real.parent.mkdir()
    real.write_text("former")
    link.symlink_to(real)
    assert write_whole(link, "new") == link
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert [entry.name for entry in real.parent.iterdir()] == ["page.html"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """Nor is a device: whoever may would otherwise put a file in the place of /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)
    try:
        write_whole(pipe, "through")
        assert os.read(reader, 100) == b"through"
        write_whole(pipe, iter([b"in ", b"pieces"]))
        assert os.read(reader, 100) == b"in pieces"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", r"a\.json is not readable JSON \(.*\); make it again"),
        ("[1, 2]", "another's"),
        ('{"format": "theirs"}', "another's"),
        ('{"format": "mine", "format_version": 3}', "has format version 3, and this sahcns reads 2; update it"),
        ('{"format": "mine", "format_version": 1}', "has format version 1, and this sahcns reads 2; make it again"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(DataError, match="there is none"):
        read(path)
    path.write_text(text)
    with pytest.raises(DataError, match=says):
        read(path)


def test_an_error_in_making_the_first_piece_leaves_no_folder(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        raise DataError("nothing to write")
        yield b""

    with pytest.raises(DataError, match="nothing to write"):
        write_whole(tmp_path / "new" / "lists.csv", pieces())
    assert list(tmp_path.iterdir()) == []
    assert write_whole(tmp_path / "new" / "lists.csv", iter([b"a,b\n", b"1,2\n"])).read_bytes() == b"a,b\n1,2\n"
    assert write_whole(tmp_path / "empty", iter([])).read_bytes() == b""
