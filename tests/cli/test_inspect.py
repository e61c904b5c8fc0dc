"""Looking inside a run from the command line."""

import dataclasses
import re
import textwrap
from pathlib import Path

import pytest

from sahcns.backbones import LightGCN
from sahcns.data import save_split
from sahcns.lab import Inspection, diagnose, inspect_pairs
from sahcns.model import Recommender, fit
from sahcns.samplers import SAHC
from sahcns.training import Protocol
from tests.cli.conftest import Sahcns, refused
from tests.model.films import films


@pytest.fixture(scope="module")
def model() -> Recommender:
    protocol = Protocol(epochs=10, batch=32, learning_rate=0.05)
    return fit(films(), LightGCN(dim=8, depth=2), SAHC(pool=6, alpha=0.7), protocol=protocol, device="cpu").recommender


@pytest.fixture
def run(model: Recommender, tmp_path: Path) -> Path:
    return model.save(tmp_path / "run")


def test_without_an_option_it_is_a_pair_and_an_epoch(sahcns: Sahcns, run: Path) -> None:
    done = sahcns("inspect", run)
    assert done.code == 0
    assert done.out.count("the pool under sahc") == 1
    assert "One epoch of" in done.out
    assert done.out.splitlines()[-1].startswith("The negatives of sahc score")


