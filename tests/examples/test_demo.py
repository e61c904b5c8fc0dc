"""The demo, in a miniature that trains almost nothing: every part of its screen is there and true."""

import re
from pathlib import Path

import pytest

from sahcns import Protocol, Recommender
from tests.examples.loading import example
from tests.model.films import trained_on_films


def test_the_whole_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    protocol = Protocol(epochs=2, batch=4096, learning_rate=0.05, evaluate_every=1)
    example("demo").main(protocol, dim=8, out=tmp_path / "run")
    shown = capsys.readouterr().out
    model = Recommender.load(tmp_path / "run")
    assert model.record["sampler"]["name"] == "sahc"
    assert "659 people, 2,078 films, 35,531 pairs to train on" in " ".join(shown.split())
    rows = dict(re.findall(r"^(RNS|SAHC-NS) +(\d+\.\d\d +\d+\.\d\d) ", shown, re.MULTILINE))
    best = model.record["test"]["best"]
    assert rows["SAHC-NS"].split() == [f"{100 * best['recall@20']:.2f}", f"{100 * best['ndcg@20']:.2f}"]
    assert rows["RNS"] != rows["SAHC-NS"]
    assert len(re.findall("was cut off by the limit of 2 epochs", shown)) == 2
    person = re.search(r"Person (\d+),", shown)
    assert person is not None
    recommended = [one.title for one in model.recommend([int(person[1])], 10, exclude="train")[0]]
    assert all(str(title) in shown for title in recommended)
    assert f"recommend {tmp_path / 'run'} --user 17 -k 10" in shown


def test_a_person_s_films_are_marked_where_they_were_hidden() -> None:
    model, demo = trained_on_films(), example("demo")
    person = int(model.user_ids.encode(["p03"])[0])
    shown = demo.films_for(model, person, count=20)
    liked, recommended = (list(column.cells) for column in shown.columns)
    trained = {model.title(item) for item in model.known(person, "train").tolist()}
    hidden = {model.title(item) for item in model.known(person).tolist()} - trained
    assert {title for title in liked if title} == trained
    marked = {str(cell).removesuffix(" ✓") for cell in recommended if str(cell).endswith("✓")}
    assert marked == hidden
    assert not trained & {str(cell) for cell in recommended}
