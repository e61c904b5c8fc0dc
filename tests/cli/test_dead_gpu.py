"""A GPU that does not answer any more is one sentence, whatever the command was at."""

from pathlib import Path

import pytest

from sahcns.backbones import LightGCN
from sahcns.model import fit
from sahcns.samplers import DNS
from sahcns.training import Protocol
from tests.cli.conftest import Done, Sahcns
from tests.cli.short_runs import QUICK
from tests.lab.played_gpu import SAYS, SENTENCE, played_gpu
from tests.model.films import films


@pytest.fixture
def run(tmp_path: Path) -> Path:
    protocol = Protocol(epochs=1, batch=64)
    return fit(films(), LightGCN(dim=4), DNS(pool=4), protocol=protocol, device="cpu").recommender.save(
        tmp_path / "run"
    )


def is_the_sentence(done: Done) -> bool:
    said = [line for line in done.err.splitlines() if line.startswith("error: ")]
    return (done.code, done.out, said) == (2, "", [f"error: {SENTENCE}"]) and "Traceback" not in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("train", "DATA", *QUICK, "--sampler", "deadly-on-gpu", "--out", "OUT"),
        ("compare", "DATA", *QUICK, "--samplers", "deadly-on-gpu,dns", "--out", "OUT"),
        ("tune", "DATA", *QUICK, "--samplers", "deadly-on-gpu", "--out", "OUT"),
        ("bench", "DATA", "--sampler", "deadly-on-gpu", "--device", "cpu"),
        ("inspect", "RUN", "--samplers", "deadly-on-gpu", "--device", "cpu"),
    ],
    ids=lambda words: words[0],
)
def test_where_a_sampler_is_at_work(
    sahcns: Sahcns, prepared: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    gpu = played_gpu(tmp_path, monkeypatch)
    gpu.arm("parent")
    places = {"DATA": prepared, "RUN": run, "OUT": tmp_path / "out"}
    done = sahcns(*(places.get(word, word) for word in words), "--import", gpu.file)
    assert is_the_sentence(done), done


def test_where_a_model_is_ranked_again(sahcns: Sahcns, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*tables: object) -> None:
        raise RuntimeError(SAYS)

    monkeypatch.setattr("sahcns.ranking.evaluate", broken)
    monkeypatch.setattr("sahcns.training.device.fault_of", lambda device: SAYS)
    assert is_the_sentence(sahcns("evaluate", run, "--device", "cpu"))
