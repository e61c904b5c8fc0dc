"""Training runs that are killed as they train, as they are kept and as they are saved; what comes out is as if in peace."""

import random
import signal
import time
from pathlib import Path

import pytest

from sahcns.backbones import LightGCN
from sahcns.model import Recommender, fit
from sahcns.samplers import Sampler
from sahcns.settings import named
from sahcns.training import Protocol, checkpoint
from tests.lab.killing import die_at_write, ended, forked
from tests.splits import random_split


def run(home: Path, sampler: str, kernels: str, at: int = 0, saving: bool = False) -> None:
    """Keep the run at every step, and die in the middle of the `at`-th file, of those of the model if `saving`."""
    checkpoint.Checkpoints.due = lambda self: True  # type: ignore[method-assign]  # this process has nothing else to do
    if at and not saving:
        die_at_write(at)
    made = fit(
        random_split(14, 30, each=4),
        LightGCN(dim=8),
        named(Sampler)[sampler](),
        protocol=Protocol(batch=16, epochs=4, evaluate_every=2),
        kernels=kernels,
        checkpoint=home / "kept",
        checkpoint_every=0.0,
    )
    if saving:
        die_at_write(at)
    made.recommender.save(home / "model")


def weights(home: Path) -> list[object]:
    model = Recommender.load(home / "model")
    return [{name: table.tolist() for name, table in model.weights.items()}, model.user_vectors.tolist()]


@pytest.mark.parametrize("kernels", ["auto", "reference"])
@pytest.mark.parametrize("sampler", ["sahc", "divns", "dens"])  # without a state, with one between epochs, with weights
def test_killed_in_the_middle_of_a_file(sampler: str, kernels: str, tmp_path: Path) -> None:
    assert ended(forked([__name__], run, tmp_path / "peace", sampler, kernels)) == 0
    for at, saving in ((1, False), (2, False), (8, False), (13, False), (2, True)):
        assert ended(forked([__name__], run, tmp_path, sampler, kernels, at, saving)) == -signal.SIGKILL
    assert ended(forked([__name__], run, tmp_path, sampler, kernels)) == 0
    assert weights(tmp_path) == weights(tmp_path / "peace")


def test_killed_at_random_moments(tmp_path: Path) -> None:
    began, chance, killed = time.monotonic(), random.Random(3), 0
    assert ended(forked([__name__], run, tmp_path / "peace", "bns", "auto")) == 0
    takes = time.monotonic() - began
    for _ in range(6):
        process = forked([__name__], run, tmp_path, "bns", "auto")
        process.join(chance.uniform(0.2, 0.9) * takes)
        process.kill()
        killed += ended(process) == -signal.SIGKILL
    assert killed
    assert ended(forked([__name__], run, tmp_path, "bns", "auto")) == 0
    assert weights(tmp_path) == weights(tmp_path / "peace")
