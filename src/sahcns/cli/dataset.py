"""The data of a run: a prepared folder, a set that ships inside the package, or the pairs kept with a model."""

from glob import has_magic, iglob
from pathlib import Path
from typing import TYPE_CHECKING

from sahcns.cli.console import count, tell, warn
from sahcns.errors import DataError, nearest

if TYPE_CHECKING:
    from sahcns.data import Split
    from sahcns.model import Recommender


def holds_orders(where: str) -> bool:
    """Whether it is a file (or a pipe) of somebody's own, a folder of Parquet files or a pattern of files.

    A folder of ours has its description, and the name of a set is none of these.
    """
    path = Path(where)
    if path.is_dir():
        return not any(path.glob("*.json")) and next(path.rglob("*.parquet"), None) is not None
    return path.exists() or (has_magic(where) and next(iglob(where, recursive=True), None) is not None)


def prepared_folder(where: str) -> Path:
    """`where` itself, or for an embedded set a folder in the cache, prepared by the set's recipe when it is not there."""
    from sahcns.data import read_manifest, save_split
    from sahcns.data.catalogue import CATALOGUE, cache_folder, prepare_named

    if Path(where).exists():
        return Path(where)
    if where not in CATALOGUE:
        if (hint := nearest(where, CATALOGUE)).startswith("did you mean"):
            raise DataError(f"{where!r} is neither a prepared folder nor a set of the catalogue; {hint}")
        return Path(where)
    wanted = CATALOGUE[where]
    if not wanted.embedded:
        raise DataError(f"{where} is a set of the catalogue; prepare it first: sahcns data prepare {where} FOLDER")
    folder = cache_folder() / "prepared" / where
    try:
        ready = read_manifest(folder).get("recipe") == wanted.recipe.to_dict()
    except DataError:
        ready = False
    if not ready:
        tell(f"{where} ships with sahcns; it is prepared by its own recipe into {folder}")
        try:
            save_split(prepare_named(where), folder)
        except DataError as error:
            raise DataError(
                f"{error}; set XDG_CACHE_HOME to a folder that can be written, or prepare it where you like: "
                f"sahcns data prepare {where} FOLDER"
            ) from error
    return folder


def data_of(model: "Recommender", given: Path | None) -> "tuple[Split, Path | None]":
    """The run's split and its folder: the one given, the one remembered, or (None) the pairs kept with the model."""
    from sahcns.data import load_split

    about = model.record["data"]
    folder = given or (Path(about["folder"]) if "folder" in about else None)
    if folder is None or (given is None and not folder.exists()):
        missing = f"the data folder {folder} is not here; " if folder else ""
        tell(f"{missing}the pairs kept with the model are used")
        return model.split(), None
    split = load_split(folder)
    if split.fingerprint == about["fingerprint"]:
        return split, folder.resolve()
    if given is None:  # newer data were prepared into the same folder, as one does
        tell(f"{folder} holds other data by now; the pairs kept with the model are used")
        return model.split(), None
    raise DataError(
        f"{folder} holds other data (fingerprint {split.fingerprint[:12]}…) than the run was trained on "
        f"({about['fingerprint'][:12]}…), so its numbers would mean nothing; give the run's own data"
    )


def warn_of_full_users(full: int, items: int, name: str = "") -> None:
    """Say that pairs of users who have every item are not trained on; `name` is the set, where there are several."""
    if not full:
        return
    who = f"{name and f'{name}: '}{count(full, 'user has', 'users have')}"
    warn(
        f"{who} every one of the {items:,} items, so there is nothing to prefer theirs to: their "
        f"{full * items:,} pairs are part of the graph and were not trained on"
    )
