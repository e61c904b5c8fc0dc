import json
import re

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
    "setting",
    [
        *({"events": events} for events in ("buy", (), ["buy", " "])),
        *({"min_rating": rating} for rating in ("4", float("nan"))),
        *({"years": years} for years in (2014, (2018, 2014), (2014, 20180))),
        *({"core": core} for core in (-1, 2.5, True)),
        *({"ratios": ratios} for ratios in ((0.8, 0.2), (0, 0.5, 0.5), (0.9, -0.1, 0.2), (float("inf"), 1, 1))),
        *({"duplicates": "all"}, {"split": "Random"}, {"seed": -3}, {"unseen": "move"}),
    ],
)
def test_a_wrong_setting_is_named(setting: dict[str, object]) -> None:
    [(name, value)] = setting.items()
    with pytest.raises(SettingError, match="^" + re.escape(f"{name}={value!r} must be")):
        Recipe.from_dict(setting)


def test_an_unknown_setting_gets_its_neighbour() -> None:
    with pytest.raises(SettingError, match=r"min_ratings.*min_rating"):
        Recipe.from_dict({"min_ratings": 3})
