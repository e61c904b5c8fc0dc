"""The model of a folder while the folder changes: a new one is loaded aside and then takes the place of the former."""

import ctypes
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock

from sahcns.data.ids import Id
from sahcns.errors import SahcnsError
from sahcns.folders import Stamp, stamp
from sahcns.model.explain import Explanation
from sahcns.model.folder import RUN
from sahcns.model.recommender import Recommender
from sahcns.serving.inspector import Inspector
from sahcns.serving.search import Search

NAMES = 1 << 16  # items whose names are kept: some 10 MB
RETRY_SECONDS = 5.0  # until a new model that could not be loaded is tried again


@dataclass(eq=False)
class Loaded:
    """A model that answers, and what is made of it when it is first asked for."""

    model: Recommender
    name: str
    lock: Lock = field(default_factory=Lock)  # so that two who ask first do not both compute it

    @cached_property
    def name_of(self) -> Callable[[int], tuple[Id, str | None]]:
        """The id and the title of an item by position; those that many are shown are kept as they are sent."""
        ids, title = self.model.item_ids, self.model.title
        return lru_cache(NAMES)(lambda item: (ids[item], title(item)))

    @cached_property
    def _search(self) -> Search:
        return Search(self.model)

    @property
    def search(self) -> Search:
        with self.lock:
            return self._search

    @cached_property
    def inspector(self) -> Inspector:
        return Inspector(self.model, self.name)

    def explain(self, items: Sequence[Id], user: Id) -> list[Explanation]:
        with self.lock:
            _ = self.model.paths
        return [self.model.explain(user, item) for item in items]

    def explain_new(self, items: Sequence[Id], having: Sequence[Id]) -> list[Explanation]:
        return [self.model.explain_new(having, item) for item in items]


class LiveModel:
    """What answers from a model folder. `refresh` is called now and then, by one thread; `model` by anybody."""

    def __init__(self, folder: str | os.PathLike[str], tell: Callable[[str], None]) -> None:
        self.folder, self.name, self.tell = Path(folder), Path(folder).resolve().name, tell
        self.stamp = stamp(RUN, self.folder)  # before loading, so that one which comes meanwhile is noticed
        self.loaded = Loaded(_load(self.folder), self.name)
        self.on_swap: Callable[[], None] = lambda: None
        self._failure: tuple[Stamp, str] | None = None  # the latest that could not be loaded, and why
        self._not_before = 0.0

    @property
    def model(self) -> Recommender:
        return self.loaded.model

    @property
    def written(self) -> str | None:
        """When the folder of the model that answers was written, in UTC."""
        return (
            None if self.stamp is None else f"{datetime.fromtimestamp(self.stamp[1] // 10**9, UTC):%Y-%m-%dT%H:%M:%SZ}"
        )

    @property
    def not_loaded(self) -> str | None:
        """Why the model that is in the folder now could not be loaded; None where it could, or was not tried yet."""
        failure = self._failure
        return failure[1] if failure and failure[0] == stamp(RUN, self.folder) else None

    def refresh(self) -> None:
        """Load what is new in the folder, if something is; the former model answers meanwhile, and if it fails."""
        current = stamp(RUN, self.folder)
        if current is None or current == self.stamp or time.monotonic() < self._not_before:
            return
        try:
            model = _load(self.folder)
        except Exception as error:  # whatever it is, such as too little memory, the former model is there
            why = str(error) if isinstance(error, SahcnsError) else repr(error)
            if self._failure is None or self._failure[0] != current:  # once, however often it is tried
                self.tell(f"the former model goes on: {why}")
            self._failure, self._not_before = (current, why), time.monotonic() + RETRY_SECONDS
            return
        self.loaded, self.stamp = Loaded(model, self.name), current
        _trim_memory()
        self.on_swap()
        self.tell(f"{self.folder} holds a new model, which answers from now on")


def _load(folder: Path) -> Recommender:
    """With what all requests share, so that the first one does not wait for it."""
    model = Recommender.load(folder)
    model.prepare()
    return model


def _trim_memory() -> None:
    """Hand freed memory back to the system: glibc would keep that of several former models."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
