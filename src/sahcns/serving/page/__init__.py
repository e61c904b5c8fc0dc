"""The page at `/`: files beside this one, sent as they are. They hold no data; what they show, they ask of the service."""

from hashlib import sha256
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response

FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page/style.css": ("style.css", "text/css; charset=utf-8"),
    "/page/icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        f"/page/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8")
        for name in ("app", "ask", "parts", "finder", "lists", "sampler", "drawing")
    },
}
HEADERS = {
    # Nothing from elsewhere, nothing to elsewhere, and in nobody's frame.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def add_page(app: FastAPI) -> None:
    """Serve the files; who has one already is told that it is still the same."""
    home = files(__name__)
    for path, (name, kind) in FILES.items():
        content = home.joinpath(name).read_bytes()
        app.add_api_route(path, _sender(content, kind), methods=["GET", "HEAD"], include_in_schema=False)


def _sender(content: bytes, kind: str) -> Any:
    mark = f'"{sha256(content).hexdigest()[:16]}"'
    headers = {**HEADERS, "ETag": mark}

    async def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return send
