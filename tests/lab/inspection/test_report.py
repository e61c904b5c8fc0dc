"""Tables, figures and the page of an inspection, from plain data alone."""

import json
import subprocess
import sys
from functools import cache
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sahcns.lab.inspection.cost import Cost
from sahcns.lab.inspection.diagnosing import diagnose
from sahcns.lab.inspection.diagnostics import Diagnostics
from sahcns.lab.inspection.figures import diagnostics_figures
from sahcns.lab.inspection.pair_view import PairView
from sahcns.lab.inspection.pairs import inspect_pairs
from sahcns.lab.inspection.rebuilt import Rebuilt
from sahcns.lab.inspection.report import Inspection, inspection_report
from sahcns.lab.inspection.tables import diagnostics_table, layer_table, pool_table, strength_table
from sahcns.lab.report.drawing import save
from sahcns.lab.report.page import to_html
from sahcns.lab.report.parts import Cell, Figure, Report, Table
from sahcns.samplers import DNS, RNS, SAHC, MixGCF, Sampler
from tests.lab.inspection.inspected import trained
from tests.model.films import films

SAMPLERS: list[Sampler] = [RNS(), DNS(), SAHC(alpha=0.9), MixGCF()]
COSTS = tuple(
    Cost({"name": name}, 0.01, choose, 0.02, 1.0, choose - 0.001, "cpu", "cpu", "eager", (1.0,))
    for name, choose in (("dns", 0.001), ("sahc", 0.021))
)


@cache
def seen() -> Inspection:
    model = Rebuilt.of(trained("lightgcn", split=films()), device="cpu")
    found = {one.name: diagnose(model, sampler=one) for one in SAMPLERS}
    views = inspect_pairs(model, sampler=SAHC(alpha=0.9), user="p03", count=2)
    return Inspection(model.about, 0, tuple(views), found, COSTS)


@cache
def report() -> Report:
    return inspection_report(seen(), command="sahcns inspect runs/dns")


