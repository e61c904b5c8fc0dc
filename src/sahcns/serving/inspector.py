"""One training pair under SAHC-NS, on the layers of the model that answers: what the page's sampler view shows."""

from threading import Lock
from typing import Any

import torch

from sahcns.data.ids import Id
from sahcns.errors import DataError
from sahcns.lab.inspect.model import TrainedModel
from sahcns.lab.inspect.pairs import inspect_pairs
from sahcns.lab.inspect.results import layer_names
from sahcns.model.recommender import Recommender
from sahcns.rng import Rng
from sahcns.samplers import SAHC

MOST_POSITIVES = 200  # training items of a user that the page offers


class Inspector:
    """The layers of a model, computed when the first pair is asked for."""

    def __init__(self, model: Recommender, name: str) -> None:
        self.model, self.name = model, name
        self._trained: TrainedModel | None = None
        self._lock = Lock()

    def trained(self) -> TrainedModel:
        """The model on its layers; one without any is refused."""
        record, weights = self.model.record, self.model.weights
        if "backbone" not in record or not weights:
            made = record.get("baseline", {}).get("name")
            why = f"it was made by {made}, which has none" if made else "its folder holds no weights"
            raise DataError(f"the sampler looks at the layers of a backbone, and {self.name} has none: {why}")
        with self._lock:
            if self._trained is None:
                self._trained = TrainedModel.of(self.model, device="cpu")
            return self._trained

    def look(self, user: Id | None, item: Id | None, sampler: SAHC, seed: int) -> dict[str, Any]:
        """The pair of a user and one of their training items, or one that the seed draws; a larger pool holds a smaller."""
        trained = self.trained()
        graph, split = trained.graph, trained.split
        if not len(graph.pair_users):
            raise DataError(f"{self.name} was trained on no pair, so there is nothing to look at")
        if user is None:
            places = torch.arange(len(graph.pair_users))
            if item is not None:
                places = (graph.pair_items == int(split.item_ids.encode([item], what="item")[0])).nonzero()[:, 0]
                if not len(places):
                    raise DataError(f"item {item!r} has no training pair that a negative is chosen for")
            place = places[Rng(seed, "page").below(len(places), 1)]
            user, item = split.user_ids[int(graph.pair_users[place])], split.item_ids[int(graph.pair_items[place])]
        with self._lock:
            (view,) = inspect_pairs(trained, sampler=sampler, seed=seed, count=1, user=user, item=item, batch=1)
        row = self.model.user_ids.encode([view.user], what="user")[0]
        positives = self.model.known(int(row), "train").tolist()
        return {
            "pair": view.to_dict(),
            "layers": layer_names(view.first_layer, view.positive),
            "positives": [
                {"item": self.model.item_ids[at], "title": self.model.title(at)} for at in positives[:MOST_POSITIVES]
            ],
        }
