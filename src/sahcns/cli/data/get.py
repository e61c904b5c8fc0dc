"""`sahcns data get`."""

from pathlib import Path
from typing import Annotated

from sahcns.cli.console import Json, byte_progress, show, show_json, table
from sahcns.cli.options import argument, option


def command(
    name: Annotated[str, argument("A name from `sahcns data list`.", "NAME")],
    to: Annotated[Path | None, option("Keep sets here instead of in ~/.cache/sahcns.", "DIR", "--to")] = None,
    source: Annotated[
        Path | None,
        option("Take a local copy: the archive, or the folder or file itself.", "PATH", "--from"),
    ] = None,
    json: Json = False,
) -> None:
    """Download a named set, or take a local copy of it.

    A download that was cut goes on where it stopped. Files are checked against their known checksums, and only a
    whole and right file ever gets its name.

    Examples: sahcns data get ml-1m
              sahcns data get ml-1m --from ~/Downloads/ml-1m.zip
    """
    from sahcns.data.catalogue import find, named_set, obtain

    wanted = named_set(name)
    with byte_progress() as report:
        folder = obtain(wanted, to=to, source=source, report=report)
    files = [
        {"name": path.name, "bytes": path.stat().st_size, "verified": bool(file.sha256 or wanted.archive)}
        for file in wanted.files
        if (path := find(folder, file.name))
    ]
    if json:
        show_json({"name": name, "folder": folder, "terms": wanted.terms, "files": files})
        return
    rows = table("file", ">bytes", "checksum")
    for row in files:
        rows.add_row(str(row["name"]), f"{row['bytes']:,}", "verified" if row["verified"] else "none published")
    next_step = f"sahcns data prepare {name} FOLDER" + (f" --data {to}" if to else "")
    show(f"{name} is in {folder}", "", rows, "", f"Terms: {wanted.terms}", f"Next:  {next_step}")
