"""The first example of the docs: ten lines make a sampler, in a script and on the command line."""

import ast
import json
import re
from pathlib import Path

import pytest

from sahcns import DNS, MF, LightGCN, Protocol, fit
from sahcns.cli import COMMANDS, HELP
from sahcns.cli.group import run
from sahcns.data import save_split
from tests.examples.loading import EXAMPLES, example
from tests.model.films import films

QUICK = Protocol(epochs=2, batch=64)


def test_it_trains_on_any_backbone() -> None:
    mine = example("my_sampler").SometimesHard
    for backbone in (LightGCN(dim=4), MF(dim=4)):
        made = fit(films(), backbone, mine(share=0.7), protocol=QUICK, device="cpu")
        assert made.record.sampler == {"name": "sometimes-hard", "pool": 10, "share": 0.7}
        assert len(made.recommender.recommend(["p03"], 3)[0]) == 3


def test_always_hard_is_dns_and_never_hard_is_not() -> None:
    mine = example("my_sampler").SometimesHard
    samplers = (mine(share=1.0), DNS(), mine(share=0.0))
    losses = [
        [entry["loss"] for entry in fit(films(), LightGCN(dim=4), sampler, protocol=QUICK).record.history]
        for sampler in samplers
    ]
    assert losses[0] == losses[1] != losses[2]


def test_it_is_ten_lines() -> None:
    tree = ast.parse((EXAMPLES / "my_sampler.py").read_text("utf-8"))
    sampler = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    assert sampler.end_lineno is not None
    assert sampler.end_lineno - sampler.lineno + 2 <= 11  # with its decorator and its blank lines


def test_on_the_command_line(tmp_path: Path) -> None:
    data = save_split(films(), tmp_path / "films")
    line = ["train", str(data), "--import", str(EXAMPLES / "my_sampler.py"), "--sampler", "sometimes-hard"]
    more = ["--set", "share=0.25", "--epochs", "1", "--batch", "64", "--out", str(tmp_path / "run")]
    assert run(COMMANDS, HELP, line + more) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    assert record["sampler"] == {"name": "sometimes-hard", "pool": 10, "share": 0.25}


def test_the_script_itself_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example("my_sampler").main(films(), epochs=1)
    shown = capsys.readouterr().out.splitlines()
    assert [line[:10] for line in shown] == ["share 0.0:", "share 0.5:", "share 1.0:"]
    assert all(re.search(r"test recall@20 \d+\.\d\d%, ndcg@20 \d+\.\d\d%$", line) for line in shown)
