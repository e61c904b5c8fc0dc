"""`sahcns compare`: what is asked for is run, once; what goes wrong is said; the table stands at the end."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from sahcns.files import json_lines
from sahcns.lab.grid.result import results_in
from tests.cli.conftest import Sahcns, refused
from tests.model.films import films
from tests.own_samplers import RAISING, SOFTEST, write_samplers

QUICK = ("--epochs", "2", "--batch", "64", "--set", "backbone.dim=4", "--device", "cpu", "--seeds", "2")


def rows(folder: Path) -> list[tuple[str, str, int]]:
    return [(result.backbone["name"], result.label, result.seed) for result in results_in(folder)]


def test_the_whole_grid_is_run_and_its_table_shown(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    asked = ("compare", prepared, *QUICK, "--samplers", "rns,sahc", "--backbones", "mf,lightgcn", "--out", out)
    done = sahcns(*asked, "--set", "sahc.alpha=0.7", "--set", "pool=4", "--set", "backbone.lightgcn.depth=1")
    assert done.code == 0
    wanted = [
        (model, label, seed) for model in ("lightgcn", "mf") for label in ("rns", "sahc") for seed in (2020, 2021)
    ]
    assert rows(out) == wanted
    for result in results_in(out):
        assert result.sampler["pool"] == (1 if result.label == "rns" else 4)
        assert result.sampler.get("alpha") == (0.7 if result.label == "sahc" else None)
        assert result.backbone["dim"] == 4
        assert result.backbone["depth"] == (1 if result.backbone["name"] == "lightgcn" else 0)
        assert (result.protocol["epochs"], result.protocol["batch"]) == (2, 64)
    kept, *lines = done.err.splitlines()
    assert kept == "rns: its pool stays 1; it draws negatives, not candidates (--set rns.pool=… changes it)"
    assert lines[0] == "8 runs: 2 samplers × 2 backbones × 2 seeds on films"
    assert len(lines) == 9
    assert lines[1].startswith("films mf rns seed 2020: recall@20 ")
    assert lines[8].split("; ")[1] == "8 of 8 runs"

    for word in ("rns", "sahc", "lightgcn", "mf"):
        assert word in done.out.lower()
    assert f"8 runs in {out}; for a page of it: sahcns report {out}" in done.out
    again = sahcns(*asked, "--set", "sahc.alpha=0.7", "--set", "pool=4", "--set", "backbone.lightgcn.depth=1")
    assert (again.code, again.out, again.err.splitlines()) == (0, done.out, [kept, lines[0]])


def test_json_holds_results_tables_and_failures(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    done = sahcns("compare", prepared, *QUICK, "--samplers", "rns,dns", "--out", tmp_path / "study", "--json")
    assert (done.code, done.err) == (0, "")
    told = done.json
    assert [(one["label"], one["seed"]) for one in told["results"]] == [
        *(("rns", 2020), ("rns", 2021), ("dns", 2020), ("dns", 2021))
    ]
    assert "history" not in told["results"][0]
    assert told["results"][0]["test"]["best"]["recall@20"] >= 0
    assert told["failures"] == []
    assert told["tables"][0]["rows"]


def test_a_users_sampler_and_one_that_fails(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    write_samplers(tmp_path / "own.py", {"softest-compared": SOFTEST, "broken-compared": RAISING})
    own = ("--import", tmp_path / "own.py", "--samplers", "broken-compared,rns,softest-compared", "--workers", "2")
    done = sahcns("compare", prepared, *QUICK, *own, "--out", tmp_path / "study")
    assert done.code == 1
    assert rows(tmp_path / "study") == [
        ("lightgcn", label, seed) for label in ("rns", "softest-compared") for seed in (2020, 2021)
    ]
    warned = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 2
    assert warned[0].startswith("warning: lightgcn-broken-compared-s2020-")
    assert warned[0].endswith(" failed: RuntimeError: it is broken (own.py, line 21)")
    assert done.err.endswith(f"\nwhere in the code: {tmp_path / 'study' / 'failed'}\n")
    for path in (tmp_path / "study" / "failed").iterdir():
        assert "own.py" in json.loads(path.read_text("utf-8"))["traceback"]
    alone = ("--import", tmp_path / "own.py", "--samplers", "broken-compared")
    told = refused(sahcns("compare", prepared, *QUICK, *alone, "--out", tmp_path / "study", "--json"))
    assert told.startswith("every run failed: RuntimeError: it is broken (own.py, line 21); where in the code: ")
    assert told.endswith(str(tmp_path / "study" / "failed"))
    assert "softest-compared" in done.out


ONCE = """
if not (mark := Path(__file__).with_suffix(".tried")).exists():
    mark.touch()
    raise RuntimeError("not yet")
