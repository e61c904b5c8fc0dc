"""Concurrent requests in one product: whoever asks while a product runs is part of the next one.

A request for many lists comes piece by piece, and a piece waits for all who have had less, so that nobody's thousand lists
keep another waiting for one.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple

from sahcns.errors import SahcnsError
from sahcns.model.recommender import Recommender
from sahcns.model.wishes import RankedList, Wish, rank_wishes

WIDE = 4096  # items hidden from one request, beyond which it is a product by itself: nobody else hides the same
LONG = 100  # items in a list, beyond which it is not among shorter ones: a product finds as many for all
PIECE = 3200  # items in the lists of one piece
MOST_ITEMS = 1_000_000  # in the lists of all requests that come in pieces


class BusyError(SahcnsError):
    """As many lists are being made as fit into memory."""


class Question(NamedTuple):
    model: Recommender
    wishes: Sequence[Wish]
    had: int  # lists that the same request has got before

    @property
    def size(self) -> int:
        return max(len(self.wishes), sum(wish.k for wish in self.wishes) // 50)

    @property
    def kind(self) -> tuple[int, bool, int]:
        """What questions in one product have in common."""
        wide = max(len(wish.hidden) for wish in self.wishes) > WIDE
        return id(self.model), self.wishes[0].k > LONG, id(self) if wide else 0


Asked = tuple[Question, asyncio.Future[list[RankedList]]]


class Batcher:
    """One thread multiplies, and takes what has gathered meanwhile by itself: it does not wait for a busy event loop.

    A request keeps the model that it came to.
    """

    def __init__(self, most: int = 64) -> None:
        self.most = most  # lists in one product, if no single request has more
        self.items = 0  # in the lists of requests that come in pieces
        self.on_product: Callable[[], None] = lambda: None
        self._waiting: list[Asked] = []
        self._lock = Lock()  # of what is waiting, and of whether the thread looks at it
        self._working = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rank")

    async def rank(self, model: Recommender, wishes: Sequence[Wish], had: int = 0) -> list[RankedList]:
        """The lists of one request, or a piece of them."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[RankedList]] = loop.create_future()
        with self._lock:
            self._waiting.append((Question(model, wishes, had), future))
            begins, self._working = not self._working, True
        if begins:
            self._thread.submit(self._work, loop)
        return await future

    async def pieces(self, model: Recommender, wishes: Sequence[Wish]) -> AsyncIterator[list[RankedList]]:
        """The lists of one request, so many at a time that nobody else waits long; all of one k."""
        items, step = len(wishes) * wishes[0].k, min(self.most, max(1, PIECE // wishes[0].k))
        if len(wishes) <= step:
            yield await self.rank(model, wishes)
            return
        if self.items and self.items + items > MOST_ITEMS:
            raise BusyError(f"too many lists at once; try again in a second, or ask for fewer than {len(wishes):,}")
        self.items += items
        try:
            for start in range(0, len(wishes), step):
                yield await self.rank(model, wishes[start : start + step], start)
        finally:
            self.items -= items

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """In the thread: product after product, until nobody waits."""
        while batch := self._next():
            results = _rank([question for question, _ in batch])
            loop.call_soon_threadsafe(self._answer, batch, results)

    def _answer(self, batch: list[Asked], results: Sequence[list[RankedList] | Exception]) -> None:
        self.on_product()
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():  # else its client has left
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    def _next(self) -> list[Asked]:
        """Up to `most` lists of one kind, of those who have had least; without those whose clients have left."""
        batch, rest, size = list[Asked](), list[Asked](), 0
        with self._lock:
            for one in sorted((one for one in self._waiting if not one[1].done()), key=lambda one: one[0].had):
                question = one[0]
                if batch and (size + question.size > self.most or question.kind != batch[0][0].kind):
                    rest.append(one)
                else:
                    batch.append(one)
                    size += question.size
            self._waiting, self._working = rest, bool(batch)
        return batch

    def close(self) -> None:
        self._thread.shutdown(wait=True)  # a thread that Python's end meets within torch would be an abort


def _rank(questions: Sequence[Question]) -> Sequence[list[RankedList] | Exception]:
    """Questions to one model in one product; if that fails, each by itself, so that one cannot spoil the rest."""
    try:
        lists = rank_wishes(questions[0].model, [wish for question in questions for wish in question.wishes])
    except Exception as error:
        return [error] if len(questions) == 1 else [_rank([question])[0] for question in questions]
    answers, start = [], 0
    for question in questions:
        answers.append(lists[start : start + len(question.wishes)])
        start += len(question.wishes)
    return answers
