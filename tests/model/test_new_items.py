"""New items from their first buyers: near to what those like, kept with the model, and what cannot be used is named."""

from pathlib import Path

import pytest
import torch

from sahcns.errors import DataError
from sahcns.model import Recommender
from sahcns.model.new_items import add_items, folded_items
from tests.model.films import trained_on_films


@pytest.fixture(scope="module")
def model() -> Recommender:
    return trained_on_films()


def test_a_new_film_is_shown_to_those_who_like_its_kind(model: Recommender, tmp_path: Path) -> None:
    buyers = {99: ["p01", "p03", "p05", "p05"], 250: ["p00", "p02", "nobody"], 105: ["p00"], 300: ["nobody"]}
    found = add_items(model, buyers, {99: "Odd one"})
    assert found.added == (99, 250)
    assert found.unknown == {"nobody": 2}
    assert found.left_out == (300,)
    grown = Recommender.load(found.model.save(tmp_path / "run"))
    assert grown.item_ids.decode([0, 1, 21]) == [99, 100, 250]
    assert grown.title(0) == "Odd one"
    ranks = {
        person: [one.item for one in grown.recommend([person], 22, exclude="nothing")[0]]
        for person in ("p07", "p09", "p06", "p08")
    }
    for person, items in ranks.items():
        odd = person in ("p07", "p09")
        assert (items.index(99) < items.index(250)) == odd
        assert items.index(99 if odd else 250) < 11  # among those of its kind
    bought = [one.item for one in grown.recommend(["p01"], 22)[0]]
    assert 99 not in bought  # who bought it has it
    assert 250 in bought
    old = [one for one in grown.recommend(["p07"], 22)[0] if one.item not in (99, 250)]
    before = model.recommend(["p07"], 22)[0]
    assert [one.item for one in old] == [one.item for one in before]
    assert [one.score for one in old] == pytest.approx([one.score for one in before])


def test_new_vectors_are_as_long_as_those_that_were_learnt(model: Recommender) -> None:
    """An old item, folded in from all its buyers, keeps its length, so that it neither floods nor misses the lists."""
    trained = model.known_part == 0
    buyers = [model.known_users[trained & (model.known_items == item)].long() for item in range(20)]
    lengths = folded_items(model, buyers).norm(dim=1) / model.item_vectors.norm(dim=1)
    assert 0.6 < float(lengths.median()) < 1.6
    cosine = torch.nn.functional.cosine_similarity(folded_items(model, buyers), model.item_vectors)
    assert float(cosine.median()) > 0.8


def test_refusals(model: Recommender) -> None:
    for buyers in ({105: ["p00"]}, {300: ["nobody"]}, {"text": ["p00"]}):
        with pytest.raises(DataError):
            add_items(model, buyers)
