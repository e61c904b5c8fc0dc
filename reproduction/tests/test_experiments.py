"""Which runs there are: the settings that the paper names, as many as its tables have, and those that are in the tree."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from reproduction.design import PAPER, QUICK, Design
from reproduction.experiments import GRIDS, Chosen, job, jobs, of_all, parts_named
from reproduction.measurements import aged_models, baselines, build, looks, timings
from reproduction.methods import (
    ALL_TUNED,
    BACKBONES,
    METHOD,
    METRICS,
    ML1M,
    PROTOCOL,
    SAMPLERS,
    TOYS,
    TUNABLE,
    UNTUNED,
    YELP,
)
from reproduction.published import EFFICIENCY, TABLE_1, printed
from reproduction.tests.tiny import RESULTS, TINY, in_the_tree, prepared
from sahcns import Backbone, Protocol, Sampler
from sahcns.lab import SettingError
from sahcns.settings import class_named
from sahcns.training.record import described

OWN = {"name": "sahc", "pool": 10, "alpha": 0.7, "lambda_max": 0.9}


def keys(part: str, design: Design = PAPER, chosen: Chosen | None = None) -> set[str]:
    """Of all runs of a part, on sets whose fingerprints are their folders' names."""
    found = GRIDS[part]
    return {
        job(design, row, row.data, row.data, seed).key
        for row in found.rows(design, chosen or {})
        for seed in design.first(found.seeds(design))
        if row.sampler is not None
    }


def test_descriptions_are_those_of_the_defaults() -> None:
    for name, settings in SAMPLERS.items():
        assert described(class_named(Sampler, name)()) == {"name": name, **settings}
    for name, settings in BACKBONES.items():
        assert described(class_named(Backbone, name)()) == {"name": name, **settings}
    assert Protocol().to_dict() == PROTOCOL


def test_the_printed_tables_agree_where_they_overlap() -> None:
    assert printed("table2", YELP)["DNS(M,N)", "ndcg@20"] == (7.32, 0.11)
    assert printed("table4", YELP, "simgcl")["MixGCF", "ndcg@20"] == (7.92, None)
    assert printed("table4", ML1M, "ngcf") == printed("equal", TOYS) == {}
    for data in (TOYS, YELP):
        for method in ("DNS", METHOD):
            for metric in METRICS[2:]:
                assert printed("table3", data)[method, metric][0] == printed("table2", data)[method, metric][0]
    for one in EFFICIENCY.values():
        assert 100 * one.extra / one.epoch == pytest.approx(one.share, abs=0.006)
    assert [f"{n / (users * items):.3%}" for users, items, n in TABLE_1.values()] == ["0.160%", "0.148%", "3.816%"]


def test_the_docs_count_the_runs_right() -> None:
    text = (RESULTS.parents[1] / "docs" / "reproduce.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (\d+)(?: to \d+)? \| \d+ \|$", text, re.MULTILINE))
    tuned: dict[str, dict[str, dict[str, float]]] = {one.folder: {name: {} for name in TUNABLE} for one in PAPER.sets}
    tuned |= {of_all(one.folder): {name: {"pool": 5} for name in ALL_TUNED.values()} for one in PAPER.sets}
    counts = {part: len(keys(part)) for part in GRIDS}
    waiting = ("equal", PAPER.seeds), ("pools", PAPER.few), ("alike", PAPER.alike)  # some of which wait for tuning
    for name, seeds in waiting:
        counts[name] = len(list(GRIDS[name].rows(PAPER, tuned))) * seeds
    assert {name: int(count) for name, count in rows.items()} == counts


