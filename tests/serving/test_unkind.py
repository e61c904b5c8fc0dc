"""Clients that ask for too much, dawdle, or only hold connections: others are answered, and they are told or closed."""

import asyncio
import contextlib
import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sahcns.model import Recommender
from sahcns.model.wishes import RankedList, Wish, rank_wishes
from sahcns.serving import batching, connection
from sahcns.serving.batching import Batcher
from sahcns.serving.gate import HEAVY_WAITING, PIECE, Answer
from tests.model.films import films
from tests.model.test_recommender import made
from tests.serving.test_app import Running, running, until

EVERYBODY = [f"p{one:02}" for one in range(24)]
HEADING = "POST /recommend HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(films()).save(tmp_path / "run")


@pytest.fixture
def service(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """One that soon loses its patience."""
    for name, value in (("ASK_SECONDS", 0.2), ("READ_SECONDS", 0.2), ("LOOK_SECONDS", 0.02)):
        monkeypatch.setattr(connection, name, value)
    with running(folder, most_seconds=0.5, most_connections=8) as made_:
        yield made_


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], list[int]]:
    """Products take so long; how many lists there were in each."""

    def set_to(seconds: float) -> list[int]:
        sizes: list[int] = []

        def rank(model: Recommender, wishes: Any) -> Any:
            sizes.append(len(wishes))
            time.sleep(seconds)
            return rank_wishes(model, wishes)

        monkeypatch.setattr(batching, "rank_wishes", rank)
        return sizes

    return set_to


def connect(service: Running, sent: bytes) -> socket.socket:
    one = socket.create_connection(("127.0.0.1", service.port), 5)
    one.sendall(sent)
    return one


def is_closed(one: socket.socket) -> bool:
    """Whether the service ends a connection, within five seconds, without an answer."""
    with one:
        try:
            return one.recv(1000) == b""
        except ConnectionResetError:
            return True


@pytest.mark.parametrize(
    "start",
    ["", HEADING, f"{HEADING}Content-Length: 90\r\n\r\n{{", f"{HEADING}Content-Length: 90000\r\n\r\n{{"],
    ids=["nothing", "headers", "body", "long body"],
)
def test_who_asks_slowly_is_closed(service: Running, start: str) -> None:
    assert is_closed(connect(service, start.encode()))
    until(lambda: service.gate.count == service.gate.heavy == 0)


@pytest.mark.parametrize(
    "sent", [b"GET /popular HTTP/1.1\r\nX: " + b"a" * 500_000, b"GET /popular HTTP/1.1\r\nHost: h\r\n\r\n" * 5000]
)
def test_who_asks_without_end_is_closed(service: Running, sent: bytes) -> None:
    found = b""
    with contextlib.suppress(ConnectionError), connect(service, sent) as one:
        while piece := one.recv(1 << 16):
            found += piece
    assert found.count(b"HTTP/1.1 200") < 5000
    assert service.ask("/popular")[0] == 200


