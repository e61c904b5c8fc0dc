import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sahcns.data import Recipe, Split, load_split, prepare, read_manifest, save_split
from sahcns.data.ids import Id
from sahcns.errors import DataError
from tests.data.hand_made import decoded, interactions


def small(seed: int = 0, titles: bool = True) -> Split:
    rows: list[tuple[Id, Id]] = [(f"user {user}", item) for user in range(9) for item in range(user, 2 * user + 3)]
    raw = interactions(rows, titles={item: f"Film {item} ☕" for _, item in rows} if titles else None)
    return prepare(raw, Recipe(seed=seed))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


IDS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=5))


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=30), st.booleans())
def test_what_is_saved_is_what_is_loaded(tmp_path: Path, rows: list[tuple[Id, Id]], titled: bool) -> None:
    split = prepare(interactions(rows, titles={rows[0][1]: "a title"} if titled else None), Recipe())
    loaded = load_split(save_split(split, tmp_path / "set"))
    assert decoded(loaded) == decoded(split)
    assert loaded.fingerprint == split.fingerprint == read_manifest(tmp_path / "set")["fingerprint"]
    assert (loaded.titles is None) == (split.titles is None)
    if loaded.titles is not None and split.titles is not None:
        assert [loaded.titles[k] for k in range(loaded.n_items)] == [split.titles[k] for k in range(split.n_items)]


def test_columns_are_int32_files_that_are_mapped_and_not_read(tmp_path: Path) -> None:
    loaded = load_split(save_split(small(), tmp_path / "set"))
    assert isinstance(loaded.train.users.base, np.memmap)
    assert np.load(tmp_path / "set" / "train.users.npy", allow_pickle=False).dtype == np.int32


def test_the_manifest_is_for_people_too(tmp_path: Path) -> None:
    split = small()
    save_split(split, tmp_path / "set")
    text = (tmp_path / "set" / "manifest.json").read_text("utf-8")
    assert '\n  "recipe": {\n    "events": null,\n    "min_rating": null' in text
    manifest = json.loads(text)
    assert [step["step"] for step in manifest["steps"]][-2:] == ["k-core", "split"]
    assert set(manifest["files"]) == {path.name for path in (tmp_path / "set").iterdir()} - {"manifest.json"}
    assert load_split(tmp_path / "set").manifest == manifest


def test_a_split_made_from_arrays_gets_a_full_manifest(tmp_path: Path) -> None:
    split = Split.from_pairs([[0, 0], [1, 1]], test=[[0, 1]])
    manifest = load_split(save_split(split, tmp_path / "set")).manifest
    assert manifest["statistics"]["interactions"] == 3  # type: ignore[index]


def test_a_loaded_set_can_be_saved_over_itself(tmp_path: Path) -> None:
    save_split(small(), tmp_path / "set")
    before = contents(tmp_path / "set")
    save_split(load_split(tmp_path / "set"), tmp_path / "set")
    assert contents(tmp_path / "set") == before


@pytest.mark.parametrize("name", ["train.users.npy", "valid.items.npy", "user_ids.utf8.npy", "item_titles.offsets.npy"])
def test_one_changed_byte_is_found_and_its_file_named(tmp_path: Path, name: str) -> None:
    path = save_split(small(), tmp_path / "set") / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        DataError, match=rf"set/{name} is not as it was written \(its SHA-256 differs\); prepare the set"
    ):
        load_split(tmp_path / "set")


def test_a_short_file_is_found_even_without_reading_contents(tmp_path: Path) -> None:
    path = save_split(small(), tmp_path / "set") / "test.items.npy"
    os.truncate(path, path.stat().st_size - 4)
    with pytest.raises(DataError, match=r"test.items.npy is not as it was written \(\d+ bytes, not \d+\)"):
        load_split(tmp_path / "set", verify=False)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (save_split(small(), tmp_path / "set") / "item_ids.npy").unlink()
    with pytest.raises(DataError, match=r"item_ids.npy is missing; prepare the set again"):
        load_split(tmp_path / "set")


def edit(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")


def test_a_manifest_of_other_data_is_refused(tmp_path: Path) -> None:
    edit(save_split(small(), tmp_path / "set"), fingerprint=small(seed=1).fingerprint)
    with pytest.raises(DataError, match=r"fingerprint in .* is not that of its files"):
        load_split(tmp_path / "set")


def test_a_later_format_is_refused_in_a_sentence(tmp_path: Path) -> None:
    edit(save_split(small(), tmp_path / "set"), format_version=99, sahcns_version="7.0")
    with pytest.raises(DataError, match=r"format version 99 \(written by sahcns 7.0\), and this version reads 1"):
        load_split(tmp_path / "set")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not readable JSON"),
        ("\N{SNOWMAN}", "is not readable JSON"),
        ("[1]", "is not the manifest of a prepared set"),
        ('{"name": "something else"}', "is not the manifest of a prepared set"),
        ('{"format": "sahcns-prepared", "format_version": 1}', "does not list its files"),
        ('{"format": "sahcns-prepared", "format_version": 1, "files": {}}', "is not a whole prepared set"),
    ],
)
def test_a_strange_manifest_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        load_split(tmp_path)