@pytest.mark.parametrize("design", [PAPER, QUICK, TINY])
def test_every_row_can_be_built_and_says_all_of_itself(design: Design) -> None:
    chosen: dict[str, dict[str, dict[str, object]]]
    chosen = {one.folder: {"sahc": {"alpha": 1.0, "lambda_max": 0.0}, "bns": {"lam": 1.5}} for one in design.sets}
    chosen |= {of_all(one.folder): {"dens": {"pool": 50, "protocol.l2": 0.02, "gamma": 0.5}} for one in design.sets}
    for part in GRIDS.values():
        for row in part.rows(design, chosen):
            if row.sampler is not None:
                assert described(build(Sampler, row.sampler)) == row.sampler
            assert described(build(Backbone, row.backbone)) == row.backbone
            assert Protocol.from_dict(row.protocol).to_dict() == row.protocol


def test_what_tuning_chose_feeds_the_others() -> None:
    chosen = {TOYS: {"sahc": {"alpha": 0.9, "lambda_max": 0.1, "pool": 10}}}
    tuned = {"name": "sahc", "pool": 10, "alpha": 0.9, "lambda_max": 0.1}
    for part in ("table2", "table3", "table4", "power", "choices", "splits"):
        rows = [row for row in GRIDS[part].rows(PAPER, chosen) if row.label == METHOD]
        assert {str(row.sampler) for row in rows if row.data.startswith(TOYS)} == {str(tuned)}
    untuned = [row.data for row in GRIDS["table2"].rows(PAPER, chosen) if row.label == UNTUNED]
    assert untuned == [TOYS]  # what was run before tuning stays in the table


def test_where_everything_was_searched_each_row_has_its_own_protocol_and_some_have_many_seeds(tmp_path: Path) -> None:
    prepared(tmp_path)
    chosen = {of_all("one"): {"dns": {"pool": 20, "protocol.l2": 0.003, "protocol.learning_rate": 0.002}}}
    design = replace(TINY, more=("one/DNS",))
    (row,) = [row for row in GRIDS["alike"].rows(design, chosen) if row.sampler is not None]
    assert (row.label, row.sampler) == ("DNS", {"name": "dns", "pool": 20})
    assert row.protocol == {**TINY.protocol, "l2": 0.003, "learning_rate": 0.002}
    for one, seeds in ((TINY, [2020]), (design, [2020, 2021, 2022])):
        made = jobs([GRIDS["alike"]], one, {"one": tmp_path / "one"}, chosen)
        assert [job.seed for job in made] == seeds
    assert PAPER.short == {**PROTOCOL, "epochs": 400}


def test_jobs_come_seed_by_seed_on_the_sets_that_are_there(tmp_path: Path) -> None:
    prepared(tmp_path)
    made = jobs([GRIDS["table2"]], TINY, {"one": tmp_path / "one"}, {})
    assert [one.seed for one in made] == [2020] * 9 + [2021] * 9
    assert {one.data_name for one in made} == {"Tiny toys"}
    assert len(jobs([GRIDS["power"]], TINY, {"one": tmp_path / "one"}, {}, seeds=1)) == 9


def test_parts_are_run_in_their_order_and_an_unknown_one_is_named() -> None:
    assert parts_named(["table4", "tuning"]) == ["tuning", "table4"]
    with pytest.raises(SettingError, match="tabel2"):
        parts_named(["tabel2"])


def test_every_file_in_the_tree_belongs_to_the_study() -> None:
    """A choice that changed leaves no run, no look and no timing of the old one behind."""
    evidence = in_the_tree()
    design, chosen = evidence.design, evidence.chosen
    rows = [(part, row) for part in GRIDS for row in evidence.rows(part)]
    wanted = {evidence.key(row, seed) for part, row in rows for seed in evidence.seeds(part, row)}
    assert evidence.results.keys() <= wanted
    assert design == PAPER
    looked, without = (
        {one.key(evidence.fingerprint(one.data)) for one in every}
        for every in ([*looks(design, chosen), *aged_models(design), *timings(design, chosen)], baselines(design))
    )
    assert looked <= evidence.files.keys() <= looked | without
    for one in evidence.results.values():
        assert one.commit
        assert {"best", "last"} == one.test.keys()
