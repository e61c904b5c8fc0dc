"""The choice of kinds of events: which rows stay, what becomes of the others, and what is said."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sahcns.data import Recipe, Split, prepare
from sahcns.data.events import FEW, Events, listed
from sahcns.data.ids import Id
from sahcns.data.readers import read
from sahcns.errors import DataError
from tests.data.hand_made import decoded, interactions

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


def aside(split: Split) -> list[tuple[Id, Id]]:
    return [(split.user_ids[u], split.item_ids[i]) for u, i in zip(split.aside.users, split.aside.items, strict=True)]


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
    assert aside(made(events=("buy", "cart"))) == []
    split = made(events=("buy", "cart"), min_rating=3)
    assert ("ann", "jam") not in decoded(split)["train"]
    assert aside(split) == [("ann", "rye")]
    assert aside(made(events=("buy", "cart"), years=(2016, 2016))) == []  # of ann and jam nothing is left


def test_ratings_and_times_stay_with_their_rows() -> None:
    split = made(events=("buy", "view"), min_rating=4)
    assert decoded(split)["train"] == [("ann", "jam"), ("ann", "tea"), ("bob", "jam"), ("bob", "tea"), ("eve", "tea")]
    assert step(split, "rating")["rows"] == 5
    last = made(events=("buy", "cart"), split="leave-last-out", years=(2015, 2016))
    assert decoded(last) == {
        "train": [("ann", "rye"), ("ann", "tea"), ("bob", "jam")],
        "valid": [("bob", "rye")],
        "test": [("bob", "tea")],
    }
    assert step(last, "window")["rows"] == 5


def test_all_alike_is_said_unless_there_is_but_one_or_too_many() -> None:
    split = made()
    assert (step(split)["rule"], step(split)["rows"]) == ("off, 4 kinds alike", 9)
    assert step(split)["kept"] == {"Buy": 4, "view": 3, "cart": 1, "": 1}
    assert [one["step"] for one in split.manifest["steps"]][:3] == ["read", "events", "rating"]  # type: ignore[attr-defined]
    rows: list[tuple[Id, Id]] = [("u", k) for k in range(FEW + 1)]
    for several, there in ((["x"] * (FEW + 1), False), ([f"k{k}" for k in range(FEW + 1)], False), (None, False)):
        assert bool(step(prepare(interactions(rows, events=several)))) == there
    assert step(prepare(interactions(rows[1:], events=[f"k{k}" for k in range(FEW)])))


def test_a_choice_of_nothing_new_is_the_same_data() -> None:
    everything = made(events=("buy", "cart", "view"))
    assert step(everything)["left_out"] == {"": 1}
    without = [row for row in LOG if row[2]]
    assert (
        everything.fingerprint
        == prepare(interactions([(user, item) for user, item, *_ in without]), Recipe(ratios=(1, 0, 0))).fingerprint
    )


def test_an_unknown_kind_is_told_with_those_there_are() -> None:
    with pytest.raises(DataError) as caught:
        made(events=("buy", "crat"))
    assert str(caught.value) == (
        "rows.csv has no event 'crat'; there are: Buy (4), view (3), cart (1), '' (1); did you mean 'cart'?"
    )
    with pytest.raises(DataError, match=r"'refund'; there are: .*'' \(1\)$"):
        made(events=("refund",))


def test_a_kind_whose_rows_are_gone_is_unknown() -> None:
    events = Events(np.array([0, 0, 2], np.uint8), ("view", "cart", "buy"))
    assert events.counts() == {"view": 2, "buy": 1}
    assert events.among(["BUY"], "a.csv").tolist() == [False, False, True]
    with pytest.raises(
        DataError, match=r"the column 'kind' of a.csv has no event 'cart'; there are: view \(2\), buy \(1\)$"
    ):
        events.among(["cart"], "a.csv", "kind")


def test_many_kinds_are_not_all_listed() -> None:
    assert listed({f"k{k}": 1 for k in range(FEW + 1_002)}).endswith(f"k{FEW - 1} (1) and 1,002 more")


def frame(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"user": ["a", "b", "c"], "item": [1, 2, 3], **columns})


def test_why_there_are_none(tmp_path: Path) -> None:
    """One sentence each, with what to do."""

    def why(*sources: str, **reading: Any) -> str:
        paths = [tmp_path / f"{k}.csv" for k in range(len(sources))]
        for path, text in zip(paths, sources, strict=True):
            path.write_text(text)
        with pytest.raises(DataError) as caught:
            prepare(read(paths, **reading), Recipe(events=("buy",)))
        return str(caught.value).replace(str(tmp_path), "")

    rows = "a,1,buy\nb,2,view\n"
    assert why("user,item,what\n" + rows) == (
        "/0.csv has no event column that is recognised; its columns are: user, item, what; name the right one with event="
    )
    assert why("user,item,events\n" + rows).endswith("name the right one with event='events'")
    assert why(rows, header=False, rating=0).startswith(
        "/0.csv has no header; choose the event column by number with event="
    )
    assert why("user,item,event\n" + rows, "user,item\na,2\n") == (
        "/1.csv has no event column while other files have one; read files of one kind together"
    )
    many = "".join(f"a,{k},k{k}\n" for k in range(300))
    assert why("user,item,type\n" + many) == (
        "the column 'type' of /0.csv holds lists or hundreds of different values, so it was not taken for kinds of events; "
        "if it is the right one, say event='type'"
    )
    assert why("1 2 3\n2 3\n") == (
        "/0.csv has no columns with names, so no kinds of events to choose from; leave events out"
    )
    with pytest.raises(
        DataError, match=r"^the interactions has no event column that is recognised; its columns are: user"
    ):
        prepare(read(frame()), Recipe(events=("buy",)))
    with pytest.raises(DataError, match=r"^rows\.csv has no columns with names"):
        prepare(interactions([("a", "x")]), Recipe(events=("buy",)))


def test_a_frame_is_narrowed_too() -> None:
    split = prepare(read(frame(action=["buy", "view", "buy"])), Recipe(events=("buy",), ratios=(1, 0, 0)))
    assert decoded(split)["train"] == [("a", 1), ("c", 3)]
    with pytest.raises(DataError, match=r"^the column 'action' of the interactions has no event 'cart'"):
        prepare(read(frame(action=["buy", "view", "buy"])), Recipe(events=("cart",)))
