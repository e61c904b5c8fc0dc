"""The HTTP service: what can be asked of one or several models, as a FastAPI application with its OpenAPI document.

Every answer is JSON, refusals too: {"error": "a sentence"}. GET asks by the query; POST takes the same fields as a JSON
object, for those who have more items than fit into an address.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import orjson
import torch
from fastapi import FastAPI, Query, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from sahcns.data.ids import IdMap
from sahcns.errors import DataError, SahcnsError, SettingError, nearest
from sahcns.model.recommender import Recommender, list_rows
from sahcns.model.wishes import RankedList, Wish
from sahcns.serving.batching import Batcher
from sahcns.serving.gate import Gate, Limits
from sahcns.serving.live import LiveModel
from sahcns.version import __version__

MOST_K = 1000  # so that one request cannot ask for the whole catalogue
MOST_IDS = 10_000
MOST_ROWS = 200_000  # of all lists in one answer: some 15 MB
REFRESH_SECONDS = 1.0

Id = Annotated[str, Field(max_length=1000)]
Ids = Annotated[list[Id], Field(max_length=MOST_IDS)]


class Asked(BaseModel):
    """What every list can be asked with."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    k: Annotated[int, Field(ge=1, le=MOST_K, description="items in a list")] = 20
    without: Annotated[Ids, Field(description="items not to be shown, such as those out of stock")] = []
    model: Annotated[Id | None, Field(description="which of several models; the first unless given")] = None


class ForUsers(Asked):
    user: Annotated[Ids, Field(min_length=1, description="ids of users, as in the data")]
    exclude: Annotated[
        Literal["known", "train", "nothing"],
        Field(description="leave out all that a user has, what the model was trained on, or nothing"),
    ] = "known"


class ForItems(Asked):
    item: Annotated[Ids, Field(min_length=1, description="ids of the items that somebody has")]


class ForItem(Asked):
    item: Annotated[Id, Field(description="id of an item")]


class Problem(BaseModel):
    error: str


class Item(BaseModel):
    rank: int
    item: str | int
    title: str | None
    score: float


class ItemList(BaseModel):
    items: list[Item]


class UserList(ItemList):
    user: str | int
    source: Literal["model", "fold-in", "popular"]


class UserLists(BaseModel):
    users: list[UserList]
    unknown: Annotated[list[str], Field(description="users whom the model does not know")]


class NewList(ItemList):
    source: Literal["fold-in"]
    unknown: Annotated[list[str], Field(description="items that the model does not know")]


class Health(BaseModel):
    model_config = ConfigDict(protected_namespaces=())

    models: list[dict[str, Any]]
    version: str


