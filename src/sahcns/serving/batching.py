"""Concurrent requests in one product: whoever asks while a product runs is part of the next one."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from sahcns.model.recommender import Recommender
from sahcns.model.wishes import RankedList, Wish, rank_wishes

WIDE = 4096  # items hidden from one request, beyond which it is a product by itself: nobody else hides the same
Question = tuple[Recommender, Sequence[Wish]]


class Batcher:
    """One thread multiplies; requests gather meanwhile. A request keeps the model that it came to."""

    def __init__(self, most: int = 64) -> None:
        self.most = most  # lists in one product, if no single request has more
        self.waiting: list[tuple[Question, asyncio.Future[list[RankedList]]]] = []
        self.on_product: Callable[[], None] = lambda: None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rank")
        self._pump: asyncio.Task[None] | None = None

    async def rank(self, model: Recommender, wishes: Sequence[Wish]) -> list[RankedList]:
        """The lists of one request."""
        if not wishes:
            return []
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[RankedList]] = loop.create_future()
        self.waiting.append(((model, wishes), future))
        if self._pump is None or self._pump.done():
            self._pump = loop.create_task(self._run())
        return await future

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
        """The first that wait, up to `most` lists of one model, without those whose clients have left."""
        batch: list[tuple[Question, asyncio.Future[list[RankedList]]]] = []
        size, rest = 0, []
        for at, (question, future) in enumerate(self.waiting):
            if future.done():
                continue
            model, wishes = question
            size += max(len(wishes), self.most * any(len(wish.hidden) > WIDE for wish in wishes))
            if batch and (size > self.most or model is not batch[0][0][0]):
                rest = self.waiting[at:]
                break
            batch.append((question, future))
        self.waiting = rest
        return batch

    def close(self) -> None:
        self._thread.shutdown(wait=True)  # a thread that Python's end meets within torch would be an abort


def _rank(questions: Sequence[Question]) -> Sequence[list[RankedList] | Exception]:
    """Questions to one model in one product; if that fails, each by itself, so that one cannot spoil the rest."""
    try:
        lists = rank_wishes(questions[0][0], [wish for _, wishes in questions for wish in wishes])
    except Exception as error:
        return [error] if len(questions) == 1 else [_rank([question])[0] for question in questions]
    found, start = [], 0
    for _, wishes in questions:
        found.append(lists[start : start + len(wishes)])
        start += len(wishes)
    return found