def test_no_set_at_all(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not there; make one with `sahcns data prepare`"):
        load_split(tmp_path / "nothing")
    with pytest.raises(DataError, match=r"has no manifest\.json"):
        load_split(tmp_path)


def test_an_old_set_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    save_split(small(titles=True), tmp_path / "set")
    save_split(small(seed=1, titles=False), tmp_path / "set")
    assert load_split(tmp_path / "set").fingerprint == small(seed=1).fingerprint
    assert not list((tmp_path / "set").glob("item_titles*"))
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_a_set_copied_over_one_with_other_ids_is_itself_and_can_be_replaced(tmp_path: Path) -> None:
    rows = [(user, item) for user in (2, 10, 30) for item in (5, 40, 100)]
    numbers = prepare(interactions(rows, ratings=[1, *[5] * 8], titles={5: "five"}), Recipe(min_rating=3))
    texts = prepare(interactions([(str(user), str(item)) for user, item in rows]), Recipe())
    for first, second in ((numbers, texts), (texts, numbers)):
        place = save_split(first, tmp_path / "set")
        shutil.copytree(save_split(second, tmp_path / "copy"), place, dirs_exist_ok=True)
        assert load_split(place).fingerprint == second.fingerprint
        save_split(first, place)
        assert set(contents(place)) == {"manifest.json", *read_manifest(place)["files"]}


@pytest.mark.parametrize("with_set", [False, True])
def test_a_folder_with_other_files_is_left_as_it_is(tmp_path: Path, with_set: bool) -> None:
    if with_set:
        save_split(small(), tmp_path / "set")
    (tmp_path / "set").mkdir(exist_ok=True)
    (tmp_path / "set" / "thesis.tex").write_text("years of work")
    before = contents(tmp_path / "set")
    with pytest.raises(DataError, match=r"holds 'thesis\.tex', which is not part of a prepared set"):
        save_split(small(seed=1), tmp_path / "set")
    assert contents(tmp_path / "set") == before


def test_a_file_is_not_overwritten_and_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="is a file, not a folder"):
        save_split(small(), tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert load_split(save_split(small(), tmp_path / "empty")).fingerprint == small().fingerprint


def test_a_disk_that_refuses_leaves_the_old_set(tmp_path: Path) -> None:
    """The operating system itself refuses the third kilobyte of a file, as a full disk would."""
    save_split(small(), tmp_path / "set")
    before = contents(tmp_path / "set")
    bigger = prepare(interactions([(user, item) for user in range(40) for item in range(40)]), Recipe())
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, former[1]))
    try:
        with pytest.raises(DataError, match=r"cannot write the prepared set .*: File too large"):
            save_split(bigger, tmp_path / "set")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
    assert contents(tmp_path / "set") == before
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


KILLED = """
import os, pathlib, signal, sys
from sahcns.data import Recipe, load_split, prepare, save_split
from tests.data.test_prepared import small
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
save_split(small(seed=1), sys.argv[1])
"""


@pytest.mark.parametrize(
    ("allowed", "kind"),
    [(2, "fsync"), (11, "fsync"), (0, "rename"), (1, "rename")],
    ids=["in the middle of writing", "before the manifest is safe", "before the swap", "in the middle of the swap"],
)
def test_a_process_killed_at_any_moment_leaves_a_whole_set(tmp_path: Path, allowed: int, kind: str) -> None:
    save_split(small(), tmp_path / "set")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "set"), str(allowed), kind]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == -signal.SIGKILL
    assert load_split(tmp_path / "set").fingerprint == small().fingerprint
    save_split(small(seed=2), tmp_path / "set")
    assert load_split(tmp_path / "set").fingerprint == small(seed=2).fingerprint


def test_unfinished_folders_of_another_day_are_cleared_away(tmp_path: Path) -> None:
    for name, age in (("old", 100_000), ("young", 60)):
        (tmp_path / f".set.new-{name}").mkdir()
        stamp = (tmp_path / f".set.new-{name}").stat().st_mtime - age
        os.utime(tmp_path / f".set.new-{name}", (stamp, stamp))
    save_split(small(), tmp_path / "set")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".set.new-young", "set"]


def test_loading_needs_neither_polars_nor_torch(tmp_path: Path) -> None:
    save_split(small(), tmp_path / "set")
    code = (
        "import sys; from sahcns.data import load_split, statistics; statistics(load_split(sys.argv[1]));"
        "heavy = {'polars', 'torch', 'pandas', 'pyarrow', 'matplotlib', 'rich'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "set")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
