"""A small set with structure in it: even people like even films, odd people odd ones."""

from sahcns.data import Recipe, Split, prepare
from sahcns.data.ids import Id
from tests.data.hand_made import interactions


def films(people: int = 24, count: int = 20, seed: int = 0) -> Split:
    """People 'p00', 'p01', … and films 100, 101, … with titles; each likes two thirds of the films of their kind."""
    rows: list[tuple[Id, Id]] = [
        (f"p{person:02}", 100 + film)
        for person in range(people)
        for film in range(person % 2, count, 2)
        if (person + film // 2) % 3
    ]
    return prepare(interactions(rows, titles={film: f"Film {film} ☕" for _, film in rows}), Recipe(seed=seed))
