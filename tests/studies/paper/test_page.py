"""The committed page "Does it hold?" is what the results in the tree give."""

from pathlib import Path

from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.page import does_it_hold

ROOT = Path(__file__).parents[3]


def test_the_page_is_what_the_results_give() -> None:
    """If it is not: sahcns reproduce --out results --page docs/does-it-hold.md"""
    assert (ROOT / "docs" / "does-it-hold.md").read_text("utf-8") == does_it_hold(ROOT / "results")


def test_the_results_name_their_study() -> None:
    evidence = Evidence.of(ROOT / "results")
    assert (ROOT / "results" / "study.json").exists()
    assert {one.commit for one in evidence.results.values()} != {None}
    for one in evidence.results.values():
        assert one.seconds["total"] > 0
        assert {"sahcns", "torch", "numpy", "device", "kernels"} <= one.machine.keys()
        assert {"best", "last"} == one.test.keys()