def test_who_does_not_read_is_cut_off(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the answer comes in pieces or whole, it is not kept for longer than it may take."""
    users = {"user": EVERYBODY * 400, "without": ["x" * 1000] * 9}
    monkeypatch.setattr(
        batching,
        "rank_wishes",
        lambda model, wishes: [RankedList([0] * 20_000, [0.5] * 20_000, "model") for _ in wishes],
    )
    body = json.dumps(users | {"k": 1000})
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", service.port))
    one.sendall(f"{HEADING}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    until(lambda: service.gate.count == 1)
    until(lambda: service.gate.count == 0)
    found = b""
    with contextlib.suppress(ConnectionError), one:
        one.settimeout(5)
        while piece := one.recv(1 << 20):
            found += piece
    assert not found.endswith(b"0\r\n\r\n")  # the end of a whole answer


def test_connections_that_only_stand_make_room(service: Running) -> None:
    held = [connect(service, b"") for _ in range(7)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: service.ask("/popular")[0], range(40)))
    assert found == [200] * 40
    for one in held:
        one.close()


def test_a_request_has_its_time(service: Running, slowly: Callable[[float], list[int]]) -> None:
    slowly(0.8)
    status, found = service.ask("/recommend?user=p03")
    assert (status, "0.5 seconds" in found["error"]) == (503, True)


def test_who_asks_for_one_list_waits_for_one_piece_of_a_thousand(slowly: Callable[[float], list[int]]) -> None:
    sizes, model = slowly(0.01), made(films())

    async def ask() -> tuple[int, int]:
        batcher, done = Batcher(), list[str]()

        async def many() -> int:
            return sum(
                [len(lists) async for lists in batcher.pieces(model, [Wish(20, one % 24) for one in range(640)])]
            )

        async def few() -> None:
            for _ in range(3):
                await batcher.rank(model, [Wish(20, 3)])
            done.append(str(len(sizes)))

        lists, _ = await asyncio.gather(many(), few())
        batcher.close()
        return lists, int(done[0])

    lists, products = asyncio.run(ask())
    assert lists == 640
    assert products <= 8 < 11 <= len(sizes)
    assert max(sizes) <= 64 + 1


def test_pieces_are_the_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(folder) as service:
        whole = service.ask("/recommend", "POST", {"user": [*EVERYBODY, "nobody"]})
        monkeypatch.setattr(batching, "PIECE", 100)
        assert service.ask("/recommend", "POST", {"user": [*EVERYBODY, "nobody"]}) == whole
        assert (len(whole[1]["users"]), whole[1]["unknown"]) == (24, ["nobody"])


def test_many_large_requests_at_once_are_asked_to_come_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, slowly: Callable[[float], list[int]]
) -> None:
    monkeypatch.setattr(batching, "PIECE", 100)
    monkeypatch.setattr(batching, "MOST_ITEMS", 500)
    slowly(0.05)
    with running(folder) as service:
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(lambda _: service.ask("/recommend", "POST", {"user": EVERYBODY})[0], range(3)))
        assert sorted(found) == [200, 429, 429]
        service.gate.heavy = HEAVY_WAITING
        assert service.ask("/explain?user=p03&item=101")[0] == 429
        assert service.ask("/recommend", "POST", {"user": ["p03"] * 9999})[0] == 429
        assert service.ask("/recommend?user=p03")[0] == 200
        service.gate.heavy = 0
        assert service.ask("/recommend", "POST", {"user": ["p03"] * 9999})[0] == 200


def test_heavy_requests_take_turns_and_hold_up_nobody(folder: Path, slowly: Callable[[float], list[int]]) -> None:
    slowly(0.2)
    with running(folder) as service:
        under_way: list[threading.Thread] = []
        for _ in range(4):
            under_way.append(threading.Thread(target=service.ask, args=("/new", "POST", {"item": ["101"] * 5000})))
            under_way[-1].start()
        until(lambda: service.gate.heavy == 4)
        began = time.monotonic()
        assert service.ask("/recommend?user=p03")[0] == 200
        assert time.monotonic() - began < 0.6  # one product under way and its own, not four before it
        for one in under_way:
            one.join()


@pytest.mark.parametrize(
    "path",
    [
        *("/recommend?user=p99", "/new?item=99", "/similar?item=99", "/person?user=p99", "/explain?user=p99&item=101"),
        *("/explain?user=p03&item=99", "/explain/new?having=99&item=101", "/inspect?user=p99", "/inspect?item=99"),
    ],
)
def test_an_unknown_id_brings_no_other_to_light(service: Running, path: str) -> None:
    status, found = service.ask(path)
    assert status == 404
    assert "99" in found["error"]
    assert not any(known in found["error"].replace("p99", "") for known in ("p0", "p1", "p2", "10", "11"))


def test_too_many_reasons_are_refused(service: Running) -> None:
    having = {"having": [str(one) for one in range(101, 120)] * 500, "item": list(range(101, 112)), "k": 1000}
    status, found = service.ask("/explain/new", "POST", having)
    assert (status, "11 items" in found["error"]) == (400, True)


def test_where_the_folder_lies_is_not_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sahcns.serving.app.REFRESH_SECONDS", 0.01)
    with running(folder) as service:
        (folder / "vectors.safetensors").unlink()
        (folder / "run.json").write_text(json.dumps(json.loads((folder / "run.json").read_text())))
        until(lambda: service.ask("/health")[1]["models"][0]["not_loaded"])
        told = service.ask("/health")[1]["models"][0]["not_loaded"]
        assert told.startswith("run/vectors.safetensors")
        assert str(folder) not in json.dumps(service.ask("/health"))
        shutil.rmtree(folder)


def test_a_long_answer_waits_for_its_reader() -> None:
    """No more of it is handed on than a piece at a time, which the server sends before it takes the next."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def answer() -> None:
        out = Answer(send)
        await out({"type": "http.response.start", "status": 200, "headers": []})
        await out({"type": "http.response.body", "body": bytes(range(256)) * 1000})

    asyncio.run(answer())
    assert max(len(one["body"]) for one in sent[1:]) <= PIECE
    assert b"".join(one["body"] for one in sent[1:]) == bytes(range(256)) * 1000
    assert [one.get("more_body", False) for one in sent[1:]] == [True] * (len(sent) - 2) + [False]
