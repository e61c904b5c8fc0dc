"""Search spaces of a sampler's own settings."""

from typing import Any

from sahcns.lab.tune.space import Space, Values
from sahcns.samplers import Sampler


def alone(kind: type[Sampler], search: dict[str, Values] | None = None, **rest: Any) -> Space:
    """Without the pool."""
    return Space.of(kind, search={"pool": (), **(search or {})}, **rest)
