"""Getting a set's files: embedded, from a server, from copies; verified, and never half there."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sahcns.data.catalogue import CATALOGUE, EMBEDDED, Counts, File, NamedSet, find, obtain
from sahcns.data.recipe import Recipe
from sahcns.errors import DataError
from tests.data.http_host import Host, serve

RATINGS, TITLES = b"1::2::3::4\n" * 1000, b"2::A film::Drama\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, part in members.items():
            archive.writestr(name, part)
    return content.getvalue()


ZIP = packed({"films/ratings.dat": RATINGS, "films/movies.dat": TITLES, "films/other.dat": b"not wanted"})


def archived(url: str) -> NamedSet:
    """A set in an archive."""
    return NamedSet(
        name="films",
        about="",
        homepage="https://films.example",
        terms="",
        files=(File("ratings.dat", sha256=sha256(RATINGS)), File("movies.dat", optional=True)),
        parts={"all": "ratings.dat"},
        recipe=Recipe(),
        expected=Counts(1),
        archive=File("", f"{url}/films.zip", sha256(ZIP)),
    )


def loose(url: str) -> NamedSet:
    """A set of single files, one with a checksum and one without."""
    files = (File("train.txt", f"{url}/train.txt", sha256(b"0 1\n")), File("test.txt", f"{url}/test.txt"))
    parts = {"train": "train.txt", "test": "test.txt"}
    return replace(archived(url), name="loose", archive=None, files=files, parts=parts)


@pytest.fixture
def host() -> Iterator[Host]:
    with serve(Host({"/films.zip": ZIP, "/train.txt": b"0 1\n", "/test.txt": b"0 2\n"})) as running:
        yield running


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_an_archive_is_downloaded_verified_and_unpacked(host: Host, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    folder = obtain(archived(host.url), to=tmp_path, report=lambda *state: seen.append(state))
    assert folder == tmp_path / "films"
    assert names(folder) == {"ratings.dat", "movies.dat"}
    assert (folder / "ratings.dat").read_bytes() == RATINGS
    assert seen[-1] == ("films.zip", len(ZIP), len(ZIP))
    obtain(archived(host.url), to=tmp_path)
    assert len(host.asked) == 1  # it is there: no second download


def test_single_files_are_downloaded_and_only_what_is_missing(host: Host, tmp_path: Path) -> None:
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose" / "test.txt").write_bytes(b"put here by hand\n")
    folder = obtain(loose(host.url), to=tmp_path)
    assert [path for path, _ in host.asked] == ["/train.txt"]
    assert (folder / "train.txt").read_bytes() == b"0 1\n"
    assert (folder / "test.txt").read_bytes() == b"put here by hand\n"


def test_a_damaged_archive_is_refused_and_nothing_gets_its_name(host: Host, tmp_path: Path) -> None:
    damaged = bytearray(ZIP)
    damaged[100] ^= 1
    host.files["/films.zip"] = bytes(damaged)
    with pytest.raises(DataError, match="SHA-256"):
        obtain(archived(host.url), to=tmp_path)
    assert names(tmp_path / "films") == set()


def test_without_a_network_the_error_says_which_file_to_put_where(tmp_path: Path) -> None:
    wanted = archived("http://127.0.0.1:9")
    with pytest.raises(DataError) as problem:
        obtain(wanted, to=tmp_path, pause=0.0)
    text = str(problem.value)
    assert "could not download http://127.0.0.1:9/films.zip: Connection refused" in text
    assert f"put it at {tmp_path / 'films' / 'films.zip'}" in text
    assert "sahcns data get films --from PATH" in text
    (tmp_path / "films" / "films.zip").write_bytes(ZIP)  # and doing so is enough
    assert (obtain(wanted, to=tmp_path) / "ratings.dat").read_bytes() == RATINGS


def test_a_set_that_no_program_may_download_says_where_to_go(tmp_path: Path) -> None:
    with pytest.raises(DataError) as problem:
        obtain(CATALOGUE["yelp"], to=tmp_path)
    assert "https://business.yelp.com/data/resources/open-dataset/" in str(problem.value)
    assert f"put yelp_academic_dataset_review.json into {tmp_path / 'yelp'}" in str(problem.value)
    (tmp_path / "yelp" / "yelp_academic_dataset_review.json").write_text("{}")
    assert obtain(CATALOGUE["yelp"], to=tmp_path) == tmp_path / "yelp"


@pytest.mark.parametrize("form", ["archive", "folder", "file"])
def test_a_local_copy_in_every_form(tmp_path: Path, form: str) -> None:
    source = tmp_path / "copy"
    if form == "folder":
        source.mkdir()
        (source / "ratings.dat").write_bytes(RATINGS)
    else:
        source.write_bytes(ZIP if form == "archive" else RATINGS)
    folder = obtain(archived("http://127.0.0.1:9"), to=tmp_path / "sets", source=source)
    assert (folder / "ratings.dat").read_bytes() == RATINGS
    assert (folder / "movies.dat").exists() == (form == "archive")


def test_a_local_copy_is_verified_before_it_gets_its_name(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_bytes(RATINGS[:-1])
    with pytest.raises(DataError, match=r"ratings\.dat.*SHA-256"):
        obtain(archived("http://127.0.0.1:9"), to=tmp_path / "sets", source=tmp_path)
    assert names(tmp_path / "sets" / "films") == set()


def test_a_file_that_changed_in_the_folder_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "ratings.dat").write_bytes(b"changed")
    with pytest.raises(DataError, match=r"ratings\.dat.*SHA-256"):
        obtain(archived("http://127.0.0.1:9"), to=tmp_path)


@pytest.mark.parametrize(
    ("copy", "sentence"),
    [
        ("none", "none is not there"),
        ("", r"has no train\.txt"),
        ("one.txt", r"train\.txt, test\.txt"),
        ("poor.zip", r"poor\.zip has no test\.txt"),
        ("wrong.zip", r"train\.txt.*SHA-256"),
        ("cut.zip", "cannot be unpacked"),
        ("wrong-crc.zip", "cannot be unpacked"),
        ("wrong-code.zip", "cannot be unpacked"),
    ],
)
def test_a_copy_that_will_not_do(tmp_path: Path, copy: str, sentence: str) -> None:
    good = packed({"train.txt": b"0 1\n", "test.txt": b"0 2\n"})
    stored = packed({"train.txt": b"0 1\n", "test.txt": b"0 2\n"}, zipfile.ZIP_STORED)
    at = 30 + len("train.txt")  # where the data of the first member begins
    copies = {
        "one.txt": b"0 1\n",
        "poor.zip": packed({"train.txt": b"0 1\n"}),
        "wrong.zip": packed({"train.txt": b"9 9\n", "test.txt": b"0 2\n"}),
        "cut.zip": good[:-40],
        "wrong-crc.zip": stored[:at] + b"9" + stored[at + 1 :],
        "wrong-code.zip": good[:at] + b"\xff" + good[at + 1 :],
    }
    for name, content in copies.items():
        (tmp_path / name).write_bytes(content)
    target = tmp_path / "deep" / "sets"
    with pytest.raises(DataError, match=sentence):
        obtain(loose("http://127.0.0.1:9"), to=target, source=tmp_path / copy)
    assert names(target / "loose") == set()
    assert names(tmp_path) == {*copies, "deep"}


def test_an_archive_writes_nothing_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "evil.zip").write_bytes(packed({"../../train.txt": b"0 1\n", "test.txt": b"0 2\n"}))
    folder = obtain(loose("http://127.0.0.1:9"), to=tmp_path / "deep", source=tmp_path / "evil.zip")
    assert names(folder) == {"train.txt", "test.txt"}
    assert names(tmp_path) == {"evil.zip", "deep"}


def test_the_embedded_set_is_used_where_it_lies_and_can_be_copied_out(tmp_path: Path) -> None:
    small = CATALOGUE["ml-latest-small"]
    assert obtain(small) == EMBEDDED / "ml-latest-small"
    folder = obtain(small, to=tmp_path)
    assert names(folder) == {"ratings.csv", "movies.csv", "README.txt"}
    assert find(folder, "ratings.csv") == folder / "ratings.csv"
