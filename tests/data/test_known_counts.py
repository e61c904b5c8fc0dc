"""The published counts, from the raw files. Runs where SAHCNS_DATA names a folder that holds `ml-1m`, `amazon-toys`."""

import os
from pathlib import Path

from sahcns.data import Recipe, prepare, prepare_given, statistics
from sahcns.data.readers import read

HOME = Path(os.environ.get("SAHCNS_DATA", ""))
__test__ = "SAHCNS_DATA" in os.environ  # without the data there is nothing to collect here

ML_1M = [
    (None, 0, (6040, 3706, 1_000_209)),
    (None, 10, (6040, 3260, 998_539)),
    (3, 0, (6039, 3628, 836_478)),  # the paper's set; it prints one more user and item, a padding id of RecBole
    (3, 10, (6033, 3123, 834_449)),
    (4, 0, (6038, 3533, 575_281)),
    (4, 10, (5949, 2810, 571_531)),
]


def test_movielens_1m() -> None:
    raw = read(HOME / "ml-1m" / "ratings.dat")
    found = {}
    for rating, core, _ in ML_1M:
        figures = statistics(prepare(raw, Recipe(min_rating=rating, core=core)))
        found[rating, core] = (figures["users"], figures["items"], figures["interactions"])
    assert found == {(rating, core): counts for rating, core, counts in ML_1M}


def test_amazon_toys() -> None:
    train, valid, test = (read(HOME / "amazon-toys" / f"{part}.txt") for part in ("train", "valid", "test"))
    figures = statistics(prepare_given(train, valid, test))
    assert (figures["users"], figures["items"], figures["interactions"]) == (15_306, 10_074, 247_181)
    assert [part["interactions"] for part in figures["parts"].values()] == [200_911, 23_048, 23_222]
    assert [part["users"] for part in figures["parts"].values()] == [15_306, 10_951, 10_971]
