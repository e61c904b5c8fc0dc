"""The data of a run: a prepared folder, or the name of a set that ships inside the package."""

from pathlib import Path

from sahcns.cli.console import tell
from sahcns.errors import DataError, nearest


def prepared_folder(where: str) -> Path:
    """`where` itself, or for an embedded set a folder in the cache, prepared by the set's recipe when it is not there."""
    from sahcns.data import read_manifest, save_split
    from sahcns.data.catalogue import CATALOGUE
    from sahcns.data.named import prepare_named
    from sahcns.data.obtain import cache_folder

    if Path(where).exists() or where not in CATALOGUE:
        hint = nearest(where, CATALOGUE)
        if not Path(where).exists() and hint.startswith("did you mean"):
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
        split = prepare_named(where)
        try:
            save_split(split, folder)
        except DataError as error:
            raise DataError(
                f"{error}; set XDG_CACHE_HOME to a folder that can be written, or prepare it where you like: "
                f"sahcns data prepare {where} FOLDER"
            ) from error
    return folder
