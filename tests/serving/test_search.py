"""Search by a few letters: what comes first, and that letters of any kind find what they should."""

import time

import pytest
import torch

from sahcns.serving.search import TextIndex

TEXTS = ["Star Wars", "Stardust", "A Star Is Born", "Köln at Night", "Dark Star", "Mustard", "star"]
PEOPLE = [50, 10, 90, 5, 70, 100, 1]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("star", ["star", "Star Wars", "Stardust", "A Star Is Born", "Dark Star", "Mustard"]),  # whole, begin, word, in
        ("STAR wa", ["Star Wars"]),
        ("born star", ["A Star Is Born"]),
        ("koln", ["Köln at Night"]),
        ("(", []),
        ("", ["Mustard", "A Star Is Born", "Dark Star", "Star Wars", "Stardust", "Köln at Night", "star"]),
    ],
)
def test_the_best_comes_first(question: str, found: list[str]) -> None:
    index = TextIndex(TEXTS, torch.tensor(PEOPLE))
    assert [TEXTS[at] for at in index.find(question, 10)] == found
    assert [TEXTS[at] for at in index.find(question, 2)] == found[:2]


def test_nothing_to_search_finds_nothing() -> None:
    assert TextIndex([], torch.zeros(0)).find("a", 5) == []


def test_a_question_that_fits_nothing_takes_no_time() -> None:
    """Nine hundred thousand places hold one word or the other, and none holds both."""
    index = TextIndex(
        [f"{'ab' * 9} {one}" if one % 2 else f"{'cd' * 9} {one}" for one in range(100_000)], torch.ones(100_000)
    )
    began = time.process_time()
    assert index.find("ab cd", 8) == []
    assert index.find("ab nowhere", 8) == []
    assert time.process_time() - began < 0.1
