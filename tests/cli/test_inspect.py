"""Looking inside a run from the command line."""

import re
import sys
import textwrap
from pathlib import Path

import pytest

from sahcns.backbones import LightGCN
from sahcns.data import save_split
from sahcns.lab.inspection.diagnosing import diagnose
from sahcns.lab.inspection.pairs import inspect_pairs
from sahcns.lab.inspection.report import Inspection
from sahcns.model import Recommender
from sahcns.samplers import SAHC
from sahcns.training import Protocol, fit
from tests.cli.conftest import Sahcns, refused
from tests.model.films import films

HERE = "the pairs kept with the model are used\n"


@pytest.fixture(scope="module")
def model() -> Recommender:
    protocol = Protocol(epochs=10, batch=32, learning_rate=0.05)
    return fit(films(), LightGCN(dim=8, depth=2), SAHC(pool=6, alpha=0.7), protocol=protocol, device="cpu").recommender


@pytest.fixture
def run(model: Recommender, tmp_path: Path) -> Path:
    return model.save(tmp_path / "run")


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_without_a_wish_it_is_a_pair_and_an_epoch(sahcns: Sahcns, run: Path) -> None:
    done = sahcns("inspect", run)
    assert (done.code, done.err) == (0, HERE)
    assert done.out.count("the pool under sahc") == 1
    assert "One epoch of" in done.out
    assert "Strength λ by layer" in done.out


