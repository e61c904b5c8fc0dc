"""How a set is made from raw interactions: the filters, their fixed order, and the split."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Literal, get_args

from sahcns.errors import SettingError, nearest

Duplicates = Literal["first", "last", "none"]
SplitRule = Literal["random", "random-user", "time", "time-user", "leave-last-out", "given"]
Unseen = Literal["keep", "drop", "error"]

TIMED: tuple[SplitRule, ...] = ("time", "time-user", "leave-last-out")


@dataclass(frozen=True)
class Recipe:
    """The steps in the order they always run: events → rating → window → duplicates → k-core → split.

    events       keep rows of these kinds, such as ("purchase", "cart"), whatever their case; None keeps all
    min_rating   keep rows rated at least this; None keeps all
    years        keep rows of these calendar years, both included, in UTC; None keeps all
    duplicates   of several rows with one (user, item), keep the "first" or "last" in time (in file order where there
                 are no times); "none" keeps every row, so that the k-core and the split count rows, as several
                 published sets do: each pair then stays once, in training before validation before test
    core         drop users and items with fewer rows than this, again and again until none is left; 0 or 1 is off
    split        "random" over all rows; "random-user" and "time-user" within each user; "time" over all rows;
                 "leave-last-out" tests each user's last row and validates on the one before; "given" files
    ratios       shares of training, validation and test; (8, 1, 1) is the same as (0.8, 0.1, 0.1)
    seed         of the random splits; the same rows come out on every machine and whatever the order of the file
    unseen       validation and test rows whose user or item has no training row: "keep" them, as the literature does,
                 "drop" them, or make them an "error"; kept and dropped ones are counted in the manifest
    """

    events: tuple[str, ...] | None = None
    min_rating: float | None = None
    years: tuple[int, int] | None = None
    duplicates: Duplicates = "first"
    core: int = 0
    split: SplitRule = "random"
    ratios: tuple[float, float, float] = (0.8, 0.1, 0.1)
    seed: int = 0
    unseen: Unseen = "keep"

    def __post_init__(self) -> None:
        if self.min_rating is not None and not (_number(self.min_rating) and math.isfinite(self.min_rating)):
            raise SettingError(f"min_rating={self.min_rating!r} must be a number, or None to keep every rating")
        if self.events is not None:
            object.__setattr__(self, "events", _events(self.events))
        if self.years is not None:
            object.__setattr__(self, "years", _years(self.years))
        _one_of("duplicates", self.duplicates, get_args(Duplicates))
        _one_of("split", self.split, get_args(SplitRule))
        _one_of("unseen", self.unseen, get_args(Unseen))
        if not _whole(self.core) or self.core < 0:
            raise SettingError(f"core={self.core!r} must be a whole number, 0 or more (0 and 1 are off)")
        object.__setattr__(self, "ratios", _ratios(self.ratios))
        if not _whole(self.seed) or self.seed < 0:
            raise SettingError(f"seed={self.seed!r} must be a whole number, 0 or more")

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in the manifest."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> "Recipe":
        """The recipe that `to_dict` described; settings left out take their defaults."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise SettingError(f"a recipe has no setting {name!r}; {nearest(name, known)}")
        return cls(**dict(values))  # type: ignore[arg-type]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SettingError(f"{name}={value!r} must be one of {', '.join(repr(choice) for choice in allowed)}")


def _events(given: object) -> tuple[str, ...]:
    if (
        not isinstance(given, list | tuple)
        or not given
        or not all(isinstance(kind, str) or _whole(kind) for kind in given)
    ):
        raise SettingError(f"events={given!r} must be one or more kinds of events, such as ('purchase', 'cart')")
    kinds = tuple(dict.fromkeys(str(kind).strip() for kind in given))
    if not all(kinds):
        raise SettingError(f"events={given!r} must not hold an empty one; name kinds such as ('purchase', 'cart')")
    return kinds


def _years(given: object) -> tuple[int, int]:
    wanted = f"years={given!r} must be two calendar years, the first not after the second, such as (2014, 2018)"
    if not isinstance(given, list | tuple) or len(given) != 2 or not all(_whole(year) for year in given):
        raise SettingError(wanted)
    first, last = given
    if not 1 <= first <= last <= 9998:
        raise SettingError(wanted)
    return first, last


def _ratios(given: object) -> tuple[float, float, float]:
    wanted = f"ratios={given!r} must be three numbers, 0 or more and the first above 0, such as (0.8, 0.1, 0.1)"
    if not isinstance(given, list | tuple) or len(given) != 3 or not all(_number(share) for share in given):
        raise SettingError(wanted)
    train, valid, test = given
    if not all(math.isfinite(share) and share >= 0 for share in given) or train <= 0:
        raise SettingError(wanted)
    return float(train), float(valid), float(test)
