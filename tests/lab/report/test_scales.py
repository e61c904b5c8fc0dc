"""Ranges end well, ticks are round, numbers are short."""

import math

import pytest

from sahcns.lab.report.scales import Slots, at_values, compact, linear_range, log_range, told, told_alike


@pytest.mark.parametrize(
    ("values", "count", "labels"),
    [
        ((0.112, 0.134), 5, ("0.110", "0.115", "0.120", "0.125", "0.130", "0.135")),
        ((0.0, 9.7), 5, ("0", "2", "4", "6", "8", "10")),
        ((-3.0, 4.0), 4, ("−4", "−2", "0", "2", "4")),
        ((0.0, 1.0), 4, ("0.00", "0.25", "0.50", "0.75", "1.00")),
        ((0.0, 240_000.0), 5, ("0", "50k", "100k", "150k", "200k", "250k")),
        ((5.0, 5.0), 4, ("4.7", "4.8", "4.9", "5.0", "5.1", "5.2", "5.3")),
        ((math.nan, math.inf), 4, ("0.00", "0.25", "0.50", "0.75", "1.00")),
    ],
)
def test_linear_ticks(values: tuple[float, ...], count: int, labels: tuple[str, ...]) -> None:
    found = linear_range(values, count)
    known = [value for value in values if math.isfinite(value)]
    assert all(found.low <= value <= found.high for value in known)
    assert (found.ticks[0], found.ticks[-1]) == (found.low, found.high)
    if values[0] == 5.0:
        assert found.low < 5 < found.high
    else:
        assert found.labels == labels


def test_a_tight_range_ends_where_the_values_end() -> None:
    found = linear_range([3, 97], 5, tight=True)
    assert (found.low, found.high) == (3, 97)
    assert found.labels == ("20", "40", "60", "80")


def test_zero_is_kept_inside_for_bars() -> None:
    assert linear_range([4, 5], 4, zero=True).low == 0
    assert linear_range([-5, -4], 4, zero=True).high == 0


def test_log_ticks() -> None:
    assert log_range([3, 180], 8).labels == ("2", "5", "10", "20", "50", "100", "200")
    few = log_range([1e-6, 1e4], 5)
    assert all(math.log10(tick) % 1 == pytest.approx(0, abs=1e-9) for tick in few.ticks)
    assert len(few.ticks) <= 7
    tight = log_range([3, 180], 8, tight=True)
    assert (tight.low, tight.high) == (3, 180)
    assert log_range([0, -1, math.nan], 5).low == 1
    assert log_range([15, 18], 5, tight=True).labels == ("15", "16", "17", "18")
    assert log_range([7, 7], 5).low < 7 < log_range([7, 7], 5).high


def test_places() -> None:
    axis = linear_range([0, 10], 5).onto(300, 100)
    assert [axis.place(value) for value in (0, 5, 10, math.nan)] == [300, 200, 100, None]
    log = log_range([1, 100], 5).onto(0, 200)
    assert log.place(10) == pytest.approx(100)
    assert log.place(0) is None
    slots = Slots(["a", "b"], 0, 100)
    assert (slots.place("a"), slots.place("b"), slots.room) == (25, 75, 50)


def test_marked_at_its_values() -> None:
    assert at_values(log_range([5, 200], 5, tight=True), [5, 10, 200, 10]).labels == ("5", "10", "200")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.05, "0.05"),
        (20000, "20,000"),
        (1.5e6, "1.5M"),
        (-2e5, "−200k"),
        (1e-6, "10⁻⁶"),
        (-2.5e-7, "−2.5×10⁻⁷"),
        (3e12, "3×10¹²"),
    ],
)
def test_compact(value: float, text: str) -> None:
    assert compact(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1234567, "0.12346"),
        (12, "12"),
        (1234567, "1,234,567"),
        (1234.5678, "1,234.6"),
        (123456.7, "123,457"),
        (0.0000123456, "1.2346×10⁻⁵"),
        (-0.5, "-0.5"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_told(value: float, text: str) -> None:
    assert told(value) == text


def test_numbers_below_each_other_have_the_same_decimals() -> None:
    write = told_alike([0.131, 0.0884, math.nan])
    assert [write(value) for value in (0.131, 0.0884, math.nan)] == ["0.13100", "0.08840", "–"]
    assert told_alike([13.4, 2])(2) == "2.000"
    assert told_alike([5, 10, 200])(10) == "10"
    assert told_alike([1e-7, 0.5])(1e-7) == "10⁻⁷"
