"""The model of a folder while the folder changes: a new one is loaded aside and then takes the place of the former."""

import ctypes
import os
import sys
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import orjson
import torch
from torch import Tensor

from sahcns.data.ids import Id
from sahcns.errors import DataError, SahcnsError
from sahcns.folders import Stamp, stamp
from sahcns.lab.inspect.model import TrainedModel
from sahcns.lab.inspect.pairs import inspect_pairs
from sahcns.lab.inspect.results import layer_names
from sahcns.model.explain import explain
from sahcns.model.folder import RUN
from sahcns.model.recommender import Recommender
from sahcns.rng import Rng
from sahcns.samplers import SAHC
from sahcns.serving.search import Search

MOST_POSITIVES = 200  # training items of a user that the page's view of the sampler offers
NAMES = 1 << 16  # items whose names are kept: some 20 MB
LARGE = 8 << 20  # bytes of a block that is mapped by itself; above the scores of 40 lists of 50,000 items
RETRY_SECONDS = 5.0  # until a new model that could not be loaded is tried again


@dataclass(eq=False)
class Loaded:
    """A model that answers, and what is made of it when it is first asked for."""

    model: Recommender
    name: str
    lock: Lock = field(default_factory=Lock)  # so that two who ask first do not both compute it

    @cached_property
    def name_fields(self) -> Callable[[int], bytes]:
        """An item by position as fields of JSON; those that many are shown are kept."""
        model = self.model  # not `self`, or a model that was replaced would stay until Python looks for circles
        return lru_cache(NAMES)(lambda item: orjson.dumps(_named(model, item))[1:-1])

    @cached_property
    def search(self) -> Search:
        return Search(self.model)

    @cached_property
    def about(self) -> dict[str, Any]:
        """The model in a few words, for `/health`."""
        record, size = self.model.record, {"users": len(self.model.user_ids), "items": len(self.model.item_ids)}
        parts = {part: record.get(part) for part in ("backbone", "sampler", "seed")}
        return {**size, "fingerprint": record.get("data", {}).get("fingerprint"), **parts}

    @cached_property
    def trained(self) -> TrainedModel:
        """The model on its layers; one without any is refused."""
        record = self.model.record
        if "backbone" not in record or not self.model.weights:
            made = record.get("baseline", {}).get("name")
            why = f"it was made by {made}, which has none" if made else "its folder holds no weights"
            raise DataError(f"the sampler looks at the layers of a backbone, and {self.name} has none: {why}")
        return TrainedModel.of(self.model, device="cpu")

    def look(self, user: Id | None, item: Id | None, sampler: SAHC, seed: int) -> dict[str, Any]:
        """One training pair under SAHC-NS: of a user and one of their training items, or one that the seed draws.

        A larger pool holds a smaller.
        """
        with self.lock:
            trained = self.trained
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
        with self.lock:
            (view,) = inspect_pairs(trained, sampler=sampler, seed=seed, count=1, user=user, item=item, batch=1)
        row = self.model.user_ids.encode([view.user], what="user")[0]
        positives = self.model.known(int(row), "train").tolist()
        return {
            "pair": view.to_dict(),
            "layers": layer_names(view.first_layer, view.positive),
            "positives": [_named(self.model, at) for at in positives[:MOST_POSITIVES]],
        }

    def explain(self, item: int, k: int, user: int | None, have: Tensor) -> dict[str, Any]:
        """Why an item has its score, for a user or for somebody new who has items, in the k best reasons."""
        with self.lock:
            _ = self.model.paths
        why = explain(self.model, item, user=user, items=have)
        best = zip(why.items[:k].tolist(), why.parts[:k].tolist(), why.paths[:k].tolist(), strict=True)
        reasons = [{**_named(self.model, one), "part": part, "paths": paths} for one, part, paths in best]
        rest = {"own": why.own, "others": float(why.parts[k:].sum()), "exact": why.exact}
        return {**_named(self.model, item), "score": why.score, "reasons": reasons, **rest}


class LiveModel:
    """What answers from a model folder. `refresh` is called now and then, by one thread; `model` by anybody."""

    def __init__(self, folder: str | os.PathLike[str], tell: Callable[[str], None]) -> None:
        self.folder, self.name, self.tell = Path(folder), Path(folder).resolve().name, tell
        self.stamp = stamp(RUN, self.folder)  # before loading, so that one which comes meanwhile is noticed
        self.loaded = _load(self.folder, self.name)
        self.on_swap: Callable[[], None] = lambda: None
        self._failure: tuple[Stamp, str] | None = None  # the latest that could not be loaded, and why
        self._not_before = 0.0
        self._formers = list[weakref.ref[Recommender]]()  # models that were replaced, as long as somebody has them

    @property
    def model(self) -> Recommender:
        return self.loaded.model

    def described(self) -> dict[str, Any]:
        """What everybody may know: which model answers, when its folder was written, why a newer one does not."""
        seconds, failure = (0 if self.stamp is None else self.stamp[1]) // 10**9, self._failure
        why = failure[1] if failure and failure[0] == stamp(RUN, self.folder) else None
        for home in {self.folder.parent, self.folder.resolve().parent}:  # where it lies is nobody's business
            why = why and why.replace(f"{home}/", "")
        written = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}" if seconds else None
        return {"name": self.name, **self.loaded.about, "written": written, "not_loaded": why}

    def refresh(self) -> None:
        """Load what is new in the folder, if something is; the former model answers meanwhile, and if it fails."""
        current = stamp(RUN, self.folder)
        self._formers = [one for one in self._formers if one() is not None]
        # Clients who read slowly keep the model that they came to, for half a minute at most: a third one waits for them.
        waits = len(self._formers) > 1 or time.monotonic() < self._not_before
        if current is None or current == self.stamp or waits:
            return
        try:
            loaded = _load(self.folder, self.name)
        except Exception as error:  # whatever it is, such as too little memory, the former model is there
            why = str(error) if isinstance(error, SahcnsError) else repr(error)
            if self._failure is None or self._failure[0] != current:  # once, however often it is tried
                self.tell(f"the former model goes on: {why}")
            self._failure, self._not_before = (current, why), time.monotonic() + RETRY_SECONDS
            return
        self._formers.append(weakref.ref(self.model))
        self.loaded, self.stamp = loaded, current
        _trim_memory()
        self.on_swap()
        self.tell(f"{self.folder} holds a new model, which answers from now on")


def _load(folder: Path, name: str) -> Loaded:
    """With what all requests share, and tried once, so that the first one neither waits nor fails."""
    model = Recommender.load(folder)
    # Mapped files may be written over while this model answers, which would end the process.
    model.weights = {part: tensor.clone() for part, tensor in model.weights.items()}
    model.prepare()
    model.recommend(model.user_ids.decode(range(1)), 1)
    model.recommend_new(model.item_ids.decode(range(1)), 1)
    loaded = Loaded(model, name)
    _ = loaded.about, loaded.search
    return loaded


def map_large_blocks() -> None:
    """Let glibc hand the arrays of a model that was replaced back to the system; among small blocks they leave holes."""
    _glibc("mallopt", -3, LARGE)


def _trim_memory() -> None:
    """Hand freed memory back to the system: glibc would keep that of several former models."""
    _glibc("malloc_trim", 0)


def _glibc(name: str, *arguments: int) -> None:
    call = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    if call is not None:
        call(*arguments)


def _named(model: Recommender, item: int) -> dict[str, Id | None]:
    """The id and the title of an item by position."""
    return {"item": model.item_ids[item], "title": model.title(item)}
