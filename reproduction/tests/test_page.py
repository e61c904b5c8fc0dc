"""The committed page "Does it hold?" is what the results in the tree give."""

from pathlib import Path

import pytest

from reproduction import page
from reproduction.evidence import Evidence
from reproduction.page import does_it_hold
from reproduction.tests.tiny import TINY

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_results_give() -> None:
    """If it is not: sahcns reproduce --out results --page docs/does-it-hold.md"""
    assert (ROOT / "docs" / "does-it-hold.md").read_text("utf-8") == does_it_hold(ROOT / "reproduction" / "results")


def test_the_results_name_their_study() -> None:
    evidence = Evidence.of(ROOT / "reproduction" / "results")
    assert (ROOT / "reproduction" / "results" / "study.json").exists()
    assert {one.commit for one in evidence.results.values()} != {None}
    for one in evidence.results.values():
        assert one.seconds["total"] > 0
        assert {"sahcns", "torch", "numpy", "device", "kernels"} <= one.machine.keys()
        assert {"best", "last"} == one.test.keys()


def test_where_a_part_that_tuning_switched_off_is_at_work_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else Tables II and III would show two numbers for SAHC-NS on one set without a word."""
    TINY.save(tmp_path)
    assert "In Table III, Figs 1, 4 and 5" not in does_it_hold(tmp_path)
    monkeypatch.setattr(page, "parts_in_words", lambda *_: ["On Tiny toys SAHC-NS has α = 0.3."])
    assert "what SA and HC cost: On Tiny toys SAHC-NS has α = 0.3.\n" in does_it_hold(tmp_path)
