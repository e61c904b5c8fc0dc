"""`train --nproc`: one model from two processes, of which one is killed on the way; and what is refused before any starts."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sahcns.data import save_split
from sahcns.model import Recommender
from tests.cli.conftest import Sahcns, refused
from tests.cli.short_runs import QUICK, record_of
from tests.splits import random_split

MORTAL = """
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import sahcns
from sahcns.training.checkpoint import Checkpoints

HOME = Path(__file__).parent
if "RANK" in os.environ:  # and not where the command is only given
    Checkpoints.due = lambda self: True  # at each step


@dataclass(frozen=True)
class Mortal(sahcns.DNS):
    name = "mortal"

    def choose(self, match, rng):
        rank, killed = os.environ.get("RANK"), HOME / "killed"
        with open(HOME / f"epochs.{rank}", "a") as file:
            print(int(match.epoch), file=file)
        if rank == "1" and match.epoch == 2 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().choose(match, rng)
"""


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    return save_split(random_split(20, 16, each=6), tmp_path / "set")


def test_two_processes_of_which_one_is_killed_end_as_one(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    own = tmp_path / "mortal.py"
    own.write_text(MORTAL)
    how = [
        "train",
        str(prepared),
        *QUICK,
        "--import",
        str(own),
        "--sampler",
        "mortal",
        "--epochs",
        "4",
        "--batch",
        "32",
    ]
    command = [sys.executable, "-m", "sahcns", *how, "--nproc", "2", "--fresh", "--out", str(tmp_path / "two")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "process 1 of 2 was ended by SIGKILL" in done.stderr
    assert done.stdout.count("saved in") == 1
    assert not (tmp_path / "two.checkpoint").exists()
    epochs = [int(line) for line in (tmp_path / "epochs.1").read_text().split()]
    assert epochs[-1] == 3
    assert epochs == sorted(epochs), "it began anew"
    assert sahcns(*how, "--out", tmp_path / "one").code == 0
    one, two = (Recommender.load(tmp_path / name) for name in ("one", "two"))
    torch.testing.assert_close(two.user_vectors, one.user_vectors, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(two.weights["ego"], one.weights["ego"], rtol=1e-5, atol=1e-5)
    assert record_of(tmp_path / "two")["machine"]["processes"] == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--set", "backbone.dim=5"], "dim=5"),
        (["--backbone", "ngcf"], "NGCF"),
        (["--device", "cuda:0"], "cuda:0"),
    ],
)
def test_what_no_processes_are_started_for(options: list[str], says: str, sahcns: Sahcns, prepared: Path) -> None:
    done = sahcns("train", prepared, *QUICK, "--nproc", "2", *options, "--out", prepared.parent / "run")
    assert says in refused(done)


def test_a_file_of_orders_is_prepared_first(sahcns: Sahcns, tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("user,item\n1,2\n")
    assert "data prepare" in refused(
        sahcns("train", tmp_path / "orders.csv", "--nproc", "2", "--out", tmp_path / "run")
    )
