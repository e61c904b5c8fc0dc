"""Baskets in the positions of a model: nothing lost, nothing twice, and what is unknown said."""

import pytest
from polars.testing import assert_frame_equal

from sahcns.errors import DataError, SettingError
from sahcns.model import Baskets
from sahcns.model import lists as module
from sahcns.model.lists import lists, write_lists
from tests.data.hand_made import interactions
from tests.model.films import films
from tests.model.test_recommender import made

ROWS = [("zoe", 104), ("ann", 119), ("bob", 7), ("zoe", 100), ("ann", 119), ("ann", 7), ("eve", 8)]


def shown(baskets: Baskets) -> dict[object, list[int]]:
    return {
        person: items.tolist()
        for person, items in zip(baskets.people.decode(range(len(baskets))), baskets.having, strict=True)
    }


def test_from_rows_and_from_a_mapping_alike() -> None:
    model = made(films())
    of_rows = Baskets.of(model, interactions(ROWS))
    of_mapping = Baskets.of(model, {"zoe": [104, 100], "ann": (119, 119, 7), "bob": [7], "eve": [8]})
    for baskets in (of_rows, of_mapping):
        assert shown(baskets) == {"ann": [19], "zoe": [0, 4]}
        assert len(baskets) == 2
        assert baskets.unknown == {7: 2, 8: 1}
        assert baskets.left_out == ("bob", "eve")


def test_numbers_that_came_as_texts_are_found() -> None:
    """One id with a letter in it makes a whole column text."""
    baskets = Baskets.of(made(films()), interactions([(1, "104"), (2, "new"), (2, "119")]))
    assert shown(baskets) == {1: [4], 2: [19]}
    assert baskets.unknown == {"new": 1}


def test_lists_are_those_of_each_alone_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(films())
    given = {person: [100 + (7 * person + k) % 20 for k in range(1 + person % 4)] for person in range(11)}
    whole = lists(model, Baskets.of(model, given), 5)
    monkeypatch.setattr(module, "BLOCK", 4)
    assert_frame_equal(whole, lists(model, Baskets.of(model, given), 5))
    for person, having in given.items():
        alone = [one.item for one in model.recommend_new(having, 5)]
        assert whole.filter(whole["user"] == person)["item"].to_list() == alone


def test_somebody_who_has_everything_has_no_rows() -> None:
    model = made(films())
    frame = lists(model, Baskets.of(model, {"all": range(100, 120), "one": [100]}), 50)
    assert frame["user"].unique().to_list() == ["one"]
    assert frame.height == 19


def test_refusals() -> None:
    model = made(films())
    with pytest.raises(
        SettingError, match=r"the baskets are of type list; give what `sahcns.read` returns, or {person"
    ):
        Baskets.of(model, [101])  # type: ignore[arg-type]
    with pytest.raises(
        SettingError, match=r"the basket of 'ann' is '101'; it must be a list of ids, such as \['101'\]"
    ):
        Baskets.of(model, {"ann": "101"})
    nobody: dict[str, list[int]] = {}
    for empty in (nobody, {"ann": list[int]()}):
        with pytest.raises(SettingError, match="the baskets are empty"):
            Baskets.of(model, empty)
    with pytest.raises(
        DataError, match=r"nobody in rows\.csv has an item that the model knows: items there are such as 7"
    ):
        Baskets.of(model, interactions([("ann", 7)]))
    with pytest.raises(SettingError, match="exclude='train' is for users of the model"):
        write_lists(model, "never.csv", Baskets.of(model, {1: [101]}), exclude="train")
