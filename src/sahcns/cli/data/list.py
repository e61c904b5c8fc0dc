"""`sahcns data list`."""

from sahcns.cli.console import Json, show, show_json, table


def command(json: Json = False) -> None:
    """The public sets that sahcns knows by name, and whether they are on this disk.

    Sizes are those after each set's own recipe. "here" means that `sahcns data prepare NAME` needs no network.

    Example: sahcns data list
    """
    from sahcns.data.catalogue import CATALOGUE, NamedSet, cache_folder, find

    def here(known: NamedSet) -> bool:
        folder = cache_folder() / known.name
        return known.embedded or all(find(folder, name) for name in known.parts.values())

    if json:
        show_json(
            [
                {
                    "name": known.name,
                    "about": known.about,
                    "homepage": known.homepage,
                    "terms": known.terms,
                    "note": known.note,
                    "here": here(known),
                    "urls": [known.archive.url] if known.archive else [file.url for file in known.files if file.url],
                    "files": [file.name for file in known.files],
                    "recipe": known.recipe.to_dict(),
                    "expected": known.expected,
                }
                for known in CATALOGUE.values()
            ]
        )
        return
    rows = table("name", ">users", ">items", ">interactions", "here", "what it is")
    for known in CATALOGUE.values():
        sizes = (known.expected.users, known.expected.items, known.expected.interactions)
        rows.add_row(
            known.name,
            *(f"{size:,}" if size else "" for size in sizes),
            "yes" if here(known) else "",
            known.about,
        )
    show(rows, "", "Prepare one with: sahcns data prepare NAME FOLDER")
