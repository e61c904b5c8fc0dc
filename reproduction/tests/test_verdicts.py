"""Verdicts: what is resolved, what is not, and what one cell does to the claim."""

import numpy as np
import pytest

from reproduction.verdicts import Compared, Instance, Race, Verdict, above, counted, first, overall, within
from sahcns.ranking.significance import paired_t

UP = paired_t([0.14, 0.15, 0.16, 0.17], [0.12, 0.131, 0.14, 0.149])
DOWN = paired_t([0.12, 0.131, 0.14, 0.149], [0.14, 0.15, 0.16, 0.17])
LUCK_DOWN = paired_t([0.10, 0.15, 0.12, 0.15], [0.15, 0.14, 0.17, 0.16])
WEAK_DOWN = paired_t([0.14, 0.149, 0.16, 0.1695], [0.142, 0.152, 0.161, 0.172])
LUCK = paired_t([0.14, 0.15, 0.16, 0.17], [0.15, 0.14, 0.17, 0.16])


def instance(verdict: Verdict) -> Instance:
    return Instance("here", "1", "2", verdict)


def test_a_difference_holds_or_fails_only_where_it_is_resolved() -> None:
    found = above([Compared("a", "", "x", UP), Compared("b", "", "y", DOWN), Compared("c", "", "z", LUCK)])
    assert [one.verdict for one in found] == ["holds", "does not hold", "not resolved"]
    assert found[0].ours.startswith("x: +2.0")
    assert "4 seeds" in found[0].ours


def test_the_correction_is_over_all_cells_that_were_run() -> None:
    weak = paired_t([0.142, 0.152, 0.161, 0.172], [0.14, 0.148, 0.16, 0.1695])
    assert 0.02 < weak.p < 0.05
    assert above([Compared("a", "", "x", weak)])[0].verdict == "holds"
    several = [Compared(str(at), "", "x", weak) for at in range(3)]
    assert {one.verdict for one in above([*several, Compared("b", "", "", None)])} == {"not resolved", "not run yet"}
    assert above([Compared("a", "", "x", weak), *[Compared("b", "", "", None)] * 9])[0].verdict == "holds"


def test_one_seed_resolves_nothing_and_none_was_not_run() -> None:
    found = above([Compared("a", "", "x", paired_t([0.3], [0.1])), Compared("b", "", "y", paired_t([], []))])
    assert [one.verdict for one in found] == ["not resolved", "not run yet"]
    assert "one seed" in found[0].ours


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "not resolved"], "not resolved"),
        (["holds", "not run yet"], "not resolved"),
        (["holds", "not resolved", "does not hold"], "does not hold"),
        (["not run yet", "not run yet"], "not run yet"),
        ([], "not run yet"),
    ],
)
def test_a_claim_fails_in_one_cell_and_holds_in_all(cells: list[Verdict], verdict: Verdict) -> None:
    assert overall([instance(one) for one in cells]) == verdict


def test_counted_in_words() -> None:
    cells: list[Verdict] = ["holds", "not resolved", "holds", "not run yet"]
    assert counted([instance(one) for one in cells]) == "holds in 2, not resolved in 1, not run yet: 1 of 4"


def test_a_share_holds_within_its_distance() -> None:
    assert within("a", 33.18, 38.1, 5.0).verdict == "holds"
    assert within("a", 33.18, 28.1, 5.0).verdict == "does not hold"
    assert within("a", 33.18, None, 5.0).verdict == "not run yet"


def test_to_be_first_is_to_beat_the_strongest() -> None:
    ahead = Race("a", "", "SAHC-NS 16", {"DNS 14": UP, "RNS 10": UP})
    assert [one.verdict for one in first([ahead])] == ["holds"]
    level = Race("a", "", "SAHC-NS 16", {"DNS 14": LUCK, "RNS 10": UP})
    assert first([level])[0].verdict == "not resolved"
    assert first([Race("a", "", "", {})])[0].verdict == "not run yet"


def test_any_rival_that_is_ahead_is_enough_to_fail_but_many_rivals_must_be_paid_for() -> None:
    behind = Race("a", "", "SAHC-NS 13", {"DNS(M,N) 15.1": LUCK_DOWN, "DNS 15": DOWN})
    (found,) = first([behind])
    assert found.verdict == "does not hold"
    assert "DNS 15: " in found.ours
    luckiest = Race("a", "", "SAHC-NS 13", {"r0": WEAK_DOWN, **{f"r{k}": LUCK for k in range(1, 9)}})
    assert above([Compared("a", "", "x", WEAK_DOWN)])[0].verdict == "does not hold"
    assert first([luckiest])[0].verdict == "not resolved"


def test_equals_are_hardly_ever_told_apart() -> None:
    """Of studies in which all methods are one method, at most one in twenty may see a rival ahead."""
    rng, alarms, uncorrected = np.random.default_rng(0), 0, 0
    for _ in range(60):
        races = []
        for cell in range(4):
            own, rivals = rng.normal(0.13, 0.001, 5), rng.normal(0.13, 0.001, (6, 5))
            order = rivals[np.argsort(-rivals.mean(1))]
            races.append(
                Race(
                    str(cell), "", "own", {f"r{k}": paired_t(own.tolist(), one.tolist()) for k, one in enumerate(order)}
                )
            )
        alarms += any(one.verdict == "does not hold" for one in first(races))
        strongest = [Compared(race.where, "", "", race.rivals["r0"]) for race in races]
        uncorrected += any(one.verdict == "does not hold" for one in above(strongest))
    assert alarms <= 7
    assert uncorrected > alarms
