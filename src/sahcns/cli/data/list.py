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
        sets = []
        for entry in CATALOGUE.values():
            urls = [entry.archive.url] if entry.archive else [file.url for file in entry.files if file.url]
            about = {name: getattr(entry, name) for name in ("name", "about", "homepage", "terms", "note", "expected")}
            files = [file.name for file in entry.files]
            sets.append({**about, "here": here(entry), "urls": urls, "files": files, "recipe": entry.recipe.to_dict()})
        show_json(sets)
        return
    rows = table("name", ">users", ">items", ">interactions", "here", "what it is")
    for entry in CATALOGUE.values():
        expected = entry.expected
        sizes = (f"{size:,}" if size else "" for size in (expected.users, expected.items, expected.interactions))
        rows.add_row(entry.name, *sizes, "yes" * here(entry), entry.about)
    show(rows, "", "Prepare one with: sahcns data prepare NAME FOLDER")
