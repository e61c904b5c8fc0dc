"""Which runs there are: as many as the paper's tables have, even when cut short, and those that are in the tree."""

import re
from collections import Counter
from pathlib import Path

import pytest

from reproduction.design import PAPER, QUICK, Design
from reproduction.evidence import Evidence
from reproduction.experiments import GRIDS, Chosen, job, jobs, part_named
from reproduction.looks import aged, costs_key, looks
from reproduction.measuring import backbone, sampler
from reproduction.methods import METHOD, NINE, TOYS, TUNABLE, UNTUNED
from reproduction.tests.tiny import TINY, prepared
from sahcns.errors import SettingError
from sahcns.training import Protocol
from sahcns.training.record import described

RESULTS = Path(__file__).parents[1] / "results"


def keys(part: str, design: Design = PAPER, chosen: Chosen | None = None) -> set[str]:
    """Of all runs of a part, on sets whose fingerprints are their folders' names."""
    found = part_named(part)
    return {
        job(design, row, row.data, row.data, seed).key
        for row in found.rows(design, chosen or {})
        for seed in design.first(found.seeds(design))
        if row.sampler is not None
    }


def test_the_paper_s_tables_have_as_many_runs() -> None:
    counts = {part.name: len(keys(part.name)) for part in GRIDS}
    assert counts["table2"] == 9 * 3 * 5
    assert counts["table3"] == 8 * 2 * 5  # HC-only stands for two rows; SAHC-Fixed comes with two distributions
    assert counts["table4"] == 2 * 9 * 2 * 3
    assert counts["figure4"] == (7 + 7 + 5 - 2) * 2 * 3
    assert counts["power"] == 9 * 2 * 30
    assert counts["splits"] == 6 * 4 * 3
    assert counts["equal"] == 2 * 3 * 5  # the others wait for tuning


def test_the_docs_count_the_runs_right() -> None:
    text = (RESULTS.parents[1] / "docs" / "reproduce.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (\d+)(?: to \d+)? \| \d+ \|$", text, re.MULTILINE))
    tuned: dict[str, dict[str, dict[str, float]]] = {one.folder: {name: {} for name in TUNABLE} for one in PAPER.sets}
    counts = {part.name: len(keys(part.name)) for part in GRIDS}
    for name, seeds in (("equal", PAPER.seeds), ("pools", PAPER.few)):  # some of which wait for tuning
        counts[name] = len(list(part_named(name).rows(PAPER, tuned))) * seeds
    assert {name: int(count) for name, count in rows.items()} == counts
    own = {one.folder: {"sahc": {"alpha": 0.1, "lambda_max": 0.1}} for one in PAPER.sets}
    assert f"{counts['table2']} to {len(keys('table2', chosen=own))} |" in text


@pytest.mark.parametrize("design", [PAPER, QUICK, TINY])
def test_every_row_can_be_built_and_says_all_of_itself(design: Design) -> None:
    chosen = {one.folder: {"sahc": {"alpha": 1.0, "lambda_max": 0.0}, "bns": {"lam": 1.5}} for one in design.sets}
    for part in GRIDS:
        for row in part.rows(design, chosen):
            if row.sampler is not None:
                assert described(sampler(row.sampler)) == row.sampler
            assert described(backbone(row.backbone)) == row.backbone
            assert Protocol.from_dict(row.protocol).to_dict() == row.protocol


def test_what_tuning_chose_feeds_the_others() -> None:
    chosen = {TOYS: {"sahc": {"alpha": 0.9, "lambda_max": 0.1, "pool": 10}}}
    tuned = {"name": "sahc", "pool": 10, "alpha": 0.9, "lambda_max": 0.1}
    for part in ("table2", "table3", "table4", "power", "choices", "splits"):
        rows = [row for row in part_named(part).rows(PAPER, chosen) if row.label == METHOD]
        assert {str(row.sampler) for row in rows if row.data.startswith(TOYS)} == {str(tuned)}
    untuned = [row.data for row in part_named("table2").rows(PAPER, chosen) if row.label == UNTUNED]
    assert untuned == [TOYS]  # what was run before tuning stays in the table
    assert len(keys("table2", chosen=chosen)) == 140


def test_pools_of_every_hard_sampler() -> None:
    chosen: Chosen = {
        TOYS: {"dens": {"gamma": 0.02, "schedule": "warmup", "pool": 10}, "bns": {"lam": 9.0, "pool": 10}}
    }
    rows = {(row.label, row.group): row.sampler for row in part_named("pools").rows(PAPER, chosen)}
    assert len(rows) == 8 * 6
    assert {label for label, _ in rows} == {*NINE} - {"RNS"}
    sizes = {
        label: {size: (one or {}).get("pool") for (whose, size), one in rows.items() if whose == label}
        for label in NINE
    }
    assert sizes.pop("RNS") == {}
    assert {*sizes.pop("AHNS").values()} == {None}  # waits for tuning
    assert all(own == {str(size): size for size in PAPER.wide_pools} for own in sizes.values())
    for size in ("5", "200"):
        dens, bns, several = (rows[label, size] or {} for label in ("DENS", "BNS", "DNS(M,N)"))
        assert (dens["schedule"], dens["gamma"]) == ("warmup", 0.02)  # as printed it does not train
        assert (bns["lam"], several["top_k"]) == (5.0, 5)  # as printed


def test_jobs_come_seed_by_seed_on_the_sets_that_are_there(tmp_path: Path) -> None:
    prepared(tmp_path)
    made = jobs(part_named("table2"), TINY, {"one": tmp_path / "one"}, {})
    assert [one.seed for one in made] == [2020] * 9 + [2021] * 9
    assert {one.data_name for one in made} == {"Tiny toys"}
    assert len(jobs(part_named("power"), TINY, {"one": tmp_path / "one"}, {}, seeds=1)) == 9


def test_an_unknown_part_gets_the_nearest() -> None:
    with pytest.raises(SettingError, match="did you mean 'table2'"):
        part_named("table22")


def test_every_run_in_the_tree_belongs_to_the_study() -> None:
    evidence = Evidence.of(RESULTS)
    wanted = {
        evidence.key(row, seed)
        for part in GRIDS
        for row in evidence.rows(part.name)
        for seed in evidence.seeds(part.name)
    }
    assert evidence.results
    assert evidence.results.keys() <= wanted
    assert evidence.design == PAPER
    labels = Counter(one.label for one in evidence.runs("table2"))
    assert len(labels) >= 9


def test_every_other_file_in_the_tree_belongs_to_the_study() -> None:
    """A choice that changed leaves no look and no timing of the old one behind."""
    evidence = Evidence.of(RESULTS)
    design, chosen = evidence.design, evidence.chosen
    wanted = {
        *(one.key(evidence.fingerprint(one.data)) for one in looks(design, chosen)),
        *(one.key(evidence.fingerprint(one.data)) for one in aged(design)),
        *(costs_key(design, chosen, one.folder, evidence.fingerprint(one.folder)) for one in design.sets),
    }
    assert evidence.files.keys() == wanted
