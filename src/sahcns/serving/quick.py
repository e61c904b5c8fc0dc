"""A route that reads its question by itself, for what is asked a thousand times a second or with a thousand ids.

FastAPI documents it like any other. But it looks at every field of a query anew for each request, which takes as long as
all the rest of an answer; here the fields that are lists are looked up once. And it reads a body into Python's objects
before it checks one, while others wait.
"""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class QuickRoute(APIRoute):
    """The endpoint is asynchronous, takes one model of the query or of the body, and returns a response."""

    def get_route_handler(self) -> Handler:
        (asked,) = (kind for name, kind in get_type_hints(self.endpoint).items() if name != "return")
        lists = {name for name, field in asked.model_fields.items() if _is_list(field.annotation)}
        endpoint = self.endpoint

        async def answer(request: Request) -> Response:
            if self.body_field is None:
                question = _checked(asked.model_validate, _fields(lists, request.scope["query_string"]))
            else:
                question = _checked(asked.model_validate_json, await request.body())
            found: Response = await endpoint(question)
            return found

        return answer


def _fields(lists: set[str], query: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name in lists:
            fields.setdefault(name, []).append(value)
        else:
            fields[name] = value
    return fields


def _checked(check: Callable[[Any], BaseModel], values: Any) -> BaseModel:
    try:
        return check(values)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


def _is_list(annotation: Any) -> bool:
    return get_origin(get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation) is list
