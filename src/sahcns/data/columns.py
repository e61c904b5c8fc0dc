"""Which column is which: named by the caller, recognised by its usual name, or by its place when there is no header."""

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sahcns.data.ids import did_you_mean
from sahcns.errors import DataError, SettingError

Column = str | int | None
ROLES = ("user", "item", "rating", "time", "event", "quantity", "price", "title")
OPTIONAL = ROLES[2:]
ALONE = ("event", "quantity")  # unless told, taken only where no other role has that column
TOLD = ("price", "title")  # taken only when told
# In order of preference, without case and punctuation: `userId`, `user_id` and `User ID` are all `userid`.
USUAL = {
    "user": (
        *("userid", "user", "uid", "useridx", "reviewerid", "reviewer", "customerid", "customer", "memberid", "member"),
        *("visitorid", "profileid", "accountid", "username", "clientid", "client", "buyerid", "buyer", "personid"),
        *("shopperid", "subscriberid", "customernumber", "customerno", "customernr", "membernumber", "accountnumber"),
        *("clientnumber", "u"),
    ),
    "item": (
        *("itemid", "item", "iid", "itemidx", "movieid", "movie", "asin", "parentasin", "businessid", "business"),
        *("productid", "product", "artistid", "artist", "trackid", "track", "songid", "song", "bookid", "book", "isbn"),
        *("gameid", "game", "venueid", "venue", "locationid", "location", "poiid", "articleid", "article", "sku"),
        *("stockcode", "productcode", "itemcode", "contentid", "videoid", "newsid", "recipeid", "listingid"),
        *("productnumber", "productno", "itemnumber", "itemno", "articlenumber", "articleno", "i"),
    ),
    "rating": ("rating", "ratings", "stars", "star", "overall", "score", "reviewrating", "ratingvalue"),
    "time": (
        *("timestamp", "time", "unixreviewtime", "unixtime", "ts", "datetime", "date", "createdat", "eventtime"),
        *("checkintime", "reviewdate", "reviewtime", "orderdate", "purchasedate", "invoicedate", "transactiondate"),
        *("eventdate", "tdat", "orderedat", "purchasedat", "ordertime", "purchasetime", "when"),
    ),
    "event": (
        *("eventtype", "event", "eventname", "behavior", "behaviour", "behaviortype", "behaviourtype", "action"),
        *("actiontype", "interaction", "interactiontype", "type"),
    ),
    "quantity": (
        *("quantity", "qty", "units", "unitssold", "orderquantity", "quantityordered", "orderedquantity"),
        *("itemquantity", "itemqty"),
    ),
    "title": ("title", "name", "movietitle", "itemtitle", "itemname", "productname", "songname", "artistname"),
    "category": (
        *("category", "categories", "genre", "genres", "department", "producttype", "productcategory", "itemcategory"),
        "type",
    ),
}
TYPED = re.compile(r"^(.*):(token|float|token_seq|float_seq)$", re.S)  # RecBole's header fields


@dataclass(frozen=True)
class Columns:
    """All column names of a table, and the places (from 0) of those in use, by role."""

    names: tuple[str, ...]
    places: Mapping[str, int]

    def by_role(self) -> dict[str, str]:
        return {role: self.names[place] for role, place in self.places.items()}

    def record(self) -> dict[str, Any]:
        """For the manifest: which are in use, and which are not."""
        unused = [name for place, name in enumerate(self.names) if place not in self.places.values()]
        return {"columns": self.by_role(), "unused": unused}


def one_line(text: str) -> str:
    """With a blank for each line end and what stands round it: a name or a title is shown in a row, or in a sentence."""
    return re.sub(r"\s*[\r\n]\s*", " ", text).strip() if "\n" in text or "\r" in text else text


def plain(name: str) -> str:
    """A column name without RecBole's type: `user_id:token` → `user_id`."""
    typed = TYPED.match(name.strip())
    return typed[1] if typed else name.strip()


def key(name: str) -> str:
    """The letters and digits of a column name: `User_ID` → `userid`."""
    return re.sub(r"[\W_]+", "", plain(name)).lower()


def find_usual(names: Sequence[str], role: str) -> int | None:
    """Place of the column whose name is usual for the role, the most telling name first."""
    keys = [key(name) for name in names]
    return next((keys.index(word) for word in USUAL.get(role, ()) if word in keys), None)


def find_column(names: Sequence[str], wanted: str) -> int | None:
    """Place of the column of this name, or of the only one that is the same but for case and punctuation."""
    exact, keys = [plain(name) for name in names], [key(name) for name in names]
    if wanted in exact:
        return exact.index(wanted)
    return keys.index(key(wanted)) if key(wanted) and keys.count(key(wanted)) == 1 else None


