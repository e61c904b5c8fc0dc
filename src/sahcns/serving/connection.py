"""A connection that is closed where its client is slow to ask or slow to read, or asks without end.

The gate has a time for a request that has come whole; what is before it, and what is left of an answer after it, is seen to
here. The gate finds `cut` in the state of a request, and ends with it an answer that nobody reads.
"""

import asyncio
import math
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

ASK_SECONDS = 10.0  # from the first sign of a client to the end of its headers, and from there to that of the body
READ_SECONDS = 30.0  # to read what is left of an answer
LOOK_SECONDS = 1.0
MOST_HEADERS = 1 << 16  # bytes, the address included
MOST_AHEAD = 32  # requests sent before the first is answered


class Connection(HttpToolsProtocol):
    """What uvicorn makes for each client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "cut": transport.abort}
        self.answered: RequestResponseCycle | None = None  # the request under way, of several sent one after the other
        self.asked = 0  # bytes of headers that are not complete
        self.idle_since = self.loop.time()  # infinite while a whole request is under way
        self.until = self.idle_since + ASK_SECONDS
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.next_look.cancel()
        super().connection_lost(exc)

    def _make_room(self) -> None:
        """Who has been idle longest goes, so that clients that only hold connections keep nobody out."""
        others: Any = self.connections - {self}
        idlest = min(others, key=lambda one: one.idle_since)
        if idlest.idle_since < math.inf:
            self.connections.discard(idlest)
            idlest.transport.abort()

    def _look(self) -> None:
        if self.loop.time() > self.until:
            self.transport.abort()
        self.next_look = self.loop.call_later(LOOK_SECONDS, self._look)

    def data_received(self, data: bytes) -> None:
        self.asked += len(data)
        super().data_received(data)
        if self.asked > MOST_HEADERS or len(self.pipeline) > MOST_AHEAD:
            for cycle in (self.cycle, self.answered, *(cycle for cycle, _ in self.pipeline)):
                if cycle is not None:
                    cycle.disconnected = True  # or what it writes before it hears of the end would be an error
            self.pipeline.clear()
            self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.until = min(self.until, self.loop.time() + ASK_SECONDS)

    def on_headers_complete(self) -> None:
        self.asked, self.until = 0, self.loop.time() + ASK_SECONDS
        super().on_headers_complete()
        self.answered = self.answered if self.pipeline else self.cycle

    def on_body(self, body: bytes) -> None:
        self.asked = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.until = math.inf
        if not self.cycle.response_complete:
            self.idle_since = math.inf

    def on_response_complete(self) -> None:
        self.answered = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        if not self.pipeline:
            self.idle_since = self.loop.time()
        if self.transport.get_write_buffer_size():
            self.until = self.loop.time() + READ_SECONDS
