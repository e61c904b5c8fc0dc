"""From values to pixels: ranges that end well, ticks at round numbers, numbers as text."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Range:
    """What an axis spans and where it is marked."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    log: bool = False

    def onto(self, start: float, end: float) -> "Axis":
        return Axis(self, start, end)


@dataclass(frozen=True)
class Axis:
    """A range over pixels from `start` to `end`; the end may lie before the start, as it does for heights."""

    range: Range
    start: float
    end: float

    def place(self, value: float) -> float | None:
        """The pixel of a value, or None for one that no axis has a place for."""
        span = self.range
        if not math.isfinite(value) or (span.log and value <= 0):
            return None
        low, high, here = (math.log10(v) if span.log else v for v in (span.low, span.high, value))
        return self.start + (here - low) / (high - low) * (self.end - self.start)


@dataclass(frozen=True)
class Slots:
    """Words in a row over pixels from `start` to `end`, each in the middle of its share."""

    words: Sequence[str]
    start: float
    end: float

    @property
    def room(self) -> float:
        return (self.end - self.start) / max(1, len(self.words))

    def place(self, word: str) -> float:
        return self.start + (self.words.index(word) + 0.5) * self.room


def linear_range(values: Iterable[float], count: int, *, zero: bool = False, tight: bool = False) -> Range:
    """A range over all finite values with about `count` steps; `zero` keeps 0 inside, `tight` ends where values end."""
    known = [value for value in values if math.isfinite(value)] + ([0.0] if zero else [])
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        around = abs(low) * 0.05 or 0.5
        low, high, tight = low - around, high + around, False
    step = _step((high - low) / max(1, count))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if tight:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    else:
        low, high = first * step, last * step
    ticks = tuple(at * step for at in range(first, last + 1))
    largest = max(map(abs, ticks), default=0.0)
    return Range(low, high, ticks, tuple(_stepped(tick, step, largest) for tick in ticks))


def log_range(values: Iterable[float], count: int, *, tight: bool = False) -> Range:
    """A range over all positive values, marked at 1, 2 and 5 of each power of ten, or at powers alone where many."""
    known = [value for value in values if math.isfinite(value) and value > 0]
    low, high = (min(known), max(known)) if known else (1.0, 10.0)
    if high <= low * (1 + 1e-12):
        low, high, tight = low / 2, high * 2, False
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    for parts in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        marks = [part * 10.0**power for power in powers for part in parts]
        if not tight:
            bottom = max(mark for mark in marks if mark <= low * (1 + 1e-9))
            top = min(mark for mark in marks if mark >= high * (1 - 1e-9))
        else:
            bottom, top = low, high
        inside = [mark for mark in marks if bottom * (1 - 1e-9) <= mark <= top * (1 + 1e-9)]
        if len(inside) <= count:
            break
    ticks = tuple(inside[:: math.ceil(len(inside) / count)]) if inside else ()
    if len(ticks) < 2:  # less than one step of 1, 2, 3, 5, 7
        ticks = tuple(tick for tick in linear_range([bottom, top], count, tight=True).ticks if tick > 0)
    return Range(bottom, top, ticks, tuple(compact(tick) for tick in ticks), log=True)


def at_values(span: Range, values: Iterable[float]) -> Range:
    """The same range marked at these very values."""
    ticks = tuple(sorted(set(values)))
    return Range(span.low, span.high, ticks, tuple(compact(tick) for tick in ticks), span.log)


def compact(value: float) -> str:
    """A number for an axis: 0.05, 20,000, 1.5M, 10⁻⁶."""
    size = abs(value)
    if 1e5 <= size < 1e12:
        return _in_units(value, size)
    if size and not 1e-4 <= size < 1e5:
        return _minus(_scientific(value, 3))
    return _minus(f"{value:,.6g}")


def told(value: float) -> str:
    """A number for reading: five digits that count, thousands apart; – where there is none."""
    if not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if 1e-4 <= abs(value) < 1e5:
        return f"{value:,.5g}"
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else _scientific(value, 5)


def told_alike(values: Iterable[float]) -> Callable[[float], str]:
    """How to write numbers that stand below each other: the same decimals for all, unless they are worlds apart."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    if not sizes or max(sizes) >= 1e5 or max(sizes) > 1e3 * min(sizes) or all(size == int(size) for size in sizes):
        return told
    decimals = max(0, 4 - math.floor(math.log10(max(sizes))))
    return lambda value: f"{value:,.{decimals}f}" if math.isfinite(value) else told(value)


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(part for part in STEPS if part * power >= rough * (1 - 1e-9)) * power


def _stepped(tick: float, step: float, largest: float) -> str:
    """A tick with as many decimals as its step needs and in the unit of the largest, so that an axis reads as one."""
    if abs(tick) < step * 1e-6:
        tick = 0.0
    if 1e5 <= largest < 1e12:
        return _in_units(tick, largest) if tick else "0"
    if step < 1e-4 or largest >= 1e12:
        return compact(tick)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if abs(step * 10**decimals - round(step * 10**decimals)) > 1e-6:
        decimals += 1  # steps of 2.5
    return _minus(f"{tick:,.{decimals}f}")


def _in_units(value: float, largest: float) -> str:
    factor, sign = next(unit for unit in UNITS if largest >= unit[0])
    return _minus(f"{value / factor:.6g}{sign}")


def _scientific(value: float, digits: int) -> str:
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    raised = "10" + str(int(power)).translate(SUPERSCRIPTS)
    if mantissa in ("1", "-1"):
        return mantissa.replace("1", raised)
    return f"{mantissa}×{raised}"


def _minus(text: str) -> str:
    return text.replace("-", "−")