def make_app(models: Sequence[LiveModel], limits: Limits | None = None) -> Gate:
    """The application over models, the first of which answers unless another is named."""
    batcher = Batcher()
    by_name = {live.name: live for live in reversed(models)}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        watch = asyncio.create_task(_watch(models))
        yield
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        batcher.close()

    app = FastAPI(
        title="sahcns", version=__version__, description=__doc__, lifespan=lifespan, docs_url=None, redoc_url=None,
        responses={code: {"model": Problem} for code in (400, 401, 404, 413, 429)},
    )  # fmt: skip
    gate = Gate(app, limits or Limits(), batcher, models)

    def pick(asked: Asked) -> Recommender:
        if asked.model is None:
            return models[0].model
        if asked.model not in by_name:
            raise DataError(f"there is no model {asked.model!r}; {nearest(asked.model, by_name)}")
        return by_name[asked.model].model

    async def recommend(asked: ForUsers) -> Response:
        model = pick(asked)
        users, unknown = split_known(asked.user, model.user_ids, "user")
        if len(users) * asked.k > MOST_ROWS:
            raise SettingError(
                f"{len(users):,} users with {asked.k} items each are more than the {MOST_ROWS:,} that fit into one answer; "
                "ask for fewer at a time, or write them into a file with `sahcns recommend --to`"
            )
        hidden = model.hidden(asked.without)
        wishes = [Wish(asked.k, user, exclude=asked.exclude, hidden=hidden) for user in users]
        lists = await batcher.rank(model, wishes)
        ids = model.user_ids.decode(users)
        rows = [
            {"user": user, "source": one.source, "items": rows_of(model, one)}
            for user, one in zip(ids, lists, strict=True)
        ]
        return _json({"users": rows, "unknown": unknown})

    async def recommend_new(asked: ForItems) -> Response:
        model = pick(asked)
        items, unknown = split_known(asked.item, model.item_ids, "item")
        wish = Wish(asked.k, items=torch.tensor(items), hidden=model.hidden(asked.without))
        (found,) = await batcher.rank(model, [wish])
        return _json({"source": found.source, "items": rows_of(model, found), "unknown": unknown})

    @app.get("/recommend", response_model=UserLists)
    async def lists_of_users(asked: Annotated[ForUsers, Query()]) -> Response:
        """The best items of users. Each list says its source: the model, a fold-in of what is known, or what is popular."""
        return await recommend(asked)

    @app.post("/recommend", response_model=UserLists)
    async def lists_of_many_users(asked: ForUsers) -> Response:
        """The same, with the fields in the body."""
        return await recommend(asked)

    @app.get("/new", response_model=NewList)
    async def list_of_somebody_new(asked: Annotated[ForItems, Query()]) -> Response:
        """The best items for somebody whom the model does not know, from the items that they have."""
        return await recommend_new(asked)

    @app.post("/new", response_model=NewList)
    async def list_of_a_basket(asked: ForItems) -> Response:
        """The same, with the fields in the body."""
        return await recommend_new(asked)

    @app.get("/similar", response_model=ItemList)
    def similar_items(asked: Annotated[ForItem, Query()]) -> Response:
        """Items whose vectors point most nearly the same way."""
        found = pick(asked).similar_items(asked.item, asked.k, without=asked.without)
        return _json({"items": list_rows(found)})

    @app.get("/popular", response_model=ItemList)
    def popular_items(asked: Annotated[Asked, Query()]) -> Response:
        """What most people have, for somebody of whom nothing is known."""
        found = pick(asked).popular(asked.k, without=asked.without)
        return _json({"items": list_rows(found)})

    @app.get("/health", response_model=Health)
    async def health() -> Response:
        """Which models answer, since when, and why a newer one does not."""
        return _json({"models": [_description(live) for live in models], "version": __version__})

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(gate.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")

    _handle_errors(app)
    _without_422(app)
    return gate


async def _watch(models: Sequence[LiveModel]) -> None:
    """New models are loaded in a thread of their own while the former ones answer."""
    while True:
        await asyncio.sleep(REFRESH_SECONDS)
        for live in models:
            await asyncio.to_thread(live.refresh)


def split_known(ids: Sequence[str], known: IdMap, what: str) -> tuple[list[int], list[str]]:
    """Positions of the ids that the model knows, each once, and the others; an error where it knows none."""
    places = {one: known.find(one) for one in ids}
    rows = list(dict.fromkeys(place for place in places.values() if place is not None))
    if not rows:
        known.encode([ids[0]], what=what)  # raises the error that names it
    return rows, [one for one, place in places.items() if place is None]


def rows_of(model: Recommender, found: RankedList) -> list[dict[str, Any]]:
    """A list as plain values, as `sahcns recommend --json` shows it too."""
    titles = model.titles
    return [
        {"rank": rank, "item": item, "title": None if titles is None else titles[at] or None, "score": score}
        for rank, (item, at, score) in enumerate(
            zip(model.item_ids.decode(found.items), found.items, found.scores, strict=True), 1
        )
    ]


def _description(live: LiveModel) -> dict[str, Any]:
    model = live.model
    parts = {name: model.record.get(name) for name in ("backbone", "sampler", "seed")}
    size = {"users": len(model.user_ids), "items": len(model.item_ids)}
    fingerprint = model.record.get("data", {}).get("fingerprint")
    return {
        "name": live.name,
        **size,
        "fingerprint": fingerprint,
        **parts,
        "written": live.written,
        "not_loaded": live.not_loaded,
    }


def _json(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


def _handle_errors(app: FastAPI) -> None:
    def sentence(status: int) -> Callable[[Any, Exception], Response]:
        return lambda request, error: _json({"error": str(error)}, status)

    def invalid(request: Any, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part not in ("query", "body")) or "the body"
        return _json({"error": f"{place}: {first['msg']}"}, 400)

    def refused(request: Any, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _json({"error": error.detail}, error.status_code)

    app.add_exception_handler(DataError, sentence(404))  # an id that is not there
    app.add_exception_handler(SahcnsError, sentence(400))
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(
        Exception, lambda request, error: _json({"error": "a fault of the service; its log has more"}, 500)
    )


def _without_422(app: FastAPI) -> None:
    """What FastAPI documents as 422 is answered with 400 here."""
    document = app.openapi()
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
