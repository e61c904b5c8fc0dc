"""Which column is which: named by the caller, recognised by its usual name, or by its place when there is no header."""

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sahcns.errors import DataError, SettingError, nearest

Column = str | int | None
ROLES = ("user", "item", "rating", "time", "event")
OPTIONAL = ROLES[2:]
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

    def unused(self, title: object = None) -> list[str]:
        """Names of the other columns, but for the one of titles."""
        used = {*self.places.values(), None if title is None else find_column(self.names, str(title))}
        return [name for place, name in enumerate(self.names) if place not in used]


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
    return next((keys.index(word) for word in USUAL[role] if word in keys), None)


def find_column(names: Sequence[str], wanted: str) -> int | None:
    """Place of the column of this name, or of the only one that is the same but for case and punctuation."""
    exact, keys = [plain(name) for name in names], [key(name) for name in names]
    if wanted in exact:
        return exact.index(wanted)
    return keys.index(key(wanted)) if key(wanted) and keys.count(key(wanted)) == 1 else None


def choose(names: Sequence[str], wanted: Mapping[str, Column], source: str, remedy: str = "") -> Columns:
    """Columns of a table with names; `remedy` is what else may help where none is recognised."""
    repeated = {plain(name) for name, count in Counter(names).items() if count > 1}
    names = tuple(plain(name) for name in names)
    places: dict[str, int | None] = {}
    for role in ROLES:
        column = wanted.get(role)
        places[role] = find_usual(names, role) if column is None else _place(names, column, role, source)
    missing = [role for role in ("user", "item") if places[role] is None]
    if missing:
        raise DataError(unrecognised(names, missing, source) + remedy)
    event = places["event"]
    shared = event is not None and ([*places.values()].count(event) > 1 or names[event] in repeated)
    if shared and wanted.get("event") is None:  # one that nobody asked for must be a column of its own
        places["event"] = None
    for role, place in places.items():
        if place is not None and _number(wanted.get(role)) is None and names[place] in repeated:
            raise DataError(
                f"{source}, line 1: the column name {names[place]!r} occurs {names.count(names[place])} times; "
                "rename one, or choose columns by number (user=1 is the first)"
            )
    return _distinct(names, places, source)


def choose_by_place(width: int, third_is_time: bool, wanted: Mapping[str, Column], source: str) -> Columns:
    """Columns of a file without a header: user, item, rating, time in this order, unless told otherwise."""
    names = tuple(f"column {place + 1}" for place in range(width))
    usual: dict[str, int | None] = {"user": 0, "item": 1, "rating": None, "time": None, "event": None}
    if width == 3:
        usual["time" if third_is_time else "rating"] = 2
    elif width == 4:
        usual |= {"rating": 2, "time": 3}
    elif width > 4 and (wanted.get("user") is None or wanted.get("item") is None):
        raise DataError(
            f"{source} has {width} columns and no header; choose the columns by number, for example user=1, item=2"
        )
    given = {role: _place(names, column, role, source) for role, column in wanted.items() if column is not None}
    places = {role: given.get(role, None if place in given.values() else place) for role, place in usual.items()}
    for role in ("user", "item"):
        if places[role] is None:
            raise DataError(f"{source} has no header; choose the {role} column by number with {role}= (1 is the first)")
    return _distinct(names, places, source)


def unrecognised(names: Sequence[str], roles: Sequence[str], source: str) -> str:
    """The message where no column has a name that is usual for the roles."""
    likely = {
        role: [name for name in names if difflib.get_close_matches(key(name), USUAL[role], 1, 0.75)] for role in roles
    }
    return (
        f"{source} has no {' and no '.join(roles)} column that is recognised; its columns are: {_listed(names)}; "
        f"name the right one{'s' if len(roles) > 1 else ''} with "
        + " and ".join(f"{role}={repr(likely[role][0]) if likely[role] else ''}" for role in roles)
    )


def _place(names: Sequence[str], column: str | int, role: str, source: str) -> int | None:
    """Place of the column the caller named, or numbered from 1; 0 leaves it out."""
    if isinstance(column, str) and (place := find_column(names, column)) is not None:
        return place
    number = _number(column)
    if number is None:
        raise DataError(
            f"{source} has no column {column!r} (asked for as {role}); its columns are: {_listed(names)}"
            + did_you_mean(str(column), names)
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
    chosen: dict[str, int] = {}
    for role, place in places.items():
        if place is None:
            continue
        for other, taken in chosen.items():
            if taken == place:
                raise SettingError(f"{source}: {names[place]!r} cannot be both the {other} and the {role} column")
        chosen[role] = place
    return Columns(names, chosen)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name or "''" for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"


def did_you_mean(word: str, known: Sequence[str]) -> str:
    hint = nearest(word, known)
    return f"; {hint}" if hint.startswith("did you mean") else ""
