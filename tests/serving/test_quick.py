"""A quick route reads a query as FastAPI does: same answers, same refusals, same document."""

import asyncio
import json
from typing import Annotated, Any, Literal

import pytest
from fastapi import FastAPI, Query, Response
from pydantic import BaseModel, ConfigDict

from sahcns.serving.quick import QuickRoute


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    user: list[str]
    k: int = 20
    name: str | None = None
    kind: Literal["a", "b"] = "a"


def answers(path: str, query: str = "") -> list[tuple[int, Any]]:
    """What a route of FastAPI's own and a quick one answer."""
    return [asyncio.run(answer(path, query, **options)) for options in ({}, {"route_class_override": QuickRoute})]


async def answer(path: str, query: str, **options: Any) -> tuple[int, Any]:
    app = FastAPI()

    async def ask(asked: Annotated[Asked, Query()]) -> Response:
        return Response(asked.model_dump_json(), media_type="application/json")

    app.router.add_api_route("/ask", ask, methods=["GET"], **options)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    await app(scope, receive, send)
    return sent[0]["status"], json.loads(b"".join(one.get("body", b"") for one in sent[1:]))


@pytest.mark.parametrize(
    "query",
    [
        *("user=1&user=2", "user=1&k=3&k=4", "user=&name=", "user=%C3%A9+x&name=%ff", "user=1&kind=b", "user=a;b"),
        *("", "k=3", "user=1&k=x", "user=1&kind=c", "user=1&more=2", "user=1&name"),
    ],
)
def test_it_reads_as_fastapi_does(query: str) -> None:
    (status, slow), (quick_status, quick) = answers("/ask", query)
    assert quick_status == status
    if status == 200:
        assert quick == slow
    else:
        assert [one["type"] for one in quick["detail"]] == [one["type"] for one in slow["detail"]]


def test_the_document_is_the_same() -> None:
    slow, quick = answers("/openapi.json")
    assert slow == quick
    assert "/ask" in slow[1]["paths"]
