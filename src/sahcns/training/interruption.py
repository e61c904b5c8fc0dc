"""What a Ctrl-C may delay and must not take away: a model that has been trained."""

from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


def kept_from_ctrl_c(make: Callable[[], Made]) -> Made:
    """What `make` makes, in a moment and as well a second time: a Ctrl-C begins it again, and only another one ends it."""
    try:
        return make()
    except KeyboardInterrupt:
        return make()
