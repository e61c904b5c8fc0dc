"""A program that asks a running service for lists, with nothing but Python's own library.

sahcns train ml-latest-small --epochs 20 --out runs/films
sahcns serve runs/films &
python examples/serve_client.py http://127.0.0.1:8000
"""

import json
import sys
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen


class Service:
    """The questions that a shop asks; an error carries the sentence of the service."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url, self.token = url.rstrip("/"), token

    def ask(self, path: str, body: dict[str, Any] | None = None, **query: Any) -> Any:
        address = f"{self.url}/{path}?{urlencode(query, doseq=True)}"
        request = Request(address, data=None if body is None else json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except HTTPError as error:
            raise LookupError(f"{error.code}: {json.load(error)['error']}") from None


def show(heading: str, items: list[dict[str, Any]]) -> None:
    print(heading)
    for one in items:
        print(f"    {one.get('title') or one['item']}")


def main(url: str) -> None:
    service = Service(url)
    model = service.ask("health")["models"][0]
    print(f"{model['name']}: {model['users']:,} people, {model['items']:,} things")

    somebody = service.ask("search", q="1")["users"][0]["user"]
    found = service.ask("recommend", user=somebody, k=3)["users"][0]
    show(f"for {somebody}, from the {found['source']}", found["items"])

    favourite = service.ask("popular", k=1)["items"][0]["item"]
    show(f"like {favourite}", service.ask("similar", item=favourite, k=3)["items"])
    show(f"for somebody new who has {favourite}", service.ask("new", {"item": [favourite], "k": 3})["items"])
    try:
        service.ask("recommend", user="nobody of that name")
    except LookupError as error:
        print(f"refused with {error}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