return match.pick(match.scores.argmin(1))
"""


def test_rows_stand_as_they_were_named_and_the_first_is_the_reference_whatever_failed(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    """Else a run that failed, or the order of names in a report, would decide what the others are tested against."""
    write_samplers(tmp_path / "once.py", {"x-once": ONCE})
    out = tmp_path / "study"
    own = ("--import", tmp_path / "once.py", "--samplers", "x-once,dns,rns")
    asked = ("compare", prepared, *QUICK, *own, "--out", out)
    done = sahcns(*asked)
    assert done.code == 1
    for told in (done.out, sahcns(*asked).out):
        assert "Each method against x-once" in told
        assert f"for a page of it: sahcns report {out} --samplers x-once,dns,rns\n" in told
    sahcns("report", out, "--samplers", "x-once,dns,rns", "--tables", tmp_path / "tables")
    assert "Each method against x-once" in (tmp_path / "tables" / "pairwise.md").read_text("utf-8")


def test_a_row_that_is_named_anew_is_not_run_again_and_reports_have_the_new_name(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    for label in ("first", "second, with a comma"):
        rows_of = f'samplers = ["rns", {{ name = "dns", label = "{label}" }}]\n'
        (tmp_path / "plan.toml").write_text(f'data = "{prepared}"\nout = "study"\n{rows_of}')
        done = sahcns("compare", "--config", tmp_path / "plan.toml", *QUICK)
        assert done.code == 0
        assert rows(tmp_path / "study") == [
            ("lightgcn", row, seed) for row in sorted((label, "rns")) for seed in (2020, 2021)
        ]
    assert len(done.err.splitlines()) == 1  # nothing was run
    assert done.out.endswith(f"sahcns report {tmp_path / 'study'}\n")  # a comma would part the name


STUDY = """
data = "films"
out = "study"
seeds = [7, 9]
device = "cpu"
baseline = "rns"
samplers = ["rns", {name = "dns", label = "dns-3", pool = 3}, {name = "dns", label = "dns-5", pool = "5"}]
backbones = [{name = "mf", dim = 4}]

