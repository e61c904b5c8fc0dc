"""The card that is written with a model: what it says, and that it is nobody's input."""

from pathlib import Path

from sahcns.backbones import MF
from sahcns.model import Recommender, fit
from sahcns.training import Protocol
from tests.model.films import films
from tests.model.test_recommender import made


def test_it_says_what_the_record_and_the_lists_say(tmp_path: Path) -> None:
    run = fit(films(), MF(dim=4), protocol=Protocol(epochs=2, batch=64))
    text = (run.recommender.save(tmp_path / "run") / "MODEL.md").read_text("utf-8")
    assert (
        f"| recall@20 | {100 * run.record.valid['best']['recall@20']:.2f} % | {100 * run.test['recall@20']:.2f} % |"
        in text
    )
    assert "mf (dim 4" in text
    assert f"`{films().fingerprint}`" in text
    assert "| model | 24 users" in text
    whole = fit(films(), MF(dim=4), protocol=Protocol(epochs=2, batch=64), whole=True).recommender
    assert "recall@20 |" not in (whole.save(tmp_path / "whole") / "MODEL.md").read_text("utf-8")


def test_notes_may_be_added_and_it_may_be_missing(tmp_path: Path) -> None:
    model = made(films())
    card = model.save(tmp_path / "run") / "MODEL.md"
    first = card.read_text("utf-8")
    card.write_text(first + "Ask Ann.")
    loaded = Recommender.load(tmp_path / "run")
    loaded.save(tmp_path / "run")
    assert card.read_text("utf-8") == first
    card.unlink()  # as in a folder of an earlier version
    assert Recommender.load(tmp_path / "run").recommend(["p03"], 2) == model.recommend(["p03"], 2)
