import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sahcns.data import Recipe, Split, load_split, prepare, read_manifest, save_split
from sahcns.data.ids import Id
from sahcns.data.readers import read
from sahcns.errors import DataError
from tests.data.hand_made import decoded, interactions
from tests.orders import write_orders
from tests.sealing import write_sealed


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


def test_categories_of_a_shops_items_are_kept(tmp_path: Path) -> None:
    """From the item file through the k-core into the folder and back, each beside the item it is of."""
    orders = write_orders(tmp_path / "orders.csv", 2000)
    rows = read(orders, user="Customer No.", item="article", title=tmp_path / "orders-items.csv")
    split = prepare(rows, Recipe(core=7))
    loaded = load_split(save_split(split, tmp_path / "set"))
    assert loaded.categories is not None
    assert loaded.titles is not None
    assert loaded.n_items < len(rows.item_ids)
    for item in range(loaded.n_items):
        assert loaded.titles[item].startswith(f"{loaded.categories[item].title()} No. ")
    assert load_split(tmp_path / "set").whole().categories is not None
    assert load_split(save_split(small(), tmp_path / "set")).categories is None


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
    del manifest["sha256"]
    assert load_split(tmp_path / "set").manifest == manifest


def test_a_folder_without_its_files_or_with_another_fingerprint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": "sahcns-prepared", "format_version": 1, "files": {}}')
    with pytest.raises(DataError, match=str(tmp_path)):
        load_split(tmp_path)
    manifest = save_split(small(), tmp_path / "set") / "manifest.json"
    write_sealed(manifest, json.loads(manifest.read_text("utf-8")) | {"fingerprint": "0" * 64})
    with pytest.raises(DataError, match="fingerprint"):
        load_split(tmp_path / "set")


def test_a_loaded_set_can_be_saved_over_itself(tmp_path: Path) -> None:
    save_split(small(), tmp_path / "set")
    before = contents(tmp_path / "set")
    save_split(load_split(tmp_path / "set"), tmp_path / "set")
    assert contents(tmp_path / "set") == before


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


def swap(place: Path, name: str, array: object) -> None:
    """Another file under a name, its digest right."""
    np.save(place / name, array, allow_pickle=True)  # type: ignore[arg-type]
    manifest = json.loads((place / "manifest.json").read_text("utf-8"))
    content = (place / name).read_bytes()
    manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    write_sealed(place / "manifest.json", manifest)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("train.users.npy", lambda column: column + 1),
        ("test.items.npy", lambda column: -1 - column),
        ("valid.items.npy", lambda column: column[:-1]),
        ("train.items.npy", lambda column: column.astype("<i8")),
        ("train.items.npy", lambda column: column.reshape(1, -1)),
        ("train.users.npy", lambda column: column.astype(object)),
        ("train.weights.npy", lambda column: column * np.nan),
        ("train.weights.npy", lambda column: -column),
        ("train.weights.npy", lambda column: column[1:]),
        ("item_ids.npy", lambda column: column[::-1]),
        ("item_ids.npy", lambda column: column[:-1]),
        ("item_ids.npy", lambda column: column // 2),
        ("user_ids.utf8.npy", lambda column: column[::-1]),
        ("user_ids.utf8.npy", lambda column: column | 0x80),
        ("user_ids.offsets.npy", lambda column: column[::-1]),
        ("user_ids.offsets.npy", lambda column: column - 1),
        ("user_ids.offsets.npy", lambda column: column[:0]),
        ("item_titles.offsets.npy", lambda column: np.append(column[0], column[2:])),
        ("item_titles.offsets.npy", lambda column: np.append(column[:-2], [column[-1] - 1, column[-1]])),
    ],
)
def test_columns_that_do_not_agree_are_refused_though_their_digests_are_right(
    tmp_path: Path, name: str, change: Callable[[Any], object]
) -> None:
    rows: list[tuple[Id, Id]] = [(f"user {user}", item) for user in range(9) for item in range(user, 2 * user + 3)]
    raw = interactions(rows, titles={item: f"Film {item} ☕" for _, item in rows})
    place = save_split(prepare(raw, Recipe(weight="rows")), tmp_path / "set")
    swap(place, name, change(np.load(place / name)))
    with pytest.raises(DataError, match=f"{place} is not a whole prepared set"):
        load_split(place)


def test_a_broken_array_or_manifest_is_refused(tmp_path: Path) -> None:
    place = save_split(small(), tmp_path / "set")
    good = (place / "manifest.json").read_text("utf-8")
    for entry in ("recipe", "steps", "source", "statistics"):
        write_sealed(place / "manifest.json", json.loads(good) | {entry: 7})
        for look in (load_split, read_manifest):
            with pytest.raises(DataError, match=entry):
                look(place)
    (place / "manifest.json").write_text(good)
    swap(place, "train.users.npy", np.zeros(3))
    for content in (b"", b"\x93NUMPY\x01\x00\x06\x00{'descr", b"PK\x03\x04", b"\x93NUMPY\x01\x00\x02\x00(\n"):
        (place / "train.users.npy").write_bytes(content)
        manifest = json.loads(good)
        manifest["files"]["train.users.npy"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        write_sealed(place / "manifest.json", manifest)
        with pytest.raises(DataError, match=r"train\.users|No data left"):
            load_split(place)
