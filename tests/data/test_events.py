"""The choice of kinds of events: which rows stay, what becomes of the others, and what is said."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sahcns.data import Recipe, Split, prepare
from sahcns.data.ids import Id
from sahcns.data.interactions import FEW_KINDS as FEW
from sahcns.data.interactions import Events
from sahcns.data.readers import read
from sahcns.errors import DataError
from tests.data.hand_made import decoded, interactions, original

LOG: list[tuple[Id, Id, str, float, int]] = [  # user, item, kind, rating, year
    ("ann", "tea", "Buy", 5, 2015),
    ("ann", "rye", "Buy", 1, 2015),  # disliked
    ("ann", "jam", "view", 5, 2015),  # only looked at
    ("bob", "jam", "Buy", 4, 2015),
    ("bob", "rye", "cart", 4, 2016),
    ("bob", "tea", "view", 1, 2015),  # looked at before
    ("bob", "tea", "Buy", 5, 2016),
    ("eve", "tea", "view", 5, 2015),  # who has only looked
    ("eve", "fig", "", 5, 2015),
]


def made(**recipe: Any) -> Split:
    source = interactions(
        [(user, item) for user, item, *_ in LOG],
        events=[kind for _, _, kind, _, _ in LOG],
        ratings=[rating for *_, rating, _ in LOG],
        times=[int(np.datetime64(f"{year}-06-01", "s").astype(np.int64)) for *_, year in LOG],
    )
    return prepare(source, Recipe(**{"ratios": (1, 0, 0), **recipe}))


def step(split: Split, name: str = "events") -> dict[str, Any]:
    steps: Any = split.manifest["steps"]
    return next((one for one in steps if one["step"] == name), {})


def test_rows_of_the_kinds_stay_and_all_is_counted() -> None:
    split = made(events=("buy", "cart"))
    assert decoded(split)["train"] == [("ann", "rye"), ("ann", "tea"), ("bob", "jam"), ("bob", "rye"), ("bob", "tea")]
    assert step(split) == {
        "step": "events",
        "rule": "buy, cart",
        "users": 2,
        "items": 3,
        "rows": 5,
        "kept": {"Buy": 4, "cart": 1},
        "left_out": {"view": 3, "": 1},
    }
    assert split.manifest["recipe"]["events"] == ["buy", "cart"]  # type: ignore[index]
    assert decoded(made(events=("BUY ",)))["train"] == [("ann", "rye"), ("ann", "tea"), ("bob", "jam"), ("bob", "tea")]


def test_what_was_only_viewed_is_not_set_aside() -> None:
    """It may be recommended, unlike what somebody bought and did not like."""
    assert not len(made(events=("buy", "cart")).aside)
    split = made(events=("buy", "cart"), min_rating=3)
    assert ("ann", "jam") not in decoded(split)["train"]
    assert original(split, split.aside) == [("ann", "rye")]
    assert not len(made(events=("buy", "cart"), years=(2016, 2016)).aside)  # of ann and jam nothing is left


def test_all_alike_is_said_unless_there_is_but_one_or_too_many() -> None:
    split = made()
    assert (step(split)["rule"], step(split)["rows"]) == ("off, 4 kinds alike", 9)
    assert step(split)["kept"] == {"Buy": 4, "view": 3, "cart": 1, "": 1}
    assert [one["step"] for one in split.manifest["steps"]][:3] == ["read", "events", "rating"]  # type: ignore[attr-defined]
    rows: list[tuple[Id, Id]] = [("u", k) for k in range(FEW + 1)]
    for several, there in ((["x"] * (FEW + 1), False), ([f"k{k}" for k in range(FEW + 1)], False), (None, False)):
        assert bool(step(prepare(interactions(rows, events=several)))) == there
    assert step(prepare(interactions(rows[1:], events=[f"k{k}" for k in range(FEW)])))


def test_an_unknown_kind_is_named_with_those_there_are() -> None:
    with pytest.raises(DataError, match=r"rows\.csv.*'crat'.*Buy \(4\), view \(3\), cart \(1\).*mean 'cart'"):
        made(events=("buy", "crat"))


def test_a_kind_whose_rows_are_gone_is_unknown() -> None:
    events = Events(np.array([0, 0, 2], np.uint8), ("view", "cart", "buy"))
    assert events.counts() == {"view": 2, "buy": 1}
    assert events.choose(["BUY"], "a.csv").tolist() == [False, False, True]
    with pytest.raises(DataError, match="cart"):
        events.choose(["cart"], "a.csv")


@pytest.mark.parametrize(
    ("texts", "options", "named"),
    [
        (["user,item,what\na,1,buy\n"], {}, r"0\.csv.*event='what'"),
        (["user,item,events\na,1,buy\n"], {}, "event='events'"),
        (["a,1,buy\nb,2,view\n"], {"header": False, "rating": 0}, "event='column 3'"),
        (["user,item,event\na,1,buy\n", "user,item\na,2\n"], {}, r"0\.csv \(and 1 more\)"),
        (["user,item,type\n" + "".join(f"a,{k},k{k}\n" for k in range(300))], {}, "event='type'"),
        (["1 2 3\n2 3\n"], {}, r"0\.csv"),
    ],
)
def test_why_there_are_none(tmp_path: Path, texts: list[str], options: dict[str, Any], named: str) -> None:
    paths = [tmp_path / f"{k}.csv" for k in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    with pytest.raises(DataError, match=named):
        prepare(read(paths, **options), Recipe(events=("buy",)))


def test_a_frame_is_narrowed_too() -> None:
    frame = pl.DataFrame({"user": ["a", "b", "c"], "item": [1, 2, 3], "action": ["buy", "view", "buy"]})
    split = prepare(read(frame), Recipe(events=("buy",), ratios=(1, 0, 0)))
    assert decoded(split)["train"] == [("a", 1), ("c", 3)]
