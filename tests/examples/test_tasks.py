"""One example for each task, on a small set: it runs, and says what it found."""

import re
from pathlib import Path

import pytest

from sahcns import RNS, LightGCN, Protocol, Recommender, fit
from tests.examples.loading import EXAMPLES, example
from tests.model.films import films
from tests.serving.test_app import running


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_from_a_file_to_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = example("train_from_file")
    shop.main(shop.made_up(tmp_path / "orders.csv", customers=60), tmp_path / "run", epochs=3)
    lines = shown(capsys)
    assert lines[0].startswith("60 customers")
    assert sum(line.startswith("c000: ") for line in lines) == 5
    assert sum(line.startswith("somebody new with two teas: ") for line in lines) == 3
    assert Recommender.load(tmp_path / "run").record["data"]["valid"] == 0  # it has learnt from everything


def test_comparing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # the second time nothing is left to run
        example("compare_samplers").main(films(), tmp_path / "study", seeds=2, epochs=2)
    first, second = (lines := shown(capsys))[: len(lines) // 2], lines[len(lines) // 2 :]
    assert first == second
    assert len(re.findall(r"recall@20 \d+\.\d\d%", "\n".join(first))) == 4
    assert sum("behind" in line for line in first) == 3


def test_tuning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("tune_sampler").main(films(), tmp_path / "search", trials=2, epochs=2)
    lines = shown(capsys)
    assert [line.partition(":")[0] for line in lines] == ["dns", "sahc", "dns", "sahc"]
    assert all("on validation" in line for line in lines[:2])
    assert all("on the test part" in line for line in lines[2:])


def test_asking_a_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    protocol = Protocol(epochs=2, batch=64)
    fit(films(), LightGCN(dim=4), RNS(), protocol=protocol, device="cpu").recommender.save(tmp_path / "films")
    with running(tmp_path / "films") as service:
        example("serve_client").main(f"http://127.0.0.1:{service.port}")
    lines = shown(capsys)
    assert lines[0] == "films: 24 people, 20 things"
    assert sum(line.startswith("    Film ") for line in lines) == 9
    assert lines[-1].startswith("refused with 404: ")


def test_explaining(capsys: pytest.CaptureFixture[str]) -> None:
    example("explain_lists").main(films(), epochs=2)
    lines = shown(capsys)
    scores = [float(found[1]) for line in lines if (found := re.search(r"score (-?[\d.]+)", line))]
    totals = [float(found[1]) for line in lines if (found := re.search(r"together: (-?[\d.]+)", line))]
    assert len(scores) == len(totals) == 3
    assert totals == pytest.approx(scores, abs=0.002)
    assert "because of" in lines[-1]


def test_every_example_is_run_by_a_test() -> None:
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parents[1].rglob("test_*.py"))
    assert [path.stem for path in EXAMPLES.glob("*.py") if f'example("{path.stem}")' not in tests] == []