def text(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def column(table: Table, name: str) -> dict[str, str]:
    """First column → that one; of two rows with one name the first."""
    at = [one.removeprefix(">") for one in table.columns].index(name)
    found: dict[str, str] = {}
    for row in table.rows:
        found.setdefault(text(row[0]), text(row[at]))
    return found


def test_samplers_stand_side_by_side() -> None:
    made = diagnostics_table(seen().diagnostics)
    assert list(made.columns) == ["", ">rns", ">dns", ">sahc", ">mixgcf"]
    sahc = seen().diagnostics["sahc"]
    shown = column(made, "sahc")
    assert shown["margin y⁺ - y⁻"] == f"{sahc.hardness.margin.mean:.3f}"
    assert shown["pools with a gap < 0.10"] == f"{100 * sahc.pools.near:.2f} %"
    assert sahc.selection.sigma_change is not None
    assert shown["discrepancy σ, to DNS"] == f"{100 * sahc.selection.sigma_change:+.2f} %"
    assert sahc.false_negatives.chosen is not None
    assert shown["false negatives"] == f"{100 * sahc.false_negatives.chosen:.2f} %"
    assert shown["margin, easy pools"] == f"{sahc.mixing.easy.before:.3f} → {sahc.mixing.easy.after:.3f}"
    assert column(made, "dns")["chosen as DNS"] == "100.00 %"
    assert column(made, "dns")["mean hardness μ, to DNS"] == "+0.00 %"
    assert column(made, "dns")["strength λ"] == "–"
    assert column(made, "rns")["chosen as DNS"] == "–"  # from a pool of one
    assert all(isinstance(row[0], Cell) and row[0].hint for row in made.rows)  # each number is explained
    assert "nothing was chosen by them" in made.caption


def test_notes_are_told() -> None:
    noted = Diagnostics.from_dict(seen().diagnostics["dns"].to_dict() | {"notes": ["its gates are untrained"]})
    assert "mine: its gates are untrained." in diagnostics_table({"mine": noted}).caption


def test_strength_by_layer_and_by_pool() -> None:
    made = strength_table(seen().diagnostics)
    assert made is not None
    assert [text(row[0]) for row in made.rows] == ["sahc", "", "", "mixgcf", "", ""]
    hard = seen().diagnostics["sahc"].mixing.hard
    assert [text(cell) for cell in made.rows[1]] == [
        *("", "hardest fifth", f"{hard.gap:.3f}"),
        *(f"{value:.3f}" for value in hard.strength),
    ]
    assert strength_table({"dns": seen().diagnostics["dns"]}) is None


def test_the_table_of_a_pool() -> None:
    view = seen().pairs[0]
    made = pool_table(view)
    assert list(made.columns) == [
        *("item", "title", ">a0", ">a1", ">a2", ">μ", ">σ", ">z(μ)", ">z(σ)", ">q", ""),
    ]
    assert made.title == f"user p03, positive {view.item}, Film {view.item} ☕: the pool under sahc"
    scores = [float(text(row[5])) for row in made.rows]
    assert scores == sorted(scores, reverse=True)
    marks = {text(row[0]): text(row[-1]) for row in made.rows}
    assert marks[str(view.chosen[0].item)].startswith("chosen")
    assert "DNS" in marks[str(view.dns.item)]
    best = [row for row in made.rows if isinstance(row[9], Cell) and row[9].mark == "best"]
    assert {text(row[0]) for row in best} == {str(view.chosen[0].item)}


def test_the_table_of_the_layers() -> None:
    view = seen().pairs[0]
    made = layer_table(view)
    names = [text(row[0]) for row in made.rows]
    assert names == [
        *("positive p", "hardest of the pool m", "gap g = p - m", "hardness ρ"),
        *("strength λ", "negative, before", "negative"),
    ]
    assert [text(cell) for cell in made.rows[6]] == [
        "negative",
        *(f"{value:.3f}" for value in view.negatives[0].profile),
        f"{view.negatives[0].score:.3f}",
    ]
    assert f"of {view.chosen[0].item}, Film {view.chosen[0].item} ☕" in made.caption
    assert "of the positive and" in made.caption


def test_without_titles_and_where_the_score_is_no_mean() -> None:
    (view,) = inspect_pairs(trained("ngcf"), sampler=DNS(pool=3), count=1, device="cpu")
    made = pool_table(view)
    assert "title" not in made.columns
    assert ">score" in made.columns  # the sum of three layers
    assert ">q" not in made.columns
    assert [text(row[0]) for row in layer_table(view).rows][4:] == ["negative"]


def test_figures_name_samplers_by_their_role() -> None:
    made = {figure.name: figure for figure in diagnostics_figures(seen().diagnostics)}
    assert set(made) >= {
        *("pool-gaps", "hardness", "scores", "push", "user-gradient", "against-dns"),
        *("strength-by-layer", "strength-by-gap", "easy-and-hard", "false-negatives"),
    }
    assert [(one.name, one.role) for one in made["hardness"].series] == [(name, name) for name in seen().diagnostics]
    assert [one.role for one in made["against-dns"].series] == ["sahc", "mixgcf"]  # DNS does not differ from itself
    assert [one.role for one in made["easy-and-hard"].series] == ["sahc", "mixgcf"]
    assert [one.name for one in made["pool-gaps"].series] == ["pool of 1", "pool of 10"]
    labelled = diagnostics_figures({"sahc, α = 0.9": seen().diagnostics["sahc"]})
    assert (labelled[-1].series[0].name, labelled[-1].series[0].role) == ("sahc, α = 0.9", "sahc")


def test_what_no_sampler_does_is_not_drawn() -> None:
    alone = {figure.name for figure in diagnostics_figures({"dns": seen().diagnostics["dns"]})}
    every = {figure.name for figure in diagnostics_figures(seen().diagnostics)}
    assert every - alone == {"against-dns", "strength-by-layer", "strength-by-gap", "easy-and-hard"}


def test_a_histogram_s_bars_are_its_shares() -> None:
    made = next(figure for figure in diagnostics_figures(seen().diagnostics) if figure.name == "hardness")
    dns = seen().diagnostics["dns"].hardness.margin.histogram
    series = made.series[1]
    assert series.name == "dns"
    shares = dict(zip(series.x, series.y, strict=True))
    for edge, share in zip(dns.edges, dns.shares, strict=False):
        assert shares.get(round(edge, 10), 0.0) == pytest.approx(100 * share)
    assert sum(series.y) == pytest.approx(
        100 * (1 - (dns.below + dns.above) / sum((*dns.counts, dns.below, dns.above)))
    )
    assert len({len(one.x) for one in made.series}) == 1
    assert any(one.y[0] > 0 for one in made.series)  # no bins that are empty in all of them


def test_easy_pools_stand_before_hard_ones_in_the_figure_and_in_words() -> None:
    made = next(figure for figure in diagnostics_figures(seen().diagnostics) if figure.name == "easy-and-hard")
    easy, hard = seen().diagnostics["sahc"].mixing.easy, seen().diagnostics["sahc"].mixing.hard
    assert list(made.series[0].x) == ["easy, before", "easy, after", "hard, before", "hard, after"]
    assert list(made.series[0].y) == [easy.before, easy.after, hard.before, hard.after]
    assert f"by {easy.reduction:.2f} in easy pools and by {hard.reduction:.2f} in hard ones" in report().summary[2]


def test_what_lies_outside_a_histogram_is_told() -> None:
    values = seen().diagnostics["dns"].to_dict()
    margin = values["hardness"]["margin"]
    margin["histogram"]["above"] = margin["count"] // 4
    made = diagnostics_figures({"dns": Diagnostics.from_dict(values)})
    share = (margin["count"] // 4 + margin["histogram"]["below"]) / margin["count"]
    captions = {figure.name: figure.caption for figure in made}
    assert captions["hardness"].endswith(f" Up to {100 * share:.1f} % lie outside the range shown.")


def test_strength_against_the_gap_runs_from_hard_to_easy() -> None:
    made = next(figure for figure in diagnostics_figures(seen().diagnostics) if figure.name == "strength-by-gap")
    sahc = seen().diagnostics["sahc"].mixing
    assert list(made.series[0].x) == [group.gap for group in sahc.tenths]
    assert made.series[0].y[0] == pytest.approx(sum(sahc.tenths[0].strength) / 3)


def test_the_report_has_everything_and_says_how_it_was_made() -> None:
    made = report()
    assert made.title.startswith("Inside rns, dns, sahc, mixgcf: a look at a lightgcn trained with dns")
    assert [section.title for section in made.sections][:2] == ["Over an epoch", "What it costs"]
    assert len(made.sections) == 4  # two pairs
    facts = dict(made.facts)
    assert facts["command"] == "sahcns inspect runs/dns"
    assert films().fingerprint in facts["data"]
    assert "alpha 0.9" in facts["samplers looked at"]
    assert len(made.summary) == 4
    names = [block.name for section in made.sections for block in section.blocks if not isinstance(block, str)]
    assert len(names) == len(set(names))


def test_the_page_and_the_files_can_be_made(tmp_path: Path) -> None:
    page = to_html(report())
    for figure in seen().figures():
        assert escape(figure.title) in page
        drawn = ElementTree.parse(save(figure, tmp_path / f"{figure.name}.svg")).getroot()
        assert drawn.tag.endswith("svg")
    assert "the pool under sahc" in page


def test_from_json_the_same_report_without_torch(tmp_path: Path) -> None:
    """What was measured on a GPU is drawn again anywhere."""
    (tmp_path / "seen.json").write_text(json.dumps(seen().to_dict()), "utf-8")
    code = (
        "import json, sys\n"
        "from sahcns.lab.inspection import Inspection, inspection_report\n"
        "seen = Inspection.from_dict(json.load(open(sys.argv[1], encoding='utf-8')))\n"
        "report = inspection_report(seen, command='sahcns inspect runs/dns')\n"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules\n"
        "print(repr(report))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "seen.json")], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.strip() == repr(report())


def test_costs_are_told_beside_the_first() -> None:
    made = next(table for table in seen().tables() if table.name == "cost")
    assert ">beyond dns ms" in made.columns
    assert [text(cell) for cell in made.rows[1]] == ["sahc", "10.0", "21.0", "20.0", "1,000.0", "+20.0", "2.00 %"]
    assert COSTS[1].forward == pytest.approx(0.051)


def test_a_pair_under_several_samplers_is_one_section() -> None:
    views = [inspect_pairs(trained("lightgcn"), sampler=one, count=2, device="cpu") for one in (DNS(), SAHC())]
    each = tuple(view for of_pair in zip(*views, strict=True) for view in of_pair)
    made = inspection_report(Inspection(seen().model, 0, each))
    assert [section.title.partition(":")[0] for section in made.sections] == ["Pair 1", "Pair 2"]
    names = [[block.name for block in section.blocks if isinstance(block, Table)] for section in made.sections]
    assert names == [["pool-1", "layers-1", "pool-2", "layers-2"], ["pool-3", "layers-3", "pool-4", "layers-4"]]
    assert "the pool under sahc" in [block.title for block in made.sections[1].blocks if isinstance(block, Table)][2]


def test_one_view_or_one_sampler_is_enough() -> None:
    whole = seen()
    pairs_only = Inspection(whole.model, 0, whole.pairs[:1])
    assert [table.name for table in pairs_only.tables()] == ["pool-1", "layers-1"]
    assert [figure.name for figure in pairs_only.figures()] == ["profiles-1"]
    assert inspection_report(pairs_only).title == "Inside dns: a look at a lightgcn trained with dns"
    assert isinstance(pairs_only.figures()[0], Figure)
    assert isinstance(pairs_only.pairs[0], PairView)
