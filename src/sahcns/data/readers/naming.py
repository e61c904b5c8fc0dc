"""Which column is which: named by the caller, recognised by its usual name, or by its place when there is no header."""

import difflib
import re
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
}
TYPED = re.compile(r"^(.*):(token|float|token_seq|float_seq)$", re.S)


@dataclass(frozen=True)
class Chosen:
    """Places (from 0) of the columns in a row of `width` fields; None for a column that is not there or not wanted."""

    user: int
    item: int
    rating: int | None
    time: int | None
    event: int | None
    width: int
    names: tuple[str, ...]

    def places(self) -> dict[str, int]:
        return {role: place for role in ROLES if (place := getattr(self, role)) is not None}

    def recorded(self) -> dict[str, str]:
        return {role: self.names[place] for role, place in self.places().items()}

    def unused(self, title: object = None) -> list[str]:
        """Names of the other columns, but for the one of titles."""
        used = {*self.places().values(), None if title is None else place_of(self.names, str(title))}
        return [name for place, name in enumerate(self.names) if place not in used]


def one_line(text: str) -> str:
    """With a blank for each line end and what stands round it: a name or a title is shown in a row, or in a sentence."""
    return re.sub(r"\s*[\r\n]\s*", " ", text).strip() if "\n" in text or "\r" in text else text


def key(name: str) -> str:
    """The letters and digits of a name, without RecBole's type: `user_id:token` → `userid`."""
    typed = TYPED.match(name.strip())
    return re.sub(r"[\W_]+", "", typed[1] if typed else name).lower()


def plain(name: str) -> str:
    typed = TYPED.match(name.strip())
    return typed[1] if typed else name.strip()


def usual(names: Sequence[str], role: str) -> int | None:
    """Place of the column whose name is usual for the role, the most telling name first."""
    keys = [key(name) for name in names]
    return next((keys.index(word) for word in USUAL[role] if word in keys), None)


def place_of(names: Sequence[str], told: str) -> int | None:
    """Place of the column of this name, or of the only one that is the same but for case and punctuation."""
    exact, keys = [plain(name) for name in names], [key(name) for name in names]
    if told in exact:
        return exact.index(told)
    return keys.index(key(told)) if key(told) and keys.count(key(told)) == 1 else None


def choose(names: Sequence[str], wanted: Mapping[str, Column], where: str, remedy: str = "") -> Chosen:
    """Columns of a file or frame with names; `remedy` is what else may help where none is recognised."""
    places: dict[str, int | None] = {}
    for role in ROLES:
        told = wanted.get(role)
        places[role] = usual(names, role) if told is None else _told(names, told, role, where)
    missing = [role for role in ("user", "item") if places[role] is None]
    if missing:
        raise DataError(unrecognised(names, missing, where) + remedy)
    if wanted.get("event") is None and not _free(places, names):
        places["event"] = None
    by_name = [place for role, place in places.items() if place is not None and not _number(wanted.get(role))]
    keys = [plain(name) for name in names]
    for place in by_name:
        if keys.count(keys[place]) > 1:
            raise DataError(
                f"{where}, line 1: the column name {keys[place]!r} occurs {keys.count(keys[place])} times; rename one, "
                "or choose columns by number (user=1 is the first)"
            )
    return _distinct(places, len(names), tuple(plain(name) for name in names), where)


def choose_by_place(width: int, third_is_time: bool, wanted: Mapping[str, Column], where: str) -> Chosen:
    """Columns of a file without a header: user, item, rating, time in this order, unless told otherwise."""
    names = tuple(f"column {place + 1}" for place in range(width))
    usually: dict[str, int | None] = {"user": 0, "item": 1, "rating": None, "time": None, "event": None}
    if width == 3:
        usually["time" if third_is_time else "rating"] = 2
    elif width == 4:
        usually |= {"rating": 2, "time": 3}
    elif width > 4 and (wanted.get("user") is None or wanted.get("item") is None):
        raise DataError(
            f"{where} has {width} columns and no header; choose the columns by number, for example user=1, item=2"
        )
    told = {
        role: _told(names, name, role, where) for role, name in wanted.items() if name is not None and role in ROLES
    }
    places = {role: told.get(role, None if place in told.values() else place) for role, place in usually.items()}
    for role in ("user", "item"):
        if places[role] is None:
            raise DataError(f"{where} has no header; choose the {role} column by number with {role}= (1 is the first)")
    return _distinct(places, width, names, where)


def unrecognised(names: Sequence[str], roles: Sequence[str], where: str, taken: Sequence[str] = ()) -> str:
    """What to say where no column has a name that is usual for each of the roles; `taken` ones serve another."""
    return (
        f"{where} has no {' and no '.join(roles)} column that is recognised; its columns are: "
        f"{_listed([*taken, *names])}; name the right one{'s' if len(roles) > 1 else ''} with "
        + " and ".join(f"{role}={_likely(names, role)}" for role in roles)
    )


def _free(places: Mapping[str, int | None], names: Sequence[str]) -> bool:
    """Whether the event column, of which nobody spoke, is one of its own: else it is nobody's, and no fault either."""
    keys, place = [plain(name) for name in names], places["event"]
    return place is not None and [*places.values()].count(place) == 1 and keys.count(keys[place]) == 1


def _told(names: Sequence[str], told: str | int, role: str, where: str) -> int | None:
    """Place of the column the caller named, or numbered from 1; 0 leaves it out."""
    if isinstance(told, str) and (place := place_of(names, told)) is not None:
        return place
    number = _number(told)
    if number is None:
        raise DataError(
            f"{where} has no column {told!r} (asked for as {role}); its columns are: {_listed(names)}"
            + _close(str(told), [plain(name) for name in names])
        )
    if number == 0 and role in OPTIONAL:
        return None
    if not 1 <= number <= len(names):
        raise DataError(f"{where} has {len(names)} columns; {role}={number} is not one of them (1 is the first)")
    return number - 1


def _number(told: Column) -> int | None:
    if isinstance(told, int):
        return int(told)
    return int(told) if isinstance(told, str) and re.fullmatch(r"[0-9]{1,6}", told) else None


def _distinct(places: Mapping[str, int | None], width: int, names: tuple[str, ...], where: str) -> Chosen:
    seen: dict[int, str] = {}
    for role, place in places.items():
        if place is not None and place in seen:
            raise SettingError(f"{where}: {names[place]!r} cannot be both the {seen[place]} and the {role} column")
        if place is not None:
            seen[place] = role
    user, item = places["user"], places["item"]
    assert user is not None
    assert item is not None
    return Chosen(user, item, places["rating"], places["time"], places["event"], width, names)


def _likely(names: Sequence[str], role: str) -> str:
    """The name nearest to a usual one, as a value to type."""
    near = [name for name in names if difflib.get_close_matches(key(name), USUAL[role], n=1, cutoff=0.75)]
    return repr(plain(near[0])) if near else ""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(plain(name) or "''" for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"


def _close(word: str, names: Sequence[str]) -> str:
    hint = nearest(word, names)
    return f"; {hint}" if hint.startswith("did you mean") else ""
