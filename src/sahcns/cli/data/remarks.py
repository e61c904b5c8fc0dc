"""What commands that read files remark on stderr: whatever was taken for granted, left out or looks odd."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from sahcns.cli.console import count, tell, warn
from sahcns.data.columns import find_usual, listed
from sahcns.data.interactions import list_kinds

if TYPE_CHECKING:
    from sahcns.data import Split

NOTABLE = 0.05  # share of held-out rows of which nothing can be learnt that is worth a remark


def remarks(manifest: Mapping[str, Any]) -> None:
    """All of them, for the manifest of a set that was just prepared."""
    sources, own = manifest["source"], "catalogue" not in manifest
    several = [sources] if "files" in sources else [*sources.values()]
    narrowed = manifest["recipe"].get("events") is not None
    for source in several:
        read_remarks(source, columns=own, narrowed=narrowed, titles="titles" not in source)
    alike = {step["step"]: step for step in manifest["steps"] if step["rule"].startswith("off, ")}
    if step := alike.get("events"):
        kinds = f"all kinds of {several[0]['columns']['event']} count alike: {list_kinds(step['kept'])}"
        tell(f"{kinds}; --events KIND,… keeps some of them")
    if own and (step := alike.get("rating")):
        like = f"ratings were {step['rule']}: every row counts as a like"
        tell(f"{like}; --min-rating NUMBER keeps those of at least that")
    _part_remarks(manifest, own)
    differences = manifest.get("catalogue", {}).get("differs_from_catalogue")
    if differences:
        listed = ", ".join(differences)
        warn(f"the counts are not those of the catalogue ({listed}), so results do not compare with published ones")


def replace_remarks(former: Mapping[str, Any], made: "Split", folder: str) -> None:
    """What a set that took the place of another does differently: mistakes that are easily made from day to day."""
    manifest: Any = made.manifest
    recipe = manifest["recipe"]
    before = {name: value for name, value in former.get("recipe", {}).items() if value != recipe.get(name)}
    if before:
        changes = ", ".join(f"{name} {_plain(value)}, now {_plain(recipe.get(name))}" for name, value in before.items())
        tell(f"{folder} was prepared otherwise before: {changes}")
    counts = former.get("statistics", {})
    if not before and manifest["statistics"]["interactions"] < counts.get("interactions", 0):
        were = f"{counts['interactions']:,} pairs of {counts['users']:,} users and {counts['items']:,} items"
        tell(f"{folder} held {were} before, and has fewer now; files replace what was there, so give all of them")
    for role, ids in (("user", made.user_ids), ("item", made.item_ids)):
        if ids.kind == "text" and f"{role}_ids.npy" in former.get("files", {}):
            now = f"{role} ids were numbers before and are texts now"
            tell(f"{now}, as at least one is none; so they will be in answers")


def _plain(value: object) -> str:
    """`none`, `purchase,cart`, `0.8:0.1:0.1` or `time`."""
    if isinstance(value, list):
        return (":" if all(isinstance(part, float) for part in value) else ",").join(map(str, value))
    return "none" if value is None else str(value)


def read_remarks(
    source: Mapping[str, Any],
    columns: bool = True,
    header: str = "--header",
    narrowed: bool = False,
    titles: bool = False,
) -> None:
    """Those on what was read from one source.

    columns    whether to say which columns were read
    header     the option that says that line 1 names the columns
    narrowed   whether some kinds of events were chosen; else the column of them is not used
    titles     whether to point at a column that looks like titles, because there are none yet
    """
    if columns:
        _column_remarks(source["files"], header, narrowed, titles)
    for file in source.get("empty", []):
        tell(f"{file} is empty, and was left out")
    if source.get("titles", {}).get("items_with_title") == 0:
        place = source["titles"].get("path") or source["titles"].get("column")
        warn(f"no item has a title in {place}; are the ids the same?")
    _id_remarks(source)
    if "times" in source:
        _time_remarks(source["times"]["first"], source["times"]["last"])
    unit = "row" if source["format"] == "parquet" else "line"
    if "zones" in source:
        without, zoned = source["zones"]["without"], source["zones"]["with"]
        warn(
            f"{without['rows']:,} of the {without['rows'] + zoned['rows']:,} times say no time zone "
            f"({_first(without, unit)}) and were taken as UTC, while the others say theirs ({_first(zoned, unit)}); "
            "if the former are of another zone, write it behind them"
        )
    for role, entry in source.get("missing", {}).items():
        rows = f"{count(entry['rows'], 'row')} without a {role}"
        tell(f"{rows} ({_first(entry, unit)}), kept as long as no step needs it")
    for reason, entry in source.get("skipped", {}).items():
        tell(f"skipped {count(entry['rows'], 'row')}: {reason} ({_first(entry, unit)})")


def _first(entry: Mapping[str, Any], unit: str) -> str:
    example = f": {entry['example']}" if "example" in entry else ""
    return f"first in {unit} {entry['first_line']:,} of {entry['file']}{example}"


def _column_remarks(files: list[dict[str, Any]], header: str, narrowed: bool, titles: bool) -> None:
    """Which columns were taken, where some were not or where there was no header to go by; once for files alike."""
    seen: list[tuple[object, object]] = []
    for file in files:
        used = {role: column for role, column in file["columns"].items() if narrowed or role != "event"}
        unused = [*file.get("unused", []), *(file["columns"][role] for role in file["columns"] if role not in used)]
        columns = ", ".join(f"{role} = {column}" for role, column in used.items())
        if file.get("header") is False and file["format"] == "csv":
            tell(f"{file['path']} was read as rows only ({columns}); if its first line names the columns, say {header}")
        elif unused and (columns, unused) not in seen:
            seen.append((columns, unused))
            place = find_usual(unused, "title") if titles else None
            hint = "" if place is None else f"; --title {unused[place]!r} shows items by their titles"
            tell(f"{file['path']} was read with {columns}; not used: {listed(unused)}{hint}")


def _id_remarks(source: Mapping[str, Any]) -> None:
    for role, entry in source.get("doubtful", {}).items():
        where = f"in {count(entry['rows'], 'row')}, first in line {entry['first_line']:,}"
        warn(f"{role} id {entry['value']!r} stands {where} of {entry['file']}, and was taken for an id like any other")
    for role, entry in source.get("twins", {}).items():
        many = f", one of {entry['ids']:,} such ids" if entry["ids"] > 1 else ""
        form = ", the same in another Unicode form" if normalize("NFC", entry["value"]) == entry["like"] else ""
        warn(f"{role} id {entry['value']!r} stands beside {entry['like']!r}{form}{many}; they count as two")
    for role, entry in source.get("rounded", {}).items():
        many = f", one of {entry['ids']:,} such ids," if entry["ids"] > 1 else ""
        looks = "looks like a long number that a spreadsheet has rounded, so that different ones may have become one"
        warn(f"{role} id {entry['value']!r}{many} {looks}; export the column as text")


def _time_remarks(first: Mapping[str, str], last: Mapping[str, str]) -> None:
    """Times that can hardly be: one still to come, and the start of 1970, which a 0 for an unknown one becomes."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)  # times without a zone may be of one that is ahead
    file = {name: f" in {end['file']}" if "file" in end else "" for name, end in (("first", first), ("last", last))}
    if last["time"] > tomorrow.strftime("%Y-%m-%dT%H:%M:%SZ"):
        late = f"the latest time{file['last']} is {last['time']}, still to come"
        warn(f"{late}; a split by time holds the latest rows out")
    if first["time"].startswith("1970-01-01T00:00:00") and last["time"] > "1971":
        warn(f"the earliest time{file['first']} is {first['time']}, which a time that is not known often becomes")


def _part_remarks(manifest: Mapping[str, Any], own: bool) -> None:
    """Parts that are empty, and held-out rows that no model can foresee."""
    parts = manifest["statistics"]["parts"]
    for name in (name for name, part in parts.items() if not part["interactions"]):
        warn(f"the {name} part is empty")
    unseen = manifest["steps"][-1].get("unseen_in_training", {})
    rows = unseen.get("valid_rows", 0) + unseen.get("test_rows", 0)
    held_out = parts["valid"]["interactions"] + parts["test"]["interactions"]
    if own and unseen.get("rule") == "keep" and rows and rows >= NOTABLE * held_out:
        tell(
            f"{rows:,} of the {held_out:,} held-out rows are of a user or an item without training rows, of whom nothing "
            "can be learnt; they count all the same, and --unseen drop leaves them out"
        )
