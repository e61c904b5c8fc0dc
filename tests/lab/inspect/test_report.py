"""Tables, figures and the page of an inspection, from plain data alone; and that stored results load."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from sahcns.lab import Cost, Inspection, TrainedModel, diagnose, inspect_pairs, inspection_report
from sahcns.lab.inspect.report import (
    diagnostics_table,
    hardness,
    layer_table,
    overview_table,
    paper_figures,
    pool_table,
    strength_table,
)
from sahcns.lab.inspect.report import verdict as verdict_of
from sahcns.lab.report.parts import Cell, Report, Table
from sahcns.samplers import DNS, RNS, SAHC, MixGCF, Sampler
from tests.lab.inspect.small_models import trained
from tests.model.films import films

SAMPLERS: list[Sampler] = [RNS(), DNS(), SAHC(alpha=0.9), MixGCF()]
COSTS = tuple(
    Cost({"name": name}, 0.01, choose, 0.02, 1.0, choose - 0.001, "cpu", "cpu", "eager", (1.0,))
    for name, choose in (("dns", 0.001), ("sahc", 0.021))
)
RESULTS = Path(__file__).parents[3] / "reproduction" / "results"


@cache
def inspection() -> Inspection:
    model = TrainedModel.of(trained("lightgcn", split=films()), device="cpu")
    diagnostics = {one.name: diagnose(model, sampler=one) for one in SAMPLERS}
    views = [inspect_pairs(model, sampler=one, user="p03", count=2) for one in (SAHC(alpha=0.9), DNS())]
    return Inspection(
        model.about, 0, tuple(one for pair in zip(*views, strict=True) for one in pair), diagnostics, COSTS
    )


@cache
def report() -> Report:
    return inspection_report(inspection(), command="sahcns inspect runs/dns")


def text(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def column(table: Table, name: str) -> dict[str, str]:
    """First column → that one; of two rows with one name the first."""
    at = [one.removeprefix(">") for one in table.columns].index(name)
    return {text(row[0]): text(row[at]) for row in reversed(table.rows)}


def test_samplers_stand_side_by_side() -> None:
    table = diagnostics_table(inspection().diagnostics)
    assert list(table.columns) == ["", ">rns", ">dns", ">sahc", ">mixgcf"]
    sahc, shown = inspection().diagnostics["sahc"], column(table, "sahc")
    assert shown["margin y⁺ - y⁻"] == f"{sahc.hardness.margin.mean:.3f}"
    assert shown["pools with a gap < 0.10"] == f"{100 * sahc.pools.near:.2f} %"
    assert sahc.selection.sigma_change is not None
    assert shown["discrepancy σ, to DNS"] == f"{100 * sahc.selection.sigma_change:+.2f} %"
    assert sahc.false_negatives.chosen is not None
    assert shown["false negatives"] == f"{100 * sahc.false_negatives.chosen:.2f} %"
    assert shown["margin, easy pools"] == f"{sahc.mixing.easy.before:.3f} → {sahc.mixing.easy.after:.3f}"
    dns = column(table, "dns")
    assert (dns["chosen as DNS"], dns["mean hardness μ, to DNS"], dns["strength λ"]) == ("100.00 %", "+0.00 %", "–")
    assert column(table, "rns")["chosen as DNS"] == "–"  # from a pool of one
    assert len(overview_table(inspection().diagnostics).columns) == 1 + 6


def test_strength_by_layer_and_by_pool() -> None:
    table = strength_table(inspection().diagnostics)
    assert table is not None
    assert [row[0] for row in table.rows] == ["sahc", "", "", "mixgcf", "", ""]
    hard = inspection().diagnostics["sahc"].mixing.hard
    assert list(table.rows[1]) == ["", "hardest fifth", *(f"{value:.3f}" for value in (hard.gap, *hard.strength))]
    assert strength_table({"dns": inspection().diagnostics["dns"]}) is None


def test_the_tables_of_a_pair() -> None:
    view = inspection().pairs[0]
    pool = pool_table(view)
    assert list(pool.columns) == ["item", "title", ">a0", ">a1", ">a2", ">μ", ">σ", ">z(μ)", ">z(σ)", ">q", ""]
    means = [float(text(row[5])) for row in pool.rows]
    assert means == sorted(means, reverse=True)
    marks = column(pool, "")
    assert marks[str(view.chosen[0].item)].startswith("chosen")
    assert "DNS" in marks[str(view.dns.item)]
    best = [row for row in pool.rows if isinstance(row[9], Cell) and row[9].mark == "best"]
    assert {text(row[0]) for row in best} == {str(view.chosen[0].item)}
    layers = layer_table(view)
    assert [text(row[0]) for row in layers.rows][4:] == ["strength λ", "negative, before", "negative"]
    negative = view.negatives[0]
    assert list(layers.rows[6]) == ["negative", *(f"{value:.3f}" for value in (*negative.profile, negative.score))]
    assert f"of {view.chosen[0].item}, Film {view.chosen[0].item} ☕" in layers.caption


def test_a_pair_without_titles_and_where_the_score_is_no_mean() -> None:
    (view,) = inspect_pairs(trained("ngcf"), sampler=DNS(pool=3), count=1, device="cpu")
    columns = pool_table(view).columns
    assert ">score" in columns  # the sum of three layers
    assert not {"title", ">q"} & set(columns)
    assert [text(row[0]) for row in layer_table(view).rows][4:] == ["negative"]


def test_figures_show_the_numbers_and_leave_out_who_does_nothing() -> None:
    samplers = inspection().diagnostics
    margins = hardness(samplers)
    assert [(one.name, one.role) for one in margins.series] == [(name, name) for name in samplers]
    assert len({tuple(one.x) for one in margins.series}) == 1
    assert any(one.y[0] > 0 for one in margins.series)  # no bins that are empty in all of them
    figures = {figure.name: figure for figure in paper_figures(samplers)}
    assert [one.role for one in figures["against-dns"].series] == ["sahc", "mixgcf"]  # DNS does not differ from itself
    assert [one.name for one in figures["pool-gaps"].series] == ["pool of 1", "pool of 10"]
    mixing = samplers["sahc"].mixing
    easy, hard = mixing.easy, mixing.hard
    assert list(figures["easy-and-hard"].series[0].y) == [easy.before, easy.after, hard.before, hard.after]
    assert list(figures["strength-by-gap"].series[0].x) == [group.gap for group in mixing.tenths]
    assert figures["strength-by-gap"].series[0].y[0] == pytest.approx(sum(mixing.tenths[0].strength) / 3)


def test_the_report_opens_with_a_verdict_a_table_and_a_figure() -> None:
    made = report()
    margins = {label: one.hardness.margin.mean for label, one in inspection().diagnostics.items()}
    (verdict,) = made.summary
    assert verdict.startswith(f"{min(margins, key=margins.__getitem__)} makes the hardest negatives")
    assert f"{max(margins.values()):.2f}" in verdict
    assert [one.name for one in made.opening()] == ["overview", "hardness"]
    titles = [section.title.partition(":")[0] for section in made.sections]
    assert titles == ["Over an epoch", "What it costs", "Pair 1", "Pair 2"]  # each pair under both samplers
    names = [one.name for one in made.tables()] + [one.name for one in made.figures()]
    assert len(names) == len(set(names))
    facts = dict(made.facts)
    assert facts["command"] == "sahcns inspect runs/dns"
    assert films().fingerprint in facts["data"]
    assert "alpha 0.9" in facts["samplers looked at"]


def test_a_part_of_it_is_enough() -> None:
    whole = inspection()
    pair = Inspection(whole.model, 0, whole.pairs[:1])
    assert [one.name for one in inspection_report(pair).opening()] == ["profiles-1", "pool-1"]
    assert inspection_report(pair).title.startswith("Inside sahc:")
    assert f"{whole.pairs[0].negatives[0].score:.2f}" in verdict_of(pair)
    assert verdict_of(Inspection(whole.model, 0, diagnostics={"dns": whole.diagnostics["dns"]})).startswith(
        "The negatives of dns"
    )
    costs = Inspection(whole.model, 0, costs=COSTS)
    assert "sahc adds 20.0 ms" in verdict_of(costs)
    (table,) = inspection_report(costs).tables()
    assert list(table.rows[1]) == ["sahc", "10.0", "21.0", "20.0", "1,000.0", "+20.0", "2.00 %"]


def test_from_json_the_same_report_without_torch(tmp_path: Path) -> None:
    """What was measured on a GPU is drawn again anywhere."""
    (tmp_path / "seen.json").write_text(json.dumps(inspection().to_dict()), "utf-8")
    code = (
        "import json, sys\n"
        "from sahcns.lab import Inspection, inspection_report\n"
        "inspection = Inspection.from_dict(json.load(open(sys.argv[1], encoding='utf-8')))\n"
        "report = inspection_report(inspection, command='sahcns inspect runs/dns')\n"
        "assert 'torch' not in sys.modules\n"
        "print(report.sections, report.summary)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "seen.json")], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.strip() == f"{report().sections} {report().summary}"


def test_stored_results_of_the_study_load() -> None:
    files = {kind: sorted((RESULTS / kind).glob("*.json")) for kind in ("diagnostics", "efficiency")}
    assert all(files.values())
    for file in files["diagnostics"]:
        stored = Inspection.from_dict(json.loads(file.read_text("utf-8")))
        assert len(inspection_report(stored).tables()) >= 2
    for file in files["efficiency"]:
        for one in json.loads(file.read_text("utf-8"))["costs"]:
            assert json.loads(json.dumps(Cost.from_dict(one).to_dict())) == one
