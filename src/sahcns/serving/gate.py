"""What every request passes first: Host, token, size, how many at once, how long; and what is counted of it."""

import asyncio
import hmac
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import ClientDisconnect

from sahcns.serving.batching import Batcher
from sahcns.serving.live import LiveModel
from sahcns.serving.page import FILES

if TYPE_CHECKING:
    from sahcns.serving.server import Settings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
HEAVY = frozenset({"/explain", "/explain/new", "/inspect"})
PATHS = HEAVY | {
    *("/recommend", "/new", "/similar", "/popular", "/search", "/categories", "/person"),
    *("/health", "/metrics", "/openapi.json", *FILES),
}
LARGE = 1 << 14  # bytes of a body that makes a request a heavy one
HEAVY_WAITING = 32  # heavy requests under way; one of them is worked on at a time
TOO_MANY = 429, "too many requests at once; try again in a second"
FORGOTTEN = 1 << 20  # bytes of a body that is too large which are read all the same, or its client would not hear why
PIECE = 1 << 16  # bytes of an answer sent before the client has read what came before
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)
OPEN = frozenset({"/health", *FILES})  # without a token: what a load balancer asks, and a page that holds no data


class Metrics:
    """Counts in Prometheus' format, one registry for each application."""

    def __init__(self, batcher: Batcher, models: Sequence[LiveModel]) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("sahcns_requests", "Requests answered.", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "sahcns_request_seconds", "Seconds to an answer.", ["path"], registry=registry, buckets=BUCKETS
        )
        self.under_way = Gauge(
            "sahcns_requests_under_way", "Requests not answered yet.", registry=registry, multiprocess_mode="livesum"
        )
        batcher.on_product = Counter(
            "sahcns_products", "Matrix products that answered requests.", registry=registry
        ).inc
        swaps = Counter("sahcns_model_swaps", "New models taken up.", registry=registry)
        for live in models:
            live.on_swap = swaps.inc

    def render(self) -> bytes:
        registry = self.registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # several processes: the sum of all
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class Answer:
    """What goes out to a client: its status once it has begun, and no more at once than the client reads."""

    def __init__(self, send: Send) -> None:
        self.send, self.status = send, 0
        self.turn = AsyncExitStack()  # what a heavy request holds until it is answered

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            await self.turn.aclose()  # now, so that who reads slowly holds up nobody
        elif len(body := message.get("body", b"")) > PIECE:  # the server waits for its reader between two pieces
            for at in range(0, len(body), PIECE):
                await self.send({**message, "body": body[at : at + PIECE], "more_body": True})
            message = {**message, "body": b""}
        await self.send(message)

    async def refuse(self, status: int, sentence: str) -> None:
        body = orjson.dumps({"error": sentence})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += {401: [(b"www-authenticate", b"Bearer")], 413: [(b"connection", b"close")]}.get(status, [])
        headers += [(b"retry-after", b"1")] * (status in (429, 503))
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


class Gate:
    """ASGI middleware, plain, so that it costs microseconds."""

    def __init__(self, app: Any, settings: "Settings", batcher: Batcher, models: Sequence[LiveModel]) -> None:
        self.app, self.settings, self.hosts = app, settings, settings.hosts
        self.metrics = Metrics(batcher, models)
        self.count = self.heavy = 0
        self.turn = asyncio.Semaphore()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in PATHS else "other"
        began, answer, heavy = time.perf_counter(), Answer(send), _is_heavy(scope)
        self.heavy += heavy
        try:
            if refusal := self._refusal(scope, heavy):
                if refusal[0] == 413:
                    await _whole(receive, 0)
                await answer.refuse(*refusal)
            elif scope["method"] in ("GET", "HEAD"):
                await self._answer(scope, receive, answer, heavy)
            else:
                body = await _whole(receive, self.settings.most_body)  # who sends slowly is not counted yet
                if body is None:
                    await answer.refuse(413, f"a body of more than {self.settings.most_body:,} bytes is too large")
                else:
                    await self._answer(scope, _again(body, receive), answer, heavy)
        except ClientDisconnect:
            pass
        finally:
            self.heavy -= heavy
            self.metrics.requests.labels(path, str(answer.status or 499)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - began)

    async def _answer(self, scope: Scope, receive: Receive, answer: Answer, heavy: bool) -> None:
        """Of a request that is here whole, in its time; of a heavy one when it is its turn."""
        self.count += 1
        self.metrics.under_way.inc()
        try:
            if self.count > self.settings.most_waiting and scope["path"] not in OPEN:
                await answer.refuse(*TOO_MANY)
                return
            async with asyncio.timeout(self.settings.most_seconds), answer.turn:
                if heavy:
                    await answer.turn.enter_async_context(self.turn)
                await self.app(scope, receive, answer)
        except TimeoutError:
            if not answer.status:
                await answer.refuse(
                    503, f"no answer within {self.settings.most_seconds:g} seconds; try again, or with less"
                )
            elif cut := scope.get("state", {}).get("cut"):  # half an answer must not look like a whole one
                cut()
                while (await receive())["type"] != "http.disconnect":
                    pass
            else:
                raise
        finally:
            self.count -= 1
            self.metrics.under_way.dec()

    def _refusal(self, scope: Scope, heavy: bool) -> tuple[int, str] | None:
        headers = dict(scope["headers"])
        if self.hosts:
            host = urlsplit("//" + headers.get(b"host", b"").decode("latin-1")).hostname or ""
            if host not in self.hosts:
                return 400, f"this service is not called {host!r}; --allow-host names others"
        if self.settings.token and scope["path"] not in OPEN:
            token = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
            if not hmac.compare_digest(token, self.settings.token.encode()):
                return 401, "a token is needed: Authorization: Bearer TOKEN"
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.settings.most_body:
            return 413, f"a body of {int(length):,} bytes is too large; {self.settings.most_body:,} is the most"
        return TOO_MANY if heavy and self.heavy > HEAVY_WAITING else None


def _is_heavy(scope: Scope) -> bool:
    """Whether it takes more than a moment: a long body, or one of unknown length, an explanation, a look at the sampler."""
    if scope["method"] == "GET":
        return scope["path"] in HEAVY
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"0")
    return scope["path"] in HEAVY or b"transfer-encoding" in headers or not length.isdigit() or int(length) > LARGE


async def _whole(receive: Receive, most: int) -> bytes | None:
    """A body; None for one of more than `most` bytes, whose end is waited for as far as it is near.

    A client that is still sending when its connection is closed may lose the answer with it.
    """
    body, size, more = bytearray(), 0, True
    while more and size <= most + FORGOTTEN:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece, more = message.get("body", b""), message.get("more_body", False)
        size += len(piece)
        if size <= most:
            body += piece
    return bytes(body) if size <= most else None


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, then what comes after it."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> MutableMapping[str, Any]:
        return messages.pop() if messages else await receive()

    return read
