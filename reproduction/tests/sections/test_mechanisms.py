"""What the section on Figs 1 and 5 says of HC."""

from types import SimpleNamespace
from typing import cast

from reproduction.evidence import Evidence
from reproduction.methods import METHOD
from reproduction.sections.mechanisms import easy_and_hard_in_words, too_hard_in_words
from reproduction.tests.tiny import TINY
from sahcns.lab import Group


def group(before: float, after: float) -> Group:
    return Group(1.0, (0.1,), before, after)


def test_a_gap_is_told_before_and_after_and_as_a_share() -> None:
    told = easy_and_hard_in_words(group(4.0, 3.0), group(0.5, 0.4))
    assert (
        "in easy pools from 4.00 to 3.00 (25 % of it closed), in hard pools from 0.50 to 0.40 (20 % of it closed)."
        in told
    )
    assert "above the positive" not in told


def test_negatives_that_end_above_their_positives_are_named() -> None:
    assert "the negative ends above the positive" in easy_and_hard_in_words(group(4.0, 3.0), group(0.4, -0.4))
    before = easy_and_hard_in_words(group(4.0, 3.0), group(-0.1, -0.2))  # they were above already
    assert "ends above" not in before
    assert before.endswith("in hard pools from -0.10 to -0.20.")


def test_the_page_says_where_hc_makes_negatives_harder_than_their_positives() -> None:
    def seen(hard: Group) -> SimpleNamespace:
        return SimpleNamespace(diagnostics={METHOD: SimpleNamespace(mixing=SimpleNamespace(hard=hard))})

    found = {("one", "dns"): seen(group(0.4, -0.2)), ("two", "sahc"): seen(group(0.5, 0.4))}
    told = too_hard_in_words(cast(Evidence, SimpleNamespace(seen=found, design=TINY)))
    assert told.endswith("the hardening that HC is meant to avoid: Tiny toys, trained with DNS.")
    del found["one", "dns"]
    assert too_hard_in_words(cast(Evidence, SimpleNamespace(seen=found, design=TINY))) == ""