def test_pairs_are_those_of_python(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    found = sahcns("inspect", run, "--pairs", "2", "--seed", "3", "--json").json
    expected = inspect_pairs(model, seed=3, count=2, device="cpu")
    assert Inspection.from_dict(found).pairs == tuple(expected)
    assert found["diagnostics"] == {}
    assert (found["run"], found["data"], found["files"]) == (str(run), None, [])


def test_a_pair_is_shown_with_titles_and_every_number(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    (view,) = inspect_pairs(model, user="p03", count=1, device="cpu")
    done = sahcns("inspect", run, "--user", "p03", "--item", str(view.item))
    shown = lines(done.out)
    assert shown[0][:5] == ["user", "p03,", "positive", f"{view.item},", "Film"]
    assert shown[1] == ["item", "title", "a0", "a1", "a2", "μ", "σ", "z(μ)", "z(σ)", "q"]
    chosen = view.chosen[0]
    row = next(row for row in shown if row[:1] == [str(chosen.item)])
    assert row[1:4] == ["Film", str(chosen.item), "☕"]
    assert row[4:7] == [f"{value:.3f}" for value in chosen.profile]
    assert row[7:9] == [f"{chosen.mu:.3f}", f"{chosen.sigma:.3f}"]
    assert chosen.q is not None
    assert row[9:12] == [f"{chosen.z_mu:+.2f}", f"{chosen.z_sigma:+.2f}", f"{chosen.q:+.2f}"]
    assert row[12].startswith("chosen")
    after = next(row for row in shown if row[:1] == ["negative"])
    assert after[1:] == [f"{value:.3f}" for value in (*view.negatives[0].profile, view.negatives[0].score)]
    assert len(sahcns("inspect", run, "--user", "p03", "--json").json["pairs"]) == 3


def test_an_epoch_of_several_samplers_side_by_side(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    asked = ("--samplers", "dns,sahc,mixgcf", "--set", "pool=5", "--set", "sahc.lambda_max=0.9", "--epoch")
    found = Inspection.from_dict(sahcns("inspect", run, *asked, "--json").json)
    assert found.pairs == ()
    assert {label: one.sampler for label, one in found.diagnostics.items()} == {
        "dns": {"name": "dns", "pool": 5},
        "sahc": {"name": "sahc", "pool": 5, "alpha": 0.7, "lambda_max": 0.9},  # α is that of the run
        "mixgcf": {"name": "mixgcf", "pool": 5, "beta_low": 0.0, "beta_high": 1.0},
    }
    own = diagnose(model, sampler=SAHC(pool=5, alpha=0.7, lambda_max=0.9), device="cpu")
    assert found.diagnostics["sahc"].hardness == own.hardness
    assert lines(sahcns("inspect", run, *asked).out)[1] == ["dns", "sahc", "mixgcf"]


def test_a_sampler_of_one_s_own_by_its_file_alone(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        textwrap.dedent(
            '''
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
        )
    )
    asked = ("--import", mine, "--samplers", "softest-to-inspect,dns", "--set", "softest-to-inspect.share=0.25")
    found = Inspection.from_dict(sahcns("inspect", run, *asked, "--epoch", "--pairs", "2", "--json").json)
    own, dns = found.diagnostics["softest-to-inspect"], found.diagnostics["dns"]
    assert own.sampler == {"name": "softest-to-inspect", "pool": 10, "share": 0.25}
    assert own.mixing.strength == pytest.approx((0.25, 0.25, 0.25))
    assert own.selection.mu < dns.selection.mu == pytest.approx(own.selection.mu_dns, rel=1e-6)  # other sums
    assert [view.sampler["name"] for view in found.pairs] == ["softest-to-inspect", "dns"] * 2  # pair by pair
    view = found.pairs[0]
    assert view.chosen[0].score == min(one.score for one in view.pool)
    assert (view.user, view.item, view.chosen) != (found.pairs[1].user, found.pairs[1].item, found.pairs[1].chosen)
    done = sahcns("inspect", run, *asked, "--html", tmp_path / "page.html")
    words = " ".join(re.sub("<[^>]+>", "", (tmp_path / "page.html").read_text("utf-8")).split())
    assert f"--import {mine}" in words  # without it the command on the page would be refused
    assert "the pool under softest-to-inspect" in done.out


def test_a_run_made_with_one_s_own_sampler_needs_its_file(sahcns: Sahcns, tmp_path: Path, model: Recommender) -> None:
    record = {**model.record, "sampler": {"name": "theirs", "pool": 10}, "imports": ["/home/them/theirs.py"]}
    Recommender(**{**vars(model), "record": record}).save(tmp_path / "run")
    sentence = refused_after(sahcns("inspect", tmp_path / "run").err)
    assert sentence == (
        "the model was trained with the sampler 'theirs', which is not known here; "
        "give --import /home/them/theirs.py, or name another sampler"
    )
    assert sahcns("inspect", tmp_path / "run", "--sampler", "dns", "--pairs", "1").code == 0


def refused_after(err: str) -> str:
    return err.removeprefix(HERE).removeprefix("error: ").rstrip("\n")


def test_the_page(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    done = sahcns("inspect", run, "--samplers", "dns,sahc", "--html", tmp_path / "page.html")
    assert done.code == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Hardness of the negatives" in page
    assert "the pool under dns" in page
    words = " ".join(re.sub("<[^>]+>", "", page).split())
    assert f"sahcns inspect {run} --samplers dns,sahc" in words
    assert lines(done.out)[-1] == ["written", "to", str(tmp_path / "page.html")]


def test_without_matplotlib_there_are_svgs_and_a_word_about_it(
    sahcns: Sahcns, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = sahcns("inspect", run, "--pairs", "1", "--figures", tmp_path / "f")
    assert "no PNG and no PDF, because matplotlib is not installed; pip install 'sahcns[plot]'\n" in done.err
    assert {path.suffix for path in (tmp_path / "f").iterdir()} == {".svg"}


def test_figures_as_files(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    done = sahcns("inspect", run, "--pairs", "1", "--figures", tmp_path / "figures", "--json")
    drawn = sorted((tmp_path / "figures").iterdir())
    assert [path.name for path in drawn] == ["profiles-1.pdf", "profiles-1.png", "profiles-1.svg"]
    assert sorted(done.json["files"]) == [str(path) for path in drawn]


def test_what_a_sampler_costs(sahcns: Sahcns, run: Path) -> None:
    found = sahcns("inspect", run, "--samplers", "dns,sa-only,sahc", "--cost", "--json").json
    assert [one["sampler"]["name"] for one in found["costs"]] == ["dns", "sa-only", "sahc"]
    assert (found["pairs"], found["diagnostics"]) == ([], {})
    assert found["costs"][0]["extra"] == 0


def test_the_data_may_be_given(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    folder = save_split(films(), tmp_path / "films")
    done = sahcns("inspect", run, "--data", folder, "--pairs", "1", "--json")
    assert done.err == ""
    assert done.json["data"] == str(folder)
    other = save_split(films(seed=1), tmp_path / "other")
    assert "holds other data" in refused(sahcns("inspect", run, "--data", other))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--item", "104"], "--item 104 needs --user ID"),
        (["--user", "p99"], "user 'p99' is not in the data; did you mean 'p"),
        (["--sampler", "sach"], "there is no sampler called 'sach'; did you mean 'sahc'?"),
        (["--samplers", "dns,dns"], "--samplers 'dns,dns' must be names with commas between, each once"),
        (["--set", "alhpa=0.1"], "sahc has no argument 'alhpa'; did you mean 'alpha'?"),
        (["--set", "dns.pool=4"], "--set 'dns.pool=4': dns is not looked at; there are: sahc"),
        (["--set", "alpha"], "--set 'alpha' must be NAME=VALUE"),
        (["--set", "alpha=-1"], "SAHC: alpha=-1.0 is not allowed; it must be >= 0"),
        (["--pairs", "0"], "invalid value for '--pairs'"),
        (["--device", "tpu"], "device='tpu' is not a device"),
    ],
)
def test_a_mistake_is_one_sentence(sahcns: Sahcns, run: Path, arguments: list[str], sentence: str) -> None:
    done = sahcns("inspect", run, *arguments)
    assert (done.code, done.out) == (2, "")
    assert refused_after(done.err).startswith(sentence)
    assert done.err.removeprefix(HERE).count("\n") == 1


def test_no_run(sahcns: Sahcns, tmp_path: Path) -> None:
    assert "is not a trained model" in refused(sahcns("inspect", tmp_path))
