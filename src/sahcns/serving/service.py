"""What can be asked of a model folder over HTTP, and the answers, as plain values for JSON.

    /recommend?user=17&user=42&k=10     also exclude=known|train|nothing, without=ITEM; `unknown` in the answer are those
                                        of several users whom the model does not know
    /new?item=1&item=318&k=10           for somebody new who has these items; also without=ITEM; `unknown` in the
                                        answer are those that the model does not know
    /similar?item=318&k=10              also without=ITEM
    /popular?k=10                       what most people have, for somebody of whom nothing is known; also without=ITEM
    /health                             which model answers; `written` is when its folder was, and `not_loaded` why a
                                        newer one does not answer, or null

A model trained anew into the same folder is noticed at the next request and loaded aside: until it is there, that
request and all others are answered by the former one.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import compress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from sahcns.data.ids import IdMap
from sahcns.errors import DataError, SahcnsError, SettingError, nearest
from sahcns.folders import Stamp, stamp
from sahcns.model.folder import RUN, load_model
from sahcns.model.recommender import Recommendation, Recommender

Query = Mapping[str, Sequence[str]]
MOST = 1000  # of a list, so that one request cannot ask for the whole catalogue
ROWS = 200_000  # of all lists in one answer: some 15 MB, and a second or two
AGAIN = 5.0  # seconds until a new model that could not be loaded is tried again


class Current:
    """The model in a folder, and the next one once it is there."""

    def __init__(self, folder: str | os.PathLike[str], tell: Callable[[str], None]) -> None:
        self.folder = Path(folder)
        self.tell = tell
        self.seen = stamp(RUN, self.folder)  # before loading, so that one which comes meanwhile is noticed
        self.model = load_model(folder)
        self._noticing, self._loader = threading.Lock(), threading.Thread()
        self._refused: tuple[Stamp, str] | None = None  # the latest that could not be loaded, and why
        self._not_before = 0.0

    def take(self) -> Recommender:
        """The model to answer with; a new one is loaded aside, and the former goes on until it is there."""
        with self._noticing:
            if not self._loader.is_alive() and time.monotonic() >= self._not_before:
                seen = stamp(RUN, self.folder)
                if seen is not None and seen != self.seen:
                    # The end of Python waits for what is no daemon; a thread that it meets within torch is an abort.
                    self._loader = threading.Thread(target=self._load, args=(seen,), daemon=False)
                    self._loader.start()
        return self.model

    def written(self) -> str | None:
        """When the folder of the model that answers was written, in UTC, to tell one that has grown old."""
        seen = self.seen
        return None if seen is None else f"{datetime.fromtimestamp(seen[1] // 10**9, UTC):%Y-%m-%dT%H:%M:%SZ}"

    def not_loaded(self) -> str | None:
        """Why the model that is in the folder now could not be loaded; None where it could, or was not tried yet."""
        refused = self._refused
        return refused[1] if refused and refused[0] == stamp(RUN, self.folder) else None

    def _load(self, seen: Stamp) -> None:
        try:
            model = load_model(self.folder)
        except Exception as error:  # whatever it is, such as too little memory, the former model is there
            former, why = self._refused, str(error) if isinstance(error, SahcnsError) else repr(error)
            self._refused, self._not_before = (seen, why), time.monotonic() + AGAIN
            if former is None or former[0] != seen:  # once, however often it is tried
                self.tell(f"the former model goes on: {why}")
        else:
            self.model, self.seen = model, seen
            self.tell(f"{self.folder} holds a new model, which answers from now on")


def answer(current: Current, path: str, query: Query) -> dict[str, Any]:
    """What a path and its query ask for; a mistake is an error in words."""
    if path not in ASKED:
        raise DataError(f"there is no {path}; there are: {', '.join(ASKED)}")
    handler, known = ASKED[path]
    for name in query:
        if name not in known:
            raise SettingError(f"{path} has no {name!r}; {nearest(name, known) if known else 'it takes nothing'}")
    found = handler(current.take(), query)
    if path == "/health":
        found |= {"written": current.written(), "not_loaded": current.not_loaded()}
    return found


def _recommend(model: Recommender, query: Query) -> dict[str, Any]:
    """Who is newer than the model is named, as long as it knows one of the users; the others have their lists."""
    users, unknown = _told_apart(_several(query, "user"), model.user_ids)
    exclude, k = _one(query, "exclude", "known"), _k(query)
    if len(users) * k > ROWS:
        raise SettingError(
            f"{len(users):,} users with {k} items each are more than the {ROWS:,} that fit into one answer; ask for "
            "fewer at a time, or write them into a file with `sahcns recommend --to`"
        )
    found = model.recommend(users, k, exclude=exclude, without=query.get("without", ()))
    rows_of = zip(model.rows(users).tolist(), found, strict=True)
    return {
        "users": [{"user": model.user_ids[row], **_note(model, row), "items": rows(items)} for row, items in rows_of],
        "unknown": unknown,
    }


def _told_apart(ids: Sequence[str], known: IdMap) -> tuple[Sequence[str], list[str]]:
    """Those that are known and those that are not; all of them and none where none is, for the error that names one."""
    there = [known.find(one) is not None for one in ids]
    if not any(there):
        return ids, []
    return list(compress(ids, there)), [one for one, found in zip(ids, there, strict=True) if not found]


def _note(model: Recommender, row: int) -> dict[str, str]:
    """A word on a user (position) whose vector is as it was drawn at the start; nothing on others."""
    if len(model.known(row, "train")):
        return {}
    return {"note": "no training pair, so nothing was learnt about this user; /new asks by what somebody has"}


def _new(model: Recommender, query: Query) -> dict[str, Any]:
    """What is newer than the model is left aside and named, as long as it knows one of the items."""
    items, unknown = _told_apart(_several(query, "item"), model.item_ids)
    found = model.recommend_new(items, _k(query), without=query.get("without", ()))
    return {"items": rows(found), "unknown": unknown}


def _similar(model: Recommender, query: Query) -> dict[str, Any]:
    return {"items": rows(model.similar_items(_one(query, "item"), _k(query), without=query.get("without", ())))}


def _popular(model: Recommender, query: Query) -> dict[str, Any]:
    return {"items": rows(model.popular(_k(query), without=query.get("without", ())))}


def _health(model: Recommender, query: Query) -> dict[str, Any]:
    told = {name: model.record.get(name) for name in ("backbone", "sampler", "seed")}
    data = model.record.get("data", {})
    return {"users": len(model.user_ids), "items": len(model.item_ids), "fingerprint": data.get("fingerprint"), **told}


ASKED: Mapping[str, tuple[Callable[[Recommender, Query], dict[str, Any]], tuple[str, ...]]] = {
    "/recommend": (_recommend, ("user", "k", "exclude", "without")),
    "/new": (_new, ("item", "k", "without")),
    "/similar": (_similar, ("item", "k", "without")),
    "/popular": (_popular, ("k", "without")),
    "/health": (_health, ()),
}


def rows(found: Sequence[Recommendation]) -> list[dict[str, Any]]:
    """A list as plain values, as `sahcns recommend --json` shows it too."""
    return [
        {"rank": rank, "item": one.item, "title": one.title, "score": one.score} for rank, one in enumerate(found, 1)
    ]


def query_of(fields: bytes) -> Query:
    """The fields of a query or a form, each with all its values."""
    try:
        return parse_qs(fields.decode(), keep_blank_values=True, errors="strict")
    except ValueError as error:  # bytes that are no UTF-8
        raise SettingError(f"the query cannot be read ({error}); write it as UTF-8, percent-encoded") from None


def form_of(body: bytes) -> bytes:
    """A JSON object as a form: {"item": [1, "a"], "k": 5} is item=1&item=a&k=5."""
    such = 'such as {"item": [1, 260], "k": 5}'
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SettingError(f"the JSON cannot be read ({error}); send an object, {such}") from None
    if not isinstance(fields, dict):
        raise SettingError(f"the JSON must be an object, {such}")
    pairs = [(name, one) for name, value in fields.items() for one in (value if isinstance(value, list) else [value])]
    for name, one in pairs:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise SettingError(f"{name} must be a text or a whole number, or a list of them, {such}")
    try:
        return urlencode(pairs).encode()
    except UnicodeEncodeError as error:
        raise SettingError(f"the JSON has a text that is none ({error.reason})") from None


def _several(query: Query, name: str) -> Sequence[str]:
    if not query.get(name):
        raise SettingError(f"{name} is missing; give {name}=ID, once or more")
    return query[name]


def _one(query: Query, name: str, default: str | None = None) -> str:
    values = query.get(name) or ([] if default is None else [default])
    if len(values) != 1:
        raise SettingError(f"{name} must be given once, and was given {len(values)} times")
    return values[0]


def _k(query: Query) -> int:
    text = _one(query, "k", "20")
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MOST and len(text) < 9):
        raise SettingError(f"k={text!r} must be a whole number from 1 to {MOST}")
    return int(text)
