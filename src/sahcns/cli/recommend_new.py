"""`sahcns recommend --for`: a file of what new people have, read as `sahcns data prepare` reads, and what to say about it."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sahcns.cli.console import tell, warn
from sahcns.cli.data.remarks import read_remarks
from sahcns.errors import SahcnsError, SettingError, nearest

if TYPE_CHECKING:
    from sahcns.model import Baskets, Recommender

READ = ("user", "item", "format", "delimiter", "header", "items_offset", "lenient")
SWITCHES = ("header", "lenient")
NAMED = 5  # unknown items that are named where there are many


def reading(texts: list[str]) -> dict[str, Any]:
    """`--read NAME=VALUE …` as the arguments of `sahcns.read`."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingError(f"--read {text!r} must be NAME=VALUE, such as user=customer or item=sku")
        if name not in READ:
            raise SettingError(f"--read {text!r}: a file is not read by {name!r}; {nearest(name, READ)}")
        if name in SWITCHES and value not in ("true", "false"):
            raise SettingError(f"--read {text!r}: {name} is true or false")
        found[name] = value == "true" if name in SWITCHES else value.replace("\\t", "\t")
    return found


def baskets(model: "Recommender", files: list[str], options: Mapping[str, Any]) -> "Baskets":
    """What the people of some files have; on stderr what was left aside, and who has no list."""
    from sahcns.data.readers import read
    from sahcns.model import Baskets

    source: Any = files[0] if len(files) == 1 else files
    try:
        # a row is a thing that they have, whenever and however
        given = read(source, **{"rating": 0, "time": 0, "event": 0, **options})
    except SahcnsError as error:
        raise type(error)(_as_options(str(error))) from error
    made = Baskets.of(model, given)
    read_remarks(given.source, header="--read header=true")
    _remark(made, given.name)
    empty = sum(file.get("lines_without_items", 0) for file in given.source["files"])  # type: ignore[attr-defined]
    if empty:
        tell(f"{empty:,} line{'s' if empty > 1 else ''} of {given.name} named somebody without any item")
    return made


def _remark(made: "Baskets", name: str) -> None:
    if made.unknown:
        items = sorted(made.unknown, key=lambda item: -made.unknown[item])  # what most rows name comes first
        more = f" and {len(items) - NAMED:,} more" if len(items) > NAMED else ""
        rows = sum(made.unknown.values())
        count = f"{len(items):,} items" if len(items) > 1 else "1 item"
        were = "are not known to the model and were" if len(items) > 1 else "is not known to the model and was"
        named = f"{', '.join(map(str, items[:NAMED]))}{more}"
        warn(f"{count} of {name}, in {rows:,} row{'s' if rows > 1 else ''}, {were} left aside: {named}")
    if made.left_out:
        people = made.left_out
        who = f"{len(people):,} people, {people[0]} first, have" if len(people) > 1 else f"{people[0]} has"
        warn(f"{who} no item that the model knows, so there is no list for them; --popular lists what most people have")


def _as_options(sentence: str) -> str:
    """`name the right one with user='sku'` → `… with --read user='sku'`; what stands in quotes is left as it is."""
    sentence = sentence.replace("read with lenient", "add --read lenient=true").replace("=False", "=false")
    return re.sub(
        rf"""'[^']*'|"[^"]*"|\b(?<!--read )({"|".join(READ)})=""",
        lambda found: found[0] if found[1] is None else f"--read {found[0]}",
        sentence,
    )