def test_pairs_are_those_of_python_and_every_number_is_shown(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    printed = sahcns("inspect", run, "--pairs", "2", "--seed", "3", "--json").json
    assert Inspection.from_dict(printed).pairs == tuple(inspect_pairs(model, seed=3, count=2, device="cpu"))
    assert (printed["diagnostics"], printed["run"], printed["data"], printed["files"]) == ({}, str(run), None, [])
    (view,) = inspect_pairs(model, user="p03", count=1, device="cpu")
    done = sahcns("inspect", run, "--user", "p03", "--item", str(view.item))
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[1] == ["item", "title", "a0", "a1", "a2", "μ", "σ", "z(μ)", "z(σ)", "q"]
    chosen = view.chosen[0]
    assert chosen.q is not None
    row = next(row for row in lines if row[:1] == [str(chosen.item)])
    assert row[4:9] == [f"{value:.3f}" for value in (*chosen.profile, chosen.mu, chosen.sigma)]
    assert row[9:12] == [f"{value:+.2f}" for value in (chosen.z_mu, chosen.z_sigma, chosen.q)]
    assert row[12].startswith("chosen")
    assert len(sahcns("inspect", run, "--user", "p03", "--json").json["pairs"]) == 3


def test_an_epoch_of_several_samplers_side_by_side(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    options = ("--samplers", "dns,sahc,mixgcf", "--set", "pool=5", "--set", "sahc.lambda_max=0.9", "--epoch")
    inspection = Inspection.from_dict(sahcns("inspect", run, *options, "--json").json)
    assert inspection.pairs == ()
    assert {label: one.sampler for label, one in inspection.diagnostics.items()} == {
        "dns": {"name": "dns", "pool": 5},
        "sahc": {"name": "sahc", "pool": 5, "alpha": 0.7, "lambda_max": 0.9},  # α is that of the run
        "mixgcf": {"name": "mixgcf", "pool": 5, "beta_low": 0.0, "beta_high": 1.0},
    }
    own = diagnose(model, sampler=SAHC(pool=5, alpha=0.7, lambda_max=0.9), device="cpu")
    assert inspection.diagnostics["sahc"].hardness == own.hardness
    assert sahcns("inspect", run, *options).out.splitlines()[1].split() == ["dns", "sahc", "mixgcf"]


OWN = '''
    from dataclasses import dataclass
    import sahcns

    @dataclass(frozen=True)
    class Softest(sahcns.Sampler):
        """The easiest."""
        name = "softest-to-inspect"
        share: float = sahcns.setting(0.0, "of the positive", low=0, high=1)

        def choose(self, match, rng):
            weight = match.p * 0 + self.share
            return sahcns.Mixture.blend(match.positives, match.chosen(match.scores.argmin(1)), weight)
'''


def test_a_sampler_of_one_s_own_and_the_page(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(textwrap.dedent(OWN))
    options = ("--import", mine, "--samplers", "softest-to-inspect,dns", "--set", "softest-to-inspect.share=0.25")
    inspection = Inspection.from_dict(sahcns("inspect", run, *options, "--epoch", "--pairs", "2", "--json").json)
    own, dns = inspection.diagnostics["softest-to-inspect"], inspection.diagnostics["dns"]
    assert own.sampler == {"name": "softest-to-inspect", "pool": 10, "share": 0.25}
    assert own.mixing.strength == pytest.approx((0.25, 0.25, 0.25))
    assert own.selection.mu < dns.selection.mu == pytest.approx(own.selection.mu_dns, rel=1e-6)  # other sums
    assert [view.sampler["name"] for view in inspection.pairs] == ["softest-to-inspect", "dns"] * 2  # pair by pair
    assert inspection.pairs[0].chosen[0].score == min(one.score for one in inspection.pairs[0].pool)
    done = sahcns("inspect", run, *options, "--html", tmp_path / "page.html")
    assert done.out.splitlines()[-1] == f"written to {tmp_path / 'page.html'}"
    page = (tmp_path / "page.html").read_text("utf-8")
    words = " ".join(re.sub("<[^>]+>", "", page).split())
    assert f"sahcns inspect {run} --samplers softest-to-inspect,dns" in words
    assert f"--import {mine}" in words  # without it the command on the page would be refused
    assert "the pool under softest-to-inspect" in page


def test_a_run_made_with_one_s_own_sampler_needs_its_file(sahcns: Sahcns, tmp_path: Path, model: Recommender) -> None:
    record = {**model.record, "sampler": {"name": "theirs", "pool": 10}, "imports": ["/home/them/theirs.py"]}
    dataclasses.replace(model, record=record).save(tmp_path / "run")
    assert "--import /home/them/theirs.py" in sahcns("inspect", tmp_path / "run").err
    assert sahcns("inspect", tmp_path / "run", "--sampler", "dns", "--pairs", "1").code == 0


def test_figures_as_files(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    done = sahcns("inspect", run, "--pairs", "1", "--figures", tmp_path / "figures", "--json")
    drawn = sorted((tmp_path / "figures").iterdir())
    assert [path.name for path in drawn] == ["profiles-1.pdf", "profiles-1.png", "profiles-1.svg"]
    assert sorted(done.json["files"]) == [str(path) for path in drawn]


def test_what_a_sampler_costs(sahcns: Sahcns, run: Path) -> None:
    printed = sahcns("inspect", run, "--samplers", "dns,sahc", "--cost", "--json").json
    assert [one["sampler"]["name"] for one in printed["costs"]] == ["dns", "sahc"]
    assert (printed["pairs"], printed["diagnostics"], printed["costs"][0]["extra"]) == ([], {}, 0)


def test_the_data_may_be_given(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    folder = save_split(films(), tmp_path / "films")
    done = sahcns("inspect", run, "--data", folder, "--pairs", "1", "--json")
    assert (done.err, done.json["data"]) == ("", str(folder))
    other = save_split(films(seed=1), tmp_path / "other")
    assert str(other) in refused(sahcns("inspect", run, "--data", other))


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--item", "104", "--item 104 needs --user"),
        ("--user", "p99", "user 'p99'"),
        ("--sampler", "sach", "did you mean 'sahc'"),
        ("--samplers", "dns,dns", "--samplers 'dns,dns'"),
        ("--set", "alhpa=0.1", "did you mean 'alpha'"),
        ("--set", "dns.pool=4", "--set 'dns.pool=4'"),
        ("--set", "alpha", "--set 'alpha'"),
        ("--set", "alpha=-1", "alpha=-1"),
        ("--device", "tpu", "device='tpu'"),
    ],
)
def test_a_mistake_is_one_sentence(sahcns: Sahcns, run: Path, option: str, value: str, words: str) -> None:
    done = sahcns("inspect", run, option, value)
    assert (done.code, done.out) == (2, "")
    assert words in done.err.splitlines()[-1]
    assert "Traceback" not in done.err
