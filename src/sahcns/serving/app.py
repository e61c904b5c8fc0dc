"""The HTTP service: what can be asked of one or several models, as a FastAPI application with its OpenAPI document.

Every answer is JSON, refusals too: {"error": "a sentence"}. GET asks by the query; POST takes the same fields as a JSON
object, for those who have more items than fit into an address.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

import orjson
import torch
from fastapi import FastAPI, Query, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from torch import Tensor

from sahcns.data.ids import IdMap
from sahcns.errors import DataError, SahcnsError, SettingError, nearest
from sahcns.model.explain import Explanation
from sahcns.model.recommender import Recommender, list_rows
from sahcns.model.wishes import NO_ITEMS, RankedList, Wish
from sahcns.samplers import SAHC
from sahcns.serving.batching import Batcher
from sahcns.serving.gate import Gate, Limits
from sahcns.serving.live import LiveModel, Loaded
from sahcns.serving.page import add_page
from sahcns.serving.quick import QuickRoute
from sahcns.serving.schema import (
    MOST_ROWS,
    Asked,
    Categories,
    Explanations,
    ForItem,
    ForItems,
    ForNewReasons,
    ForPair,
    ForPerson,
    ForReasons,
    ForText,
    ForUsers,
    Found,
    Health,
    ItemList,
    NewList,
    Pair,
    Person,
    Problem,
    ToExplain,
    ToModel,
    UserLists,
)
from sahcns.serving.search import item_row
from sahcns.version import __version__

REFRESH_SECONDS = 1.0


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

    def pick(asked: ToModel) -> Loaded:
        if asked.model is None:
            return models[0].loaded
        if asked.model not in by_name:
            raise DataError(f"there is no model {asked.model!r}; {nearest(asked.model, by_name)}")
        return by_name[asked.model].loaded

    async def recommend(asked: ForUsers) -> Response:
        loaded = pick(asked)
        model = loaded.model
        users, unknown = split_known(asked.user, model.user_ids, "user")
        if len(users) * asked.k > MOST_ROWS:
            raise SettingError(
                f"{len(users):,} users with {asked.k} items each are more than the {MOST_ROWS:,} that fit into one answer; "
                "ask for fewer at a time, or write them into a file with `sahcns recommend --to`"
            )
        hidden = hidden_of(model, asked)
        wishes = [Wish(asked.k, user, exclude=asked.exclude, hidden=hidden) for user in users]
        lists = await batcher.rank(model, wishes)
        ids = model.user_ids.decode(users)
        rows = [
            {"user": user, "source": one.source, "items": rows_of(loaded, one)}
            for user, one in zip(ids, lists, strict=True)
        ]
        return _json({"users": rows, "unknown": unknown})

    async def recommend_new(asked: ForItems) -> Response:
        loaded = pick(asked)
        model = loaded.model
        items, unknown = split_known(asked.item, model.item_ids, "item")
        wish = Wish(asked.k, items=torch.tensor(items), hidden=hidden_of(model, asked))
        (found,) = await batcher.rank(model, [wish])
        return _json({"source": found.source, "items": rows_of(loaded, found), "unknown": unknown})

    async def lists_of_users(asked: Annotated[ForUsers, Query()]) -> Response:
        """The best items of users. Each list says its source: the model, a fold-in of what is known, or what is popular."""
        return await recommend(asked)

    quick = functools.partial(app.router.add_api_route, methods=["GET"], route_class_override=QuickRoute)
    quick("/recommend", lists_of_users, response_model=UserLists)

    @app.post("/recommend", response_model=UserLists)
    async def lists_of_many_users(asked: ForUsers) -> Response:
        """The same, with the fields in the body."""
        return await recommend(asked)

    async def list_of_somebody_new(asked: Annotated[ForItems, Query()]) -> Response:
        """The best items for somebody whom the model does not know, from the items that they have."""
        return await recommend_new(asked)

    quick("/new", list_of_somebody_new, response_model=NewList)

    @app.post("/new", response_model=NewList)
    async def list_of_a_basket(asked: ForItems) -> Response:
        """The same, with the fields in the body."""
        return await recommend_new(asked)

    @app.get("/similar", response_model=ItemList)
    def similar_items(asked: Annotated[ForItem, Query()]) -> Response:
        """Items whose vectors point most nearly the same way."""
        found = pick(asked).model.similar_items(asked.item, asked.k, **limits_of(asked))
        return _json({"items": list_rows(found)})

    async def popular_items(asked: Annotated[Asked, Query()]) -> Response:
        """What most people have, for somebody of whom nothing is known."""
        loaded = pick(asked)
        (found,) = await batcher.rank(loaded.model, [Wish(asked.k, hidden=hidden_of(loaded.model, asked))])
        return _json({"items": rows_of(loaded, found)})

    quick("/popular", popular_items, response_model=ItemList)

    @app.get("/search", response_model=Found)
    def search(asked: Annotated[ForText, Query()]) -> Response:
        """People by their ids, items by their titles and ids."""
        return _json(pick(asked).search.find(asked.q, asked.k))

    @app.get("/categories", response_model=Categories)
    def categories(asked: Annotated[ToModel, Query()]) -> Response:
        """What `category` may be, and how many items each has."""
        shelves = pick(asked).model.shelves
        return _json({"categories": [{"category": name, "items": len(items)} for name, items in shelves.items()]})

    @app.get("/person", response_model=Person)
    def person(asked: Annotated[ForPerson, Query()]) -> Response:
        """What somebody of the data has, what most people have first."""
        model = pick(asked).model
        (row,) = model.rows([asked.user]).tolist()
        known = model.known(row)
        best = known[model.holders[known].argsort(descending=True, stable=True)][: asked.k]
        items = [item_row(model, item) for item in best.tolist()]
        return _json({"user": model.user_ids[row], "count": len(known), "items": items})

    def explained(found: list[Explanation], asked: ToExplain) -> Response:
        return _json({"explanations": [_explained(one, asked.k) for one in found]})

    @app.get("/explain", response_model=Explanations)
    def explain(asked: Annotated[ForReasons, Query()]) -> Response:
        """Which of the things that a user has carry the scores of items, and over which paths in the graph."""
        return explained(pick(asked).explain(asked.item, asked.user), asked)

    @app.get("/explain/new", response_model=Explanations)
    def explain_new(asked: Annotated[ForNewReasons, Query()]) -> Response:
        """The same for somebody whom the model does not know, by the items that they have."""
        return explained(pick(asked).explain_new(asked.item, asked.having), asked)

    @app.post("/explain/new", response_model=Explanations)
    def explain_a_basket(asked: ForNewReasons) -> Response:
        """The same, with the fields in the body."""
        return explained(pick(asked).explain_new(asked.item, asked.having), asked)

    @app.get("/inspect", response_model=Pair)
    def inspect(asked: Annotated[ForPair, Query()]) -> Response:
        """A training pair under SAHC-NS: the pool, μ, σ, q of each candidate, the choice, and λ at each layer."""
        sampler = SAHC(pool=asked.pool, alpha=asked.alpha, lambda_max=asked.lambda_max)
        return _json(pick(asked).inspector.look(asked.user, asked.item, sampler, asked.seed))

    @app.get("/health", response_model=Health)
    async def health() -> Response:
        """Which models answer, since when, and why a newer one does not."""
        return _json({"models": [_description(live) for live in models], "version": __version__})

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


def split_known(ids: Sequence[str], known: IdMap, what: str) -> tuple[list[int], list[str]]:
    """Positions of the ids that the model knows, each once, and the others; an error where it knows none."""
    places = {one: known.find(one) for one in ids}
    rows = list(dict.fromkeys(place for place in places.values() if place is not None))
    if not rows:
        known.encode([ids[0]], what=what)  # raises the error that names it
    return rows, [one for one, place in places.items() if place is None]


def limits_of(asked: Asked) -> dict[str, Any]:
    """Which items a list may show, as the methods of a model take it."""
    return {"without": asked.without, "only": asked.only or None, "category": asked.category}


def hidden_of(model: Recommender, asked: Asked) -> Tensor:
    return model.hidden(**limits_of(asked)) if asked.without or asked.only or asked.category else NO_ITEMS


def rows_of(loaded: Loaded, found: RankedList) -> list[dict[str, Any]]:
    """A list as plain values, as `sahcns recommend --json` shows it too."""
    named = map(loaded.name_of, found.items)
    return [
        {"rank": rank, "item": item, "title": title, "score": score}
        for rank, ((item, title), score) in enumerate(zip(named, found.scores, strict=True), 1)
    ]


def _explained(why: Explanation, k: int) -> dict[str, Any]:
    reasons = [{"item": one.item, "title": one.title, "part": one.part, "paths": one.paths} for one in why.reasons[:k]]
    others = sum(one.part for one in why.reasons[k:])
    return {
        "item": why.item, "title": why.title, "score": why.score, "own": why.own, "others": others, "exact": why.exact,
        "reasons": reasons,
    }  # fmt: skip


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
