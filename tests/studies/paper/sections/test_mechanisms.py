"""What the section on Figs 1 and 5 says of HC."""

from sahcns.studies.inspection.diagnostics import Group
from sahcns.studies.paper.sections.mechanisms import easy_and_hard_in_words


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
