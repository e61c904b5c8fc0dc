"""How a set is made from raw interactions: the filters, their fixed order, and the split."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from sahcns.errors import SettingError, nearest

Duplicates = Literal["first", "last", "none"]
SplitRule = Literal["random", "random-user", "time", "time-user", "leave-last-out", "given"]
Unseen = Literal["keep", "drop", "error"]
Weight = Literal["rows", "quantity", "price", "rating"]

TIMED: tuple[SplitRule, ...] = ("time", "time-user", "leave-last-out")


@dataclass(frozen=True)
class Recipe:
    """The steps in the order they always run: events → returns → rating → window → duplicates → k-core → split.

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
    weight       how much a pair counts in training: log(1 + x) where x is its number of "rows", its "quantity" in all,
                 or what was paid for it ("price" times quantity); or its mean "rating"; None counts all alike
    half_life    days after which a pair counts half as much as one of the last day; None for no such decay
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
    weight: Weight | None = None
    half_life: float | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("duplicates", Duplicates), ("split", SplitRule), ("unseen", Unseen), ("weight", Weight)):
            choices = get_args(allowed) + ((None,) if name == "weight" else ())
            self._check(name, getattr(self, name) in choices, f"one of {', '.join(map(repr, choices))}")
        for name, value in (("core", self.core), ("seed", self.seed)):
            self._check(name, _are_whole([value]) and value >= 0, "a whole number, 0 or more")
        days, least = self.half_life, self.min_rating
        self._check("half_life", days is None or (_are_numbers([days]) and days > 0), "days, above 0")
        self._check("min_rating", least is None or _are_numbers([least]), "a number, or None to keep every rating")
        if self.events is not None:
            kinds = self.events if isinstance(self.events, list | tuple) else ()
            kinds = tuple(dict.fromkeys(str(kind).strip() for kind in kinds))
            self._check("events", kinds and all(kinds), "one or more kinds of events, such as ('purchase', 'cart')")
            object.__setattr__(self, "events", kinds)
        if self.years is not None:
            years: Any = self.years if isinstance(self.years, list | tuple) else ()
            valid = len(years) == 2 and _are_whole(years) and 1 <= years[0] <= years[1] <= 9998
            self._check("years", valid, "two calendar years, the first not after the second, such as (2014, 2018)")
            object.__setattr__(self, "years", tuple(years))
        ratios: Any = self.ratios if isinstance(self.ratios, list | tuple) else ()
        valid = len(ratios) == 3 and _are_numbers(ratios) and min(ratios) >= 0 and ratios[0] > 0
        self._check("ratios", valid, "three numbers, 0 or more and the first above 0, such as (0.8, 0.1, 0.1)")
        object.__setattr__(self, "ratios", tuple(map(float, ratios)))

    def _check(self, name: str, valid: object, wanted: str) -> None:
        if not valid:
            raise SettingError(f"{name}={getattr(self, name)!r} must be {wanted}")

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


def _are_whole(values: Any) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _are_numbers(values: Any) -> bool:
    return all(_are_whole([value]) or (isinstance(value, float) and math.isfinite(value)) for value in values)
