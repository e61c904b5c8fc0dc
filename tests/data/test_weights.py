"""Returns take purchases back, and pairs are weighed by what was bought and when."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sahcns.data import Recipe, Split, load_split, prepare, save_split
from sahcns.data.readers import read
from sahcns.errors import DataError, SettingError
from tests.data.hand_made import original

DAY = 86_400
ORDERS: list[tuple[str, str, float, float, int]] = [  # user, item, quantity, price, day
    *[("ann", "tea", 2, 1.5, 0), ("ann", "tea", 1, 1.5, 10), ("ann", "tea", -1, 1.5, 12)],
    *[("ann", "rye", 3, 1, 0), ("ann", "rye", -3, 1, 1), ("bob", "rye", 4, 2, 20), ("bob", "tea", 1, 1, 0)],
    *[("bob", "jam", -2, 1, 3), ("eve", "jam", 7, 5, 20)],
]


def orders(**changes: list[Any]) -> pl.DataFrame:
    frame = pl.DataFrame(ORDERS, schema=["user", "item", "quantity", "price", "day"], orient="row")
    frame = frame.with_columns((pl.col("day") * DAY).alias("time")).drop("day")
    return frame.with_columns(**{name: pl.Series(values) for name, values in changes.items()})


def weights(split: Split) -> dict[tuple[Any, Any], float]:
    assert split.train.weights is not None
    return dict(zip(original(split, split.train), split.train.weights.tolist(), strict=True))


@pytest.mark.parametrize(
    ("recipe", "amounts"),
    [
        ({"weight": "rows"}, [math.log(3), math.log(2), math.log(2), math.log(2)]),
        ({"weight": "quantity"}, [math.log(3), math.log(5), math.log(2), math.log(8)]),
        ({"weight": "price"}, [math.log(4), math.log(9), math.log(2), math.log(36)]),
        ({"half_life": 10}, [0.5, 1, 0.25, 1]),
        ({"weight": "quantity", "half_life": 5}, [math.log(3) / 4, math.log(5), math.log(2) / 16, math.log(8)]),
    ],
)
def test_pairs_are_weighed(recipe: dict[str, Any], amounts: list[float], tmp_path: Path) -> None:
    """Ann kept two teas, bought on days 0 and 10; her rye went back, and so did Bob's jam."""
    split = prepare(read(orders(), price="price"), Recipe(ratios=(1, 0, 0), **recipe))
    expected = np.array(amounts) / np.mean(amounts)
    pairs = [("ann", "tea"), ("bob", "rye"), ("bob", "tea"), ("eve", "jam")]
    assert weights(split) == pytest.approx(dict(zip(pairs, expected, strict=True)), rel=1e-6)
    loaded = load_split(save_split(split, tmp_path / "set"))
    assert loaded.fingerprint == split.fingerprint
    assert weights(loaded) == weights(split)
    plain = prepare(read(orders()), Recipe(ratios=(1, 0, 0)))
    assert plain.train.weights is None
    assert plain.fingerprint != split.fingerprint
    assert plain.train.users.tolist() == split.train.users.tolist()
    both = prepare(read(orders(), price="price"), Recipe(ratios=(2, 1, 1), **recipe))
    assert weights(both.whole()) == pytest.approx(weights(split), rel=1e-6)


def test_returns_are_counted_and_what_came_back_is_known() -> None:
    split = prepare(read(orders()), Recipe(ratios=(1, 0, 0)))
    step = split.manifest["steps"][1]  # type: ignore[index]
    assert (step["step"], step["rows"]) == ("returns", 5)
    assert "3" in step["rule"]
    assert original(split, split.aside) == [("ann", "rye"), ("bob", "jam")]
    kept = prepare(read(orders(), quantity=0), Recipe(ratios=(1, 0, 0)))
    assert len(kept.train) == 6
    bought = prepare(read(orders(quantity=[1, None, 2, 3, 4, 5, 6, 7, 8])), Recipe(ratios=(1, 0, 0)))
    assert [step["step"] for step in bought.manifest["steps"]][:2] == ["read", "rating"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("setting", [{"min_rating": 1}, {"years": (1970, 1970)}, {"split": "time"}, {"half_life": 9}])
def test_a_value_that_is_missing_matters_where_it_is_needed(tmp_path: Path, setting: dict[str, Any]) -> None:
    (tmp_path / "log.csv").write_text("user,item,rating,time\n1,2,3,4\n1,3,,5\n2,2,4,\n2,3,5,6\n3,3,4,7\n")
    recipe = Recipe(ratios=(1, 0, 0), **setting)
    assert len(prepare(read(tmp_path / "log.csv"), Recipe(ratios=(1, 0, 0))).train) == 5
    with pytest.raises(DataError, match=rf"1 rows of .*line {3 if 'min_rating' in setting else 4}"):
        prepare(read(tmp_path / "log.csv"), recipe)
    made = prepare(read(tmp_path / "log.csv", lenient=True), recipe)
    assert len(made.train) == 4
    assert [(step["step"], step["rows"]) for step in made.manifest["steps"]][:2] == [("read", 5), ("missing", 4)]  # type: ignore[attr-defined]


def test_settings_are_checked() -> None:
    for setting in ({"weight": "colour"}, {"half_life": 0}):
        with pytest.raises(SettingError, match=next(iter(setting))):
            Recipe(**setting)
    with pytest.raises(DataError, match="price="):
        prepare(read(orders()), Recipe(weight="price"))
