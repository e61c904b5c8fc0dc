"""`sahcns data list`."""

from sahcns.cli.console import Json, show, show_json, table


def command(json: Json = False) -> None:
    """The public sets that sahcns knows by name, and whether they are on this disk.

    Sizes are those after each set's own recipe. "here" means that `sahcns data prepare NAME` needs no network.

    Example: sahcns data list
    """
    from sahcns.data.catalogue import CATALOGUE, NamedSet, cache_folder, find

    def here(entry: NamedSet) -> bool:
        folder = cache_folder() / entry.name
        return entry.embedded or all(find(folder, name) for name in entry.parts.values())

    if json:
        show_json(
            [
                {
                    "name": entry.name,
                    "about": entry.about,
                    "homepage": entry.homepage,
                    "terms": entry.terms,
                    "note": entry.note,
                    "here": here(entry),
                    "urls": [entry.archive.url] if entry.archive else [file.url for file in entry.files if file.url],
                    "files": [file.name for file in entry.files],
                    "recipe": entry.recipe.to_dict(),
                    "expected": entry.expected,
                }
                for entry in CATALOGUE.values()
            ]
        )
        return
    rows = table("name", ">users", ">items", ">interactions", "here", "what it is")
    for entry in CATALOGUE.values():
        sizes = (entry.expected.users, entry.expected.items, entry.expected.interactions)
        rows.add_row(
            entry.name,
            *(f"{size:,}" if size else "" for size in sizes),
            "yes" if here(entry) else "",
            entry.about,
        )
    show(rows, "", "Prepare one with: sahcns data prepare NAME FOLDER")
