"""Files written whole, and read with an error that says what is wrong."""

from pathlib import Path

import pytest

from sahcns.errors import DataError
from sahcns.files import read_marked, write_whole


def read(path: Path) -> object:
    return read_marked(path, "mine", 2, missing="there is none", again="make it again", foreign="another's")


def test_what_was_written_is_read_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "deep" / "a.json", '{"format": "mine", "format_version": 2, "x": 1}')
    assert read(path) == {"format": "mine", "format_version": 2, "x": 1}
    write_whole(path, b'{"format": "mine", "format_version": 2}')
    assert read(path) == {"format": "mine", "format_version": 2}
    assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot write the plot .*file/a\.png"):
        write_whole(tmp_path / "file" / "a.png", b"", "plot")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", r"a\.json is not readable JSON \(.*\); make it again"),
        ("[1, 2]", "another's"),
        ('{"format": "theirs"}', "another's"),
        ('{"format": "mine", "format_version": 3}', "has format version 3, and this sahcns reads 2; update it"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(DataError, match="there is none"):
        read(path)
    path.write_text(text)
    with pytest.raises(DataError, match=says):
        read(path)
