"""What every request passes first: Host, token, size, how many at once; and what is counted of it for Prometheus."""

import hmac
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.exceptions import HTTPException

from sahcns.serving.batching import Batcher
from sahcns.serving.live import LiveModel
from sahcns.serving.page import FILES

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
PATHS = frozenset(
    (
        *(
            "/recommend",
            "/new",
            "/similar",
            "/popular",
            "/search",
            "/categories",
            "/person",
            "/explain",
            "/explain/new",
        ),
        *("/inspect", "/health", "/metrics", "/openapi.json", *FILES),
    )
)
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)
OPEN = frozenset({"/health", *FILES})  # without a token: what a load balancer asks, and a page that holds no data


@dataclass(frozen=True)
class Limits:
    """What a request may be.

    hosts    names by which the service may be called; none checks nothing
    token    that requests must bear; none asks for none
    body     bytes of a body
    waiting  requests under way at once; more are answered 429
    """

    hosts: frozenset[str] = frozenset()
    token: str = ""
    body: int = 1 << 20
    waiting: int = 512


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


class Gate:
    """ASGI middleware, plain, so that it costs microseconds."""

    def __init__(self, app: Any, limits: Limits, batcher: Batcher, models: Sequence[LiveModel]) -> None:
        self.app, self.limits = app, limits
        self.metrics = Metrics(batcher, models)
        self.count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in PATHS else "other"
        began, status = time.perf_counter(), 500

        async def counted(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.count += 1
        self.metrics.under_way.inc()
        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self.app(scope, _bounded(receive, self.limits.body), counted)
            else:
                await _refuse(counted, *refusal)
        finally:
            self.count -= 1
            self.metrics.under_way.dec()
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - began)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = dict(scope["headers"])
        if self.limits.hosts:
            host = urlsplit("//" + headers.get(b"host", b"").decode("latin-1")).hostname or ""
            if host not in self.limits.hosts:
                return 400, f"this service is not called {host!r}; --allow-host names others"
        if self.limits.token and scope["path"] not in OPEN:
            given = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
            if not hmac.compare_digest(given, self.limits.token.encode()):
                return 401, "a token is needed: Authorization: Bearer TOKEN"
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.limits.body:
            return 413, f"a body of {int(length):,} bytes is too large; {self.limits.body:,} is the most"
        if self.count > self.limits.waiting and scope["path"] not in OPEN:
            return 429, "too many requests at once; try again in a second"
        return None


def _bounded(receive: Receive, most: int) -> Receive:
    """A body that comes in pieces is counted as it comes."""
    size = 0

    async def read() -> MutableMapping[str, Any]:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise HTTPException(413, f"a body of more than {most:,} bytes is too large")
        return message

    return read


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = orjson.dumps({"error": sentence})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    extra = {429: [(b"retry-after", b"1")], 401: [(b"www-authenticate", b"Bearer")]}.get(status, [])
    close = [(b"connection", b"close")] if status == 413 else []
    await send({"type": "http.response.start", "status": status, "headers": headers + extra + close})
    await send({"type": "http.response.body", "body": body})