def choose(names: Sequence[str], wanted: Mapping[str, Column], source: str, remedy: str = "") -> Columns:
    """Columns of a table with names; `remedy` is what else may help where none is recognised.

    Titles and prices are only taken when told; beside titles, a column of categories that is none of the others, too.
    """
    counts = Counter(names := tuple(plain(name) for name in names))
    usual = {role: find_usual(names, role) for role in ROLES if role not in TOLD}
    places = {role: _place(names, column, role, source) for role, column in wanted.items() if column is not None}
    places = {role: places.get(role, usual.get(role)) for role in ROLES}
    for role in ALONE:
        place = places[role]
        shared = place is not None and ([*places.values()].count(place) > 1 or counts[names[place]] > 1)
        if shared and wanted.get(role) is None:
            places[role] = None
    missing = [role for role in ("user", "item") if places[role] is None]
    if missing:
        close = {
            role: next((repr(name) for name in names if difflib.get_close_matches(key(name), USUAL[role], 1, 0.75)), "")
            for role in missing
        }
        guesses = " and ".join(f"{role}={name}" for role, name in close.items())
        raise DataError(
            f"{source} has no {' and no '.join(missing)} column that is recognised; its columns are: {listed(names)}; "
            f"name the right one{'s' if len(missing) > 1 else ''} with {guesses}{remedy}"
        )
    for role, place in places.items():
        if place is not None and _number(wanted.get(role)) is None and counts[names[place]] > 1:
            raise DataError(
                f"{source}, line 1: the column name {names[place]!r} occurs {counts[names[place]]} times; "
                "rename one, or choose columns by number (user=1 is the first)"
            )
    columns = _distinct(names, places, source)
    category = find_usual(names, "category") if places["title"] is not None else None
    if category is None or category in places.values():
        return columns
    return Columns(names, {**columns.places, "category": category})


def choose_by_place(width: int, third_is_time: bool, wanted: Mapping[str, Column], source: str) -> Columns:
    """Columns of a file without a header: user, item, rating, time in this order, unless told otherwise."""
    names = tuple(f"column {place + 1}" for place in range(width))
    third = "time" if third_is_time else "rating"
    usual: dict[str, int | None] = {"user": 0, "item": 1, **({third: 2} if width == 3 else {})}
    usual |= {"rating": 2, "time": 3} if width == 4 else {}
    if width > 4 and (wanted.get("user") is None or wanted.get("item") is None):
        raise DataError(
            f"{source} has {width} columns and no header; choose the columns by number, for example user=1, item=2"
        )
    given = {role: _place(names, column, role, source) for role, column in wanted.items() if column is not None}
    places = {role: None if place in given.values() else place for role, place in usual.items()} | given
    for role in ("user", "item"):
        if places[role] is None:
            raise DataError(f"{source} has no header; choose the {role} column by number with {role}= (1 is the first)")
    return _distinct(names, places, source)


def _place(names: Sequence[str], column: str | int, role: str, source: str) -> int | None:
    """Place of the column the caller named, or numbered from 1; 0 leaves it out."""
    if isinstance(column, str) and (place := find_column(names, column)) is not None:
        return place
    number = _number(column)
    if number is None:
        close = did_you_mean(str(column), names)
        raise DataError(
            f"{source} has no column {column!r} (asked for as {role}); its columns are: {listed(names)}{close}"
        )
    if number == 0 and role in OPTIONAL:
        return None
    if not 1 <= number <= len(names):
        raise DataError(f"{source} has {len(names)} columns; {role}={number} is not one of them (1 is the first)")
    return number - 1


def _number(column: Column) -> int | None:
    if isinstance(column, int):
        return int(column)
    return int(column) if isinstance(column, str) and re.fullmatch(r"[0-9]{1,6}", column) else None


def _distinct(names: tuple[str, ...], places: Mapping[str, int | None], source: str) -> Columns:
    """Each column of one role only; that of titles may have another."""
    chosen: dict[str, int] = {}
    for role, place in places.items():
        for other, taken in chosen.items():
            if taken == place and role != "title":
                raise SettingError(f"{source}: {names[place]!r} cannot be both the {other} and the {role} column")
        if place is not None:
            chosen[role] = place
    return Columns(names, chosen)


def listed(names: Sequence[str]) -> str:
    """`user_id, sku, '' and 7 more`."""
    shown = ", ".join(name or "''" for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
