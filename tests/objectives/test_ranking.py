"""What ranks is a setting apart from what is trained: vectors of length 1, wherever a model goes on from there."""

from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize

from sahcns.backbones import LightGCN
from sahcns.lab.inspect.model import TrainedModel
from sahcns.model import Recommender, Run, fit
from sahcns.model.new_items import add_items
from sahcns.objectives import SampledSoftmax
from sahcns.samplers import DivNS, InBatch, Sampler
from sahcns.training import Protocol
from tests.splits import random_split

SPLIT = random_split(20, 30, each=6)
RULES = Protocol(epochs=3, batch=30, learning_rate=0.05, evaluate_every=1)


def trained(similarity: str, ranking: str, sampler: Sampler | None = None) -> Run:
    objective = SampledSoftmax(temperature=0.2, similarity=similarity, ranking=ranking)
    return fit(SPLIT, LightGCN(dim=4), sampler or InBatch(), objective, protocol=RULES, device="cpu")


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("sampler", [InBatch(), DivNS(ratio=2)], ids=lambda one: one.name)
def test_training_does_not_see_what_ranks(similarity: str, sampler: Sampler) -> None:
    """DivNS, which looks at the vectors after each epoch, sees them as they are."""
    by_dot, by_cosine = trained(similarity, "dot", sampler), trained(similarity, "cosine", sampler)
    losses = [[entry["loss"] for entry in run.record.history] for run in (by_dot, by_cosine)]
    assert losses[0] == losses[1]
    last = [run.record.valid["last"] for run in (by_dot, by_cosine)]
    assert last[0] != last[1]
    long, short = by_dot.recommender, by_cosine.recommender
    assert not torch.allclose(long.item_vectors.norm(dim=1), torch.ones(30), atol=0.1)
    torch.testing.assert_close(short.item_vectors.norm(dim=1), torch.ones(30))
    if by_dot.record.best_epoch == by_cosine.record.best_epoch:
        torch.testing.assert_close(short.item_vectors, normalize(long.item_vectors, dim=1))


def test_it_goes_with_the_model(tmp_path: Path) -> None:
    run = trained("cosine", "cosine")
    run.recommender.save(tmp_path / "model")
    model = Recommender.load(tmp_path / "model")
    assert model.ranks_by_cosine
    assert not trained("cosine", "dot").recommender.ranks_by_cosine
    cosines = normalize(model.user_vectors, dim=1) @ normalize(model.item_vectors, dim=1).T
    for user, row in enumerate(model.recommend(range(20), k=30, exclude="nothing")):
        assert [entry.score for entry in row] == pytest.approx(
            cosines[user].sort(descending=True).values.tolist(), abs=1e-5
        )
    assert TrainedModel.of(model, device="cpu").layers[0].shape == (50, 4)  # whose check knows vectors of length 1
    shown = model.recommend([3], k=1)[0][0]
    assert model.explain(3, shown.item).score == pytest.approx(shown.score, abs=1e-5)
    grown = add_items(model, {99: [0, 1, 2, 5], 98: [3]}).model
    torch.testing.assert_close(grown.item_vectors.norm(dim=1), torch.ones(32))