[protocol]
epochs = 2
batch = 64
"""


@pytest.mark.parametrize("name", ["study.toml", "study.yaml"])
def test_a_file_holds_a_whole_comparison(sahcns: Sahcns, prepared: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(STUDY if name.endswith("toml") else yaml.safe_dump(tomllib.loads(STUDY)))
    assert sahcns("compare", "--config", tmp_path / name).code == 0
    assert rows(tmp_path / "study") == [("mf", label, seed) for label in ("dns-3", "dns-5", "rns") for seed in (7, 9)]
    pools = {result.label: result.sampler["pool"] for result in results_in(tmp_path / "study")}
    assert pools == {"rns": 1, "dns-3": 3, "dns-5": 5}
    options = ("--seeds", "1", "--samplers", "dns,rns", "--epochs", "1", "--set", "backbone.mf.dim=2")
    assert sahcns("compare", "--config", tmp_path / name, *options, "--out", tmp_path / "mine").code == 0
    assert rows(tmp_path / "mine") == [("mf", "dns", 2020), ("mf", "rns", 2020)]
    (result, _) = results_in(tmp_path / "mine")
    assert (result.protocol["epochs"], result.protocol["batch"], result.backbone["dim"]) == (1, 64, 2)


def main_table(told: Any) -> list[list[Any]]:
    return [[cell if isinstance(cell, str) else cell["text"] for cell in row] for row in told["tables"][0]["rows"]]


def test_a_row_may_be_trained_otherwise_than_the_others_and_the_table_says_so(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    out, model = tmp_path / "study", ("--backbones", "lightgcn", "--seeds", "3")
    asked = ("--samplers", "dns,sahc", "--row", "dns pool=3 protocol.l2=1e-2", "--row", "rns label=soft objective="
             "sampled-softmax objective.temperature=0.2 backbone.depth=1", "--set", "sahc.protocol.l2=0.5")  # fmt: skip
    done = sahcns("compare", prepared, *QUICK, *model, *asked, "--out", out, "--json")
    assert done.code == 0
    base = {"protocol.l2": 0.0001, "objective": "bpr", "backbone.depth": 3}
    wanted = {
        "dns": base,
        "dns (pool=3, protocol.l2=1e-2)": base | {"protocol.l2": 0.01},
        "sahc": base | {"protocol.l2": 0.5},
        "soft": base | {"objective": "sampled-softmax", "objective.temperature": 0.2, "backbone.depth": 1},
    }
    results = results_in(out)
    assert {one.label: {name: one.around[name] for name in wanted[one.label]} for one in results} == wanted
    table = main_table(done.json)
    assert [row[:2] for row in table] == [
        ["dns", "backbone.depth=3, objective=bpr, l2=0.0001"],
        ["sahc", "backbone.depth=3, objective=bpr, l2=0.5"],
        ["dns (pool=3, protocol.l2=1e-2)", "backbone.depth=3, objective=bpr, l2=0.01"],
        [
            "soft",
            "backbone.depth=1, objective=sampled-softmax, objective.ranking=dot, objective.similarity=cosine, "
            "objective.temperature=0.2, l2=0.0001",
        ],
    ]
    assert "l2" not in done.json["tables"][0]["caption"].partition("protocol: ")[2].replace("l2_on", "")
    assert len(done.json["tables"][1]["rows"]) == 3 * 4  # all of one place, so each is held against sahc
    report = sahcns("report", out, "--tables", tmp_path / "tables")
    assert report.code == 0
    page = (out / "report.html").read_text("utf-8")
    assert "Held against sahc in Recall@20 on films with lightgcn: " in page
    assert "sahcns compare --config study.yaml" in page


def test_a_file_may_hold_rows_of_their_own_and_an_objective_for_all(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(
        'data = "films"\nout = "study"\nseeds = [7]\nbackbones = ["mf"]\nmargin = 1\n'
        'samplers = [{name = "dns", protocol = {l2 = 0.5}}, {name = "dns", "protocol.epochs" = 1}, "rns"]\n'
        '[objective]\nname = "sampled-softmax"\ntemperature = 0.3\n'
    )
    done = sahcns("compare", "--config", tmp_path / "study.toml", *QUICK, "--seeds", "7,", "--json")
    assert done.code == 0
    assert {
        one["label"]: (one["protocol"]["l2"], one["protocol"]["epochs"], one["objective"]["temperature"])
        for one in done.json["results"]
    } == {"dns (protocol.l2=0.5)": (0.5, 2, 0.3), "dns (protocol.epochs=1)": (0.0001, 1, 0.3), "rns": (0.0001, 2, 0.3)}
    assert all(
        words in done.json["tables"][0]["caption"]
        for words in ("objective sampled-softmax", "objective.temperature 0.3")
    )


def test_the_margin_of_equivalence_is_an_option(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    quick = ("compare", prepared, *QUICK, "--seeds", "3", "--samplers", "rns,dns", "--learning-rate", "0.05")
    said = {}
    for margin in ("0.1", "99"):
        done = sahcns(*quick, "--margin", margin, "--out", tmp_path / "study", "--json")
        pairs = done.json["tables"][1]
        said[margin] = {row[pairs["columns"].index("Verdict")]["text"] for row in pairs["rows"]}
        assert f"less than {margin} points" in pairs["caption"]
    assert "not resolved" in said["0.1"]
    assert said["99"] == {"equivalent"}
    assert "margin=-1.0" in refused(sahcns("report", tmp_path / "study", "--margin", "-1"))


def test_tuned_settings_hold_where_they_were_tuned_and_what_is_unfair_is_said(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    """One that was tuned beside one that was not, or settings of short trials in long runs, would look like any other."""
    file = tmp_path / "tuned.json"
    tuned: dict[str, Any] = {
        "format": "sahcns-tuned",
        "format_version": 1,
        "data": {"name": "films", "fingerprint": films().fingerprint},
        "backbone": {"name": "mf", "dim": 5},
        "protocol": {"epochs": 7, "mask": "train+valid"},
        "samplers": {"sahc": {"alpha": 0.9, "lambda_max": 0.1}},
    }
    file.write_text(json.dumps(tuned))
    asked = ("compare", prepared, *QUICK, "--seeds", "1", "--samplers", "dns,mixgcf,sahc", "--tuned", file)
    done = sahcns(*asked, "--backbones", "mf", "--set", "sahc.lambda_max=0.2", "--out", tmp_path / "study", "--json")
    assert done.code == 0
    (own,) = (one.sampler for one in results_in(tmp_path / "study") if one.label == "sahc")
    assert (own["alpha"], own["lambda_max"]) == (0.9, 0.2)
    *unfair, other = done.err.splitlines()
    assert [line.partition(" has no tuned settings")[0] for line in unfair] == ["dns", "mixgcf"]
    assert "epochs 7 (here 2), dim 5 (here 4)" in other
    assert "sahc with mf on films" in refused(sahcns(*asked, "--backbones", "lightgcn", "--out", tmp_path / "x"))


def test_other_kernels_are_another_table_and_other_sources_are_named(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = ("compare", prepared, *QUICK, "--seeds", "1", "--backbones", "mf", "--out", tmp_path / "study")
    monkeypatch.setenv("SAHCNS_COMMIT", "older")
    assert sahcns(*quick, "--samplers", "rns").code == 0
    path = next((tmp_path / "study" / "runs").iterdir())
    on_a_gpu = path.read_text().replace('"kernels": "cpu"', '"kernels": "triton"')
    path.write_text(json_lines(json.loads(on_a_gpu)))
    monkeypatch.setenv("SAHCNS_COMMIT", "newer")
    done = sahcns(*quick, "--samplers", "rns,dns", "--json")
    assert "kernels: triton and cpu" in done.err
    assert "commit newer" in done.err
    main = [one for one in done.json["tables"] if one["name"].startswith("comparison")]
    assert [[row[0] for row in one["rows"]] for one in main] == [["rns"], ["dns"]]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--samplers", "rns,sach"], "'sahc'"),
        (["--samplers", "rns,rns"], "'rns,rns'"),
        (["--samplers", ","], "--samplers ','"),
        (["--backbones", "mf,mf"], "'mf,mf'"),
        (["--seeds", "many"], "--seeds 'many'"),
        (["--seeds", "2020"], "--seeds 2020,"),
        (["--seeds", "3,3"], "[3, 3]"),
        (["--set", "alpha"], "--set 'alpha'"),
        (["--set", "shac.alpha=1"], "'sahc'"),
        (["--set", "backbone.ngcf.dim=1"], "'backbone.ngcf'"),
        (["--set", "alpha=1"], "rns has no argument 'alpha'"),
        (["--set", "sahc.alpha=-1"], "alpha=-1.0"),
        (["--baseline", "dnss"], "'dns'"),
        (["--kernels", "refrence"], "'reference'"),
        (["--objective", "brp"], "'bpr'"),
        (["--row", "pool=3"], "--row 'pool=3'"),
        (["--row", "dns prtocol.l2=3"], "'protocol.l2'"),
        (["--row", "dns protocol.l3=3"], "'l3'"),
        (["--row", "dns protocol.mask=train+valid"], "protocol.mask"),
        (["--row", "dns objective=brp"], "'bpr'"),
        (["--row", "dns", "--row", "dns"], "'dns'"),
        (["--tuned", "nowhere.json"], "nowhere.json"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--on", "ray://10.0.0.1:10001"], "ray://"),
        (["--on", "nowhere"], "on='nowhere'"),
    ],
)
def test_a_mistake_is_named_before_anything_runs(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, arguments: list[str], named: str
) -> None:
    done = sahcns("compare", prepared, "--json", "--out", tmp_path / "study", *arguments)
    assert named in refused(done)
    assert not (tmp_path / "study" / "runs").exists()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("sampler = 'rns'", "'samplers'"),
        ("seeds = 'five'", "seeds='five'"),
        ("samplers = [{alpha = 1}]", "samplers"),
        ("data = 3", "data=3"),
        ("protocol = 3", "protocol=3"),
        ("samplers = [{name = 'dns', protocol = 3}]", "'protocol'"),
        ("samplers = [{name = 'dns', objective = 'brp'}]", "'bpr'"),
        ("margin = 'wide'", "margin='wide'"),
        ("[protocol]\nepoch = 1", "'epochs'"),
    ],
)
def test_a_mistake_in_a_file_is_named(sahcns: Sahcns, prepared: Path, tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "study.toml").write_text(text)
    done = sahcns("compare", prepared, "--json", "--config", tmp_path / "study.toml", "--out", tmp_path / "study")
    assert named in refused(done)


def test_data_and_place_are_asked_for(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    assert "no data" in refused(sahcns("compare", "--out", tmp_path / "x"))
    assert "--out FOLDER" in refused(sahcns("compare", prepared))
    assert "a prepared set" in refused(sahcns("compare", prepared, "--out", prepared))


def test_ctrl_c_keeps_what_is_finished(prepared: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    code = textwrap.dedent(
        f"""
        from sahcns.cli import main
        main(["compare", {str(prepared)!r}, "--epochs", "3", "--batch", "64", "--samplers", "rns,dns",
              "--seeds", "400", "--backbones", "mf", "--set", "backbone.dim=4", "--device", "cpu", "--out", {str(out)!r}])
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    deadline = time.monotonic() + 60
    while len(list((out / "runs").glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=60)
    assert (process.returncode, shown) == (130, "")
    assert said.splitlines()[-2:] == [
        f"what is finished is kept in {out}; the same command goes on from there",
        "error: interrupted",
    ]
    assert len(results_in(out)) >= 2
    assert list((out / "claims").iterdir()) == []
