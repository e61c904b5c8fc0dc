"""A small set with structure in it: even people like even films, odd people odd ones."""

from dataclasses import replace
from functools import cache

import numpy as np

from sahcns.backbones import LightGCN
from sahcns.data import Pairs, Recipe, Split, prepare
from sahcns.data.ids import Id
from sahcns.model import Recommender, fit
from sahcns.samplers import RNS
from sahcns.training import Protocol
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


def hardly_trained() -> Split:
    """The same, but one user is known by a held-out pair alone (2, 5), and the next by nothing at all."""
    split = films()
    train, valid = split.train.take(~np.isin(split.train.users, (2, 3))), np.array([[2], [5]], np.int32)
    return replace(split, train=train, valid=Pairs(*valid), test=Pairs.none())


@cache
def trained_on_films() -> Recommender:
    """Who has learnt the structure; for looking at, not for changing."""
    protocol = Protocol(epochs=40, batch=32, learning_rate=0.05, evaluate_every=20)
    return fit(films(), LightGCN(dim=8, depth=2), RNS(), protocol=protocol, device="cpu").recommender
