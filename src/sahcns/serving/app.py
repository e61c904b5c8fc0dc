"""The HTTP service: what can be asked of one or several models, as a FastAPI application with its OpenAPI document.

Every answer is JSON, refusals too: {"error": "a sentence"}. GET asks by the query; POST takes the same fields as a JSON
object, for those who have more items than fit into an address.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import torch
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Query, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from torch import Tensor

from sahcns.data.ids import IdMap
from sahcns.errors import DataError, SahcnsError, SettingError, nearest
from sahcns.model.recommender import Recommender, list_rows
from sahcns.model.wishes import NO_ITEMS, RankedList, Wish
from sahcns.samplers import SAHC
from sahcns.serving import schema
from sahcns.serving.batching import Batcher, BusyError
from sahcns.serving.gate import Gate
from sahcns.serving.live import LiveModel, Loaded
from sahcns.serving.page import add_page
from sahcns.serving.quick import QuickRoute
from sahcns.serving.search import item_row
from sahcns.version import __version__

if TYPE_CHECKING:
    from sahcns.serving.server import Settings

REFRESH_SECONDS = 1.0
THREADS = 2  # for what is no product of vectors: searches, explanations, long lists of ids
MOST_AT_ONCE = 200  # ids looked up while others wait


def make_app(models: Sequence[LiveModel], settings: "Settings") -> Gate:
    """The application over models, the first of which answers unless another is named."""
    batcher = Batcher()
    by_name = {live.name: live for live in reversed(models)}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = THREADS
        watch = asyncio.create_task(_watch(models))
        yield
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        batcher.close()

    app = FastAPI(
        title="sahcns", version=__version__, description=__doc__, lifespan=lifespan, docs_url=None, redoc_url=None,
        responses={code: {"model": schema.Problem} for code in (400, 401, 404, 413, 429, 503)},
    )  # fmt: skip
    gate = Gate(app, settings, batcher, models)

    def pick(asked: schema.ToModel) -> Loaded:
        if asked.model is None:
            return models[0].loaded
        if asked.model not in by_name:
            raise DataError(f"there is no model {asked.model!r}; {nearest(asked.model, by_name)}")
        return by_name[asked.model].loaded

    async def recommend(asked: schema.ForUsers) -> Response:
        loaded = pick(asked)
        model = loaded.model
        users, unknown, hidden = await looked_up(asked, model)
        if len(users) * asked.k > schema.MOST_ROWS:
            raise SettingError(
                f"{len(users):,} users with {asked.k} items each are more than the {schema.MOST_ROWS:,} that fit into one "
                "answer; ask for fewer at a time, or write them into a file with `sahcns recommend --to`"
            )
        wishes = [Wish(asked.k, user, exclude=asked.exclude, hidden=hidden) for user in users]
        names, pieces = iter(model.user_ids.decode(users)), batcher.pieces(model, wishes)

        def packed(lists: Sequence[RankedList]) -> bytes:
            rows = [{"user": next(names), "source": one.source, "items": rows_of(loaded, one)} for one in lists]
            return orjson.dumps(rows)[1:-1]

        lists = await anext(pieces)
        first, end = b'{"users":[' + packed(lists), b'],"unknown":' + orjson.dumps(unknown) + b"}"
        if len(lists) == len(users):
            return Response(first + end, media_type="application/json")

        async def piecewise() -> AsyncIterator[bytes]:
            yield first
            async for lists in pieces:
                yield b"," + packed(lists)
            yield end

        return StreamingResponse(piecewise(), media_type="application/json")

    async def recommend_new(asked: schema.ForItems) -> Response:
        loaded = pick(asked)
        model = loaded.model
        items, unknown, hidden = await looked_up(asked, model)
        (found,) = await batcher.rank(model, [Wish(asked.k, items=torch.tensor(items), hidden=hidden)])
        return _json({"source": found.source, "items": rows_of(loaded, found), "unknown": unknown})

    def quick(method: str, path: str, answers: type[BaseModel]) -> Callable[[Any], None]:
        return lambda ask: app.router.add_api_route(
            path, ask, methods=[method], response_model=answers, route_class_override=QuickRoute
        )

    @quick("GET", "/recommend", schema.UserLists)
    async def lists_of_users(asked: Annotated[schema.ForUsers, Query()]) -> Response:
        """The best items of users. Each list says its source: the model, a fold-in of what is known, or what is popular."""
        return await recommend(asked)

    @quick("POST", "/recommend", schema.UserLists)
    async def lists_of_many_users(asked: schema.ForUsers) -> Response:
        """The same, with the fields in the body."""
        return await recommend(asked)

    @quick("GET", "/new", schema.NewList)
    async def list_of_somebody_new(asked: Annotated[schema.ForItems, Query()]) -> Response:
        """The best items for somebody whom the model does not know, from the items that they have."""
        return await recommend_new(asked)

    @quick("POST", "/new", schema.NewList)
    async def list_of_a_basket(asked: schema.ForItems) -> Response:
        """The same, with the fields in the body."""
        return await recommend_new(asked)

    @app.get("/similar", response_model=schema.ItemList)
    def similar_items(asked: Annotated[schema.ForItem, Query()]) -> Response:
        """Items whose vectors point most nearly the same way."""
        model = pick(asked).model
        place_of(model.item_ids, asked.item, "item")
        found = model.similar_items(asked.item, asked.k, **limits_of(asked))
        return _json({"items": list_rows(found)})

    @quick("GET", "/popular", schema.ItemList)
    async def popular_items(asked: Annotated[schema.Asked, Query()]) -> Response:
        """What most people have, for somebody of whom nothing is known."""
        loaded = pick(asked)
        (found,) = await batcher.rank(loaded.model, [Wish(asked.k, hidden=hidden_of(loaded.model, asked))])
        return _json({"items": rows_of(loaded, found)})

    @app.get("/search", response_model=schema.Found)
    def search(asked: Annotated[schema.ForText, Query()]) -> Response:
        """People by their ids, items by their titles and ids."""
        return _json(pick(asked).search.find(asked.q, asked.k))

    @app.get("/categories", response_model=schema.Categories)
    def categories(asked: Annotated[schema.ToModel, Query()]) -> Response:
        """What `category` may be, and how many items each has."""
        shelves = pick(asked).model.shelves
        return _json({"categories": [{"category": name, "items": len(items)} for name, items in shelves.items()]})

    @app.get("/person", response_model=schema.Person)
    def person(asked: Annotated[schema.ForPerson, Query()]) -> Response:
        """What somebody of the data has, what most people have first."""
        model = pick(asked).model
        row = place_of(model.user_ids, asked.user, "user")
        known = model.known(row)
        best = known[model.holders[known].argsort(descending=True, stable=True)][: asked.k]
        items = [item_row(model, item) for item in best.tolist()]
        return _json({"user": model.user_ids[row], "count": len(known), "items": items})

    def explained(asked: schema.ForReasons | schema.ForNewReasons) -> Response:
        loaded = pick(asked)
        ids, having = loaded.model.item_ids, [] if isinstance(asked, schema.ForReasons) else asked.having
        if len(asked.item) * (asked.k + len(having)) > schema.MOST_REASONS:
            raise SettingError(
                f"{len(asked.item)} items with so many reasons are too much at once; ask for fewer, or a smaller k"
            )
        user = place_of(loaded.model.user_ids, asked.user, "user") if isinstance(asked, schema.ForReasons) else None
        items, have = ([place_of(ids, one, "item") for one in some] for some in (asked.item, having))
        return _json(
            {"explanations": [loaded.explain(item, asked.k, user, torch.tensor(have)) for item in dict.fromkeys(items)]}
        )

    @app.get("/explain", response_model=schema.Explanations)
    def explain(asked: Annotated[schema.ForReasons, Query()]) -> Response:
        """Which of the things that a user has carry the scores of items, and over which paths in the graph."""
        return explained(asked)

    @app.get("/explain/new", response_model=schema.Explanations)
    def explain_new(asked: Annotated[schema.ForNewReasons, Query()]) -> Response:
        """The same for somebody whom the model does not know, by the items that they have."""
        return explained(asked)

    @app.post("/explain/new", response_model=schema.Explanations)
    def explain_a_basket(asked: schema.ForNewReasons) -> Response:
        """The same, with the fields in the body."""
        return explained(asked)

    @app.get("/inspect", response_model=schema.Pair)
    def inspect(asked: Annotated[schema.ForPair, Query()]) -> Response:
        """A training pair under SAHC-NS: the pool, μ, σ, q of each candidate, the choice, and λ at each layer."""
        sampler = SAHC(pool=asked.pool, alpha=asked.alpha, lambda_max=asked.lambda_max)
        loaded = pick(asked)
        for ids, one, what in (
            (loaded.model.user_ids, asked.user, "user"),
            (loaded.model.item_ids, asked.item, "item"),
        ):
            if one is not None:
                place_of(ids, one, what)
        return _json(loaded.look(asked.user, asked.item, sampler, asked.seed))

    @app.get("/health", response_model=schema.Health)
    async def health() -> Response:
        """Which models answer, since when, and why a newer one does not."""
        return _json({"models": [live.described() for live in models], "version": __version__})

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(gate.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")

    add_page(app)
    _handle_errors(app)
    _without_422(app)
    return gate


async def _watch(models: Sequence[LiveModel]) -> None:
    """New models are loaded in a thread of their own while the former ones answer."""
    while True:
        await asyncio.sleep(REFRESH_SECONDS)
        for live in models:
            await asyncio.to_thread(live.refresh)


def place_of(known: IdMap, one: str, what: str) -> int:
    """The position of an id; the error names it and no other, which may be of somebody else."""
    place = known.find(one)
    if place is None:
        raise DataError(f"{what} {one!r} is not known to the model")
    return place


def split_known(ids: Sequence[str], known: IdMap, what: str) -> tuple[list[int], list[str]]:
    """Positions of the ids that the model knows, each once, and the others; an error where it knows none."""
    places = {one: known.find(one) for one in ids}
    rows = list(dict.fromkeys(place for place in places.values() if place is not None))
    if not rows:
        place_of(known, ids[0], what)
    return rows, [one for one, place in places.items() if place is None]


async def looked_up(
    asked: schema.ForUsers | schema.ForItems, model: Recommender
) -> tuple[list[int], list[str], Tensor]:
    """Whom or what is asked for, which ids are unknown, and what is not to be shown; in a thread where it takes long."""
    ids, known, what = (
        (asked.user, model.user_ids, "user")
        if isinstance(asked, schema.ForUsers)
        else (asked.item, model.item_ids, "item")
    )

    def look_up() -> tuple[list[int], list[str], Tensor]:
        return *split_known(ids, known, what), hidden_of(model, asked)

    long = len(ids) + len(asked.without) + len(asked.only) + MOST_AT_ONCE * (len(asked.category) > 1) > MOST_AT_ONCE
    return await run_in_threadpool(look_up) if long else look_up()


def limits_of(asked: schema.Asked) -> dict[str, Any]:
    """Which items a list may show, as the methods of a model take it."""
    return {"without": asked.without, "only": asked.only or None, "category": asked.category}


def hidden_of(model: Recommender, asked: schema.Asked) -> Tensor:
    return model.hidden(**limits_of(asked)) if asked.without or asked.only or asked.category else NO_ITEMS


def rows_of(loaded: Loaded, found: RankedList) -> orjson.Fragment:
    """A list as JSON, as `sahcns recommend --json` shows it too; put together from pieces, for it is asked for most."""
    scores = orjson.dumps(found.scores)[1:-1].split(b",")
    best = zip(map(loaded.name_fields, found.items), scores, strict=False)  # of no score there is one empty piece
    rows = (b'{"rank":%d,%b,"score":%b}' % (rank, name, score) for rank, (name, score) in enumerate(best, 1))
    return orjson.Fragment(b"[%b]" % b",".join(rows))


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(value), status, headers, media_type="application/json")


def _handle_errors(app: FastAPI) -> None:
    def sentence(status: int) -> Callable[[Any, Exception], Response]:
        return lambda request, error: _json(
            {"error": str(error)}, status, {"retry-after": "1"} if status == 429 else None
        )

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
    app.add_exception_handler(BusyError, sentence(429))
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
