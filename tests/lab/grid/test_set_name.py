"""What a prepared set is called: by the catalogue where it is that set, and otherwise by what makes it another."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sahcns.data.catalogue import CATALOGUE, named_set
from sahcns.lab.grid.job import data_name


def manifest(name: str, **changes: Any) -> dict[str, Any]:
    """As `prepare_named` writes it, without the pairs."""
    recipe = replace(named_set(name).recipe, **changes)
    return {"catalogue": {"name": name}, "recipe": recipe.to_dict(), "fingerprint": "0123456789abcdef"}


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_as_the_catalogue_prepares_it_it_has_the_catalogue_s_name(name: str) -> None:
    assert data_name(manifest(name), "here") == name


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"core": 5}, "ml-1m (5-core)"),
        ({"core": 1}, "ml-1m"),  # which is off, too
        ({"min_rating": None, "core": 10}, "ml-1m (all ratings, 10-core)"),
        ({"years": (2001, 2002)}, "ml-1m (2001–2002)"),
        ({"split": "time-user"}, "ml-1m (split time-user)"),
        ({"ratios": (0.8, 0.1, 0.1)}, "ml-1m"),
        ({"ratios": (7, 1, 2)}, "ml-1m (7:1:2)"),
        ({"seed": 3}, "ml-1m (seed 3)"),
        ({"events": ("purchase", "cart")}, "ml-1m (purchase+cart)"),
    ],
)
def test_what_is_not_the_catalogue_s_is_told(changes: dict[str, Any], told: str) -> None:
    assert data_name(manifest("ml-1m", **changes), "here") == told


def test_of_a_given_split_only_what_counts_is_told() -> None:
    assert data_name(manifest("amazon-toys", ratios=(0.9, 0.1, 0), seed=4), "here") == "amazon-toys"
    assert data_name(manifest("amazon-toys", unseen="drop"), "here") == "amazon-toys (unseen drop)"
    held_out = manifest("gowalla", ratios=(0.9, 0.1, 0))  # validation is drawn from the training rows, by the seed
    assert data_name(held_out, "here") == "gowalla"
    assert data_name(manifest("gowalla", seed=4), "here") == "gowalla (seed 4)"


def test_other_counts_are_other_data() -> None:
    given = manifest("ml-1m")
    given["catalogue"]["differs_from_catalogue"] = ["users 6,040 instead of 6,039"]
    assert data_name(given, "here") == "ml-1m (data 0123456789)"


def test_without_a_name_it_is_called_by_its_folder(tmp_path: Path) -> None:
    assert data_name({}, tmp_path / "shop") == "shop"
    assert data_name({"catalogue": {"name": "of my own"}, "recipe": {"core": 9}}, "here") == "of my own"
