"""The protocol: the paper's by default, and what it refuses."""

from typing import Any

import pytest

from sahcns.errors import SettingError
from sahcns.training import Protocol


def test_the_defaults_are_the_papers() -> None:
    assert Protocol().to_dict() == {
        "batch": 2048,
        "learning_rate": 1e-3,
        "l2": 1e-4,
        "l2_on": "mixed",
        "epochs": 1000,
        "evaluate_every": 5,
        "patience": 10,
        "monitor": "recall@20",
        "select_on": "valid",
        "mask": "train",
        "drop_last": True,
    }


def test_how_an_epoch_is_drawn_is_said_only_where_it_is_not_by_pairs() -> None:
    """Results from before there was a choice have no entry, and their keys none."""
    assert Protocol.from_dict(Protocol().to_dict()).draw == "pairs"
    assert "draw" not in Protocol(draw="pairs").to_dict()
    told = Protocol(draw="users").to_dict()
    assert told == {**Protocol().to_dict(), "draw": "users"}
    assert Protocol.from_dict(told) == Protocol(draw="users")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"select_on": "test"}, r"select_on='test' is refused"),
        ({"select_on": "train"}, r"select_on='train' is refused"),
        ({"batch": 0}, r"Protocol: batch=0 is not allowed; it must be >= 1"),
        ({"learning_rate": 0.0}, r"Protocol: learning_rate=0.0 is not allowed; it must be > 0"),
        ({"learning_rate": "fast"}, r"Protocol: learning_rate='fast' must be a number"),
        ({"l2": -1e-4}, r"Protocol: l2=-0.0001 is not allowed; it must be >= 0"),
        ({"l2_on": "both"}, r"Protocol: l2_on='both' is not allowed; it must be mixed \| real"),
        ({"epochs": 0}, r"Protocol: epochs=0 is not allowed"),
        ({"epochs": 2.5}, r"Protocol: epochs=2.5 must be a whole number"),
        ({"evaluate_every": 0}, r"Protocol: evaluate_every=0 is not allowed"),
        ({"patience": 0}, r"Protocol: patience=0 is not allowed"),
        ({"mask": "valid"}, r"Protocol: mask='valid' is not allowed; it must be train \| train\+valid"),
        ({"draw": "items"}, r"Protocol: draw='items' is not allowed; it must be pairs \| users"),
        ({"drop_last": "no"}, r"Protocol: drop_last='no' must be true or false"),
        ({"learningrate": 0.1}, r"protocol has no argument 'learningrate'; did you mean 'learning_rate'"),
    ],
)
def test_refused_with_the_argument_the_value_and_what_is_allowed(values: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        Protocol.from_dict(values)
