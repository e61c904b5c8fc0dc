"""Concurrent requests in one product: whoever asks while a product runs is part of the next one.

A request for many lists comes piece by piece, and a piece waits for all who have had less, so that nobody's thousand lists
keep another waiting for one.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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


class Batcher:
    """One thread multiplies; requests gather meanwhile. A request keeps the model that it came to."""

    def __init__(self, most: int = 64) -> None:
        self.most = most  # lists in one product, if no single request has more
        self.waiting: list[tuple[Question, asyncio.Future[list[RankedList]]]] = []
        self.items = 0  # in the lists of requests that come in pieces
        self.on_product: Callable[[], None] = lambda: None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rank")
        self._pump: asyncio.Task[None] | None = None

    async def rank(self, model: Recommender, wishes: Sequence[Wish], had: int = 0) -> list[RankedList]:
        """The lists of one request, or a piece of them."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[RankedList]] = loop.create_future()
        self.waiting.append((Question(model, wishes, had), future))
        if self._pump is None or self._pump.done():
            self._pump = loop.create_task(self._run())
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

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self.waiting:
            batch = self._next()
            if not batch:
                continue
            results = await loop.run_in_executor(self._thread, _rank, [question for question, _ in batch])
            self.on_product()
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():  # else its client has left
                    if isinstance(result, Exception):
                        future.set_exception(result)
                    else:
                        future.set_result(result)

    def _next(self) -> list[tuple[Question, asyncio.Future[list[RankedList]]]]:
        """Up to `most` lists of one kind, of those who have had least; without those whose clients have left."""
        batch: list[tuple[Question, asyncio.Future[list[RankedList]]]] = []
        rest, size = [], 0
        for one in sorted((one for one in self.waiting if not one[1].done()), key=lambda one: one[0].had):
            question = one[0]
            if batch and (size + question.size > self.most or question.kind != batch[0][0].kind):
                rest.append(one)
            else:
                batch.append(one)
                size += question.size
        self.waiting = rest
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
