import json

import pytest

from sahcns.data import Recipe
from sahcns.errors import SettingError


def test_a_recipe_survives_json() -> None:
    recipe = Recipe(
        events=("buy", "cart"),
        min_rating=3.5,
        years=(2014, 2018),
        duplicates="last",
        core=10,
        split="time",
        ratios=(7, 1, 2),
    )
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


def test_kinds_of_events_are_texts_each_once() -> None:
    assert Recipe(events=[" buy", 4, "4", "buy"]).events == ("buy", "4")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"events": "buy"}, "events='buy' must be one or more kinds of events, such as ('purchase', 'cart')"),
        ({"events": ()}, "events=() must be one or more kinds"),
        ({"events": [None]}, "events=[None] must be one or more kinds"),
        ({"events": ["buy", " "]}, "events=['buy', ' '] must not hold an empty one"),
        ({"min_rating": "4"}, "min_rating='4' must be a number"),
        ({"min_rating": float("nan")}, "min_rating=nan must be a number"),
        ({"years": (2018, 2014)}, "the first not after the second"),
        ({"years": 2014}, "years=2014 must be two calendar years"),
        ({"years": (2014, 20180)}, "must be two calendar years"),
        ({"duplicates": "all"}, "duplicates='all' must be one of 'first', 'last', 'none'"),
        ({"core": -1}, "core=-1 must be a whole number"),
        ({"core": 2.5}, "core=2.5 must be a whole number"),
        ({"core": True}, "core=True must be a whole number"),
        ({"split": "Random"}, "split='Random' must be one of 'random', 'random-user'"),
        ({"ratios": (0.8, 0.2)}, "must be three numbers"),
        ({"ratios": (0, 0.5, 0.5)}, "the first above 0"),
        ({"ratios": (0.9, -0.1, 0.2)}, "0 or more"),
        ({"ratios": (float("inf"), 1, 1)}, "must be three numbers"),
        ({"seed": -3}, "seed=-3 must be a whole number"),
        ({"unseen": "move"}, "unseen='move' must be one of"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(settings: dict[str, object], text: str) -> None:
    with pytest.raises(SettingError, match="^" + next(iter(settings))) as caught:
        Recipe.from_dict(settings)
    assert text in str(caught.value)


def test_an_unknown_setting_gets_its_neighbour() -> None:
    with pytest.raises(SettingError, match="no setting 'min_ratings'; did you mean 'min_rating'"):
        Recipe.from_dict({"min_ratings": 3})
