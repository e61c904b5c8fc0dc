"""The service over real connections: answers, refusals, and a new model taken up while it runs."""

import contextlib
import json
import os
import shutil
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import torch

from sahcns.data import Split
from sahcns.errors import SettingError
from sahcns.model import Recommender, load_model
from sahcns.serving import service
from sahcns.serving.server import LARGEST, Server, serve
from sahcns.serving.service import Current, rows
from tests.model.films import films
from tests.model.test_recommender import made

Ask = Callable[[str], tuple[int, Any]]


@pytest.fixture
def model() -> Recommender:
    return made(films())


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def server(model: Recommender, tmp_path: Path, told: list[str]) -> Iterator[Server]:
    made = serve(Current(model.save(tmp_path / "run"), told.append), port=0)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def request(server: Server, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, Any]:
    """Status and the JSON of an answer, which every answer is; None where it has no body."""
    with contextlib.closing(HTTPConnection("127.0.0.1", server.server_port, timeout=10)) as connection:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        content = answer.read()
        return answer.status, json.loads(content) if content else None


@pytest.fixture
def ask(server: Server) -> Ask:
    return lambda path: request(server, "GET", path)


def until(found: Callable[[], bool]) -> None:
    """Wait for what happens aside."""
    ends = time.monotonic() + 10
    while not found():
        assert time.monotonic() < ends
        time.sleep(0.001)


def test_users_get_what_the_model_gives_them(ask: Ask, model: Recommender) -> None:
    status, found = ask("/recommend?user=p03&user=p10&k=4&exclude=train&without=101")
    assert status == 200
    expected = model.recommend(["p03", "p10"], 4, exclude="train", without=[101])
    assert found == {
        "users": [{"user": "p03", "items": rows(expected[0])}, {"user": "p10", "items": rows(expected[1])}],
        "unknown": [],
    }
    assert found["users"][0]["items"][0]["title"] == f"Film {expected[0][0].item} ☕"


def test_a_user_newer_than_the_model_is_named_and_the_others_answered(ask: Ask, model: Recommender) -> None:
    status, found = ask("/recommend?user=new1&user=p10&user=new2&user=p03&k=2")
    assert status == 200
    lists = model.recommend(["p10", "p03"], 2)
    assert found["users"] == [
        {"user": user, "items": rows(items)} for user, items in zip(("p10", "p03"), lists, strict=True)
    ]
    assert found["unknown"] == ["new1", "new2"]
    assert ask("/recommend?user=new1&user=new2")[0] == 404


def test_somebody_new_and_items_alike(ask: Ask, model: Recommender) -> None:
    expected = rows(model.recommend_new([101, 104], 3))
    assert ask("/new?item=101&item=104&k=3") == (200, {"items": expected, "unknown": []})
    assert ask("/new?item=101&item=novelty&item=104&k=3") == (200, {"items": expected, "unknown": ["novelty"]})
    assert ask("/similar?item=104") == (200, {"items": rows(model.similar_items(104))})
    best = model.similar_items(104)[0].item
    assert ask(f"/similar?item=104&k=3&without={best}") == (200, {"items": rows(model.similar_items(104)[1:4])})


def test_a_user_of_whom_nothing_was_learnt_is_marked(ask: Ask, tmp_path: Path) -> None:
    split = Split.from_pairs([[0, 0], [0, 1], [1, 1]], [[2, 0]], n_items=4)
    made(split).save(tmp_path / "run")
    until(lambda: ask("/health")[1]["users"] == 3)
    status, found = ask("/recommend?user=0&user=2&k=1")
    assert (status, [entry["user"] for entry in found["users"]]) == (200, [0, 2])
    assert [entry.get("note", "").partition(",")[0] for entry in found["users"]] == ["", "no training pair"]


def test_what_most_people_have(ask: Ask, model: Recommender) -> None:
    best = model.popular(3)
    assert ask(f"/popular?k=2&without={best[0].item}") == (200, {"items": rows(best[1:])})


def test_health_says_which_model_answers(ask: Ask) -> None:
    status, found = ask("/health")
    assert (status, found["users"], found["items"], found["not_loaded"]) == (200, 24, 20, None)


def test_health_says_of_when_the_model_is_and_a_link_goes_forth_and_back(
    ask: Ask, model: Recommender, tmp_path: Path
) -> None:
    for day, people in ((1, films()), (2, Split.from_pairs([[0, 0], [1, 1]], n_items=4))):
        folder = made(people).save(tmp_path / f"day{day}")
        os.utime(folder / "run.json", (0, 1_772_323_200 + 86_400 * day))  # 2026-03-01 and so many days
    shutil.rmtree(tmp_path / "run")
    for day, users in ((1, 24), (2, 2), (1, 24)):
        (tmp_path / "next").symlink_to(f"day{day}")
        (tmp_path / "next").replace(tmp_path / "run")  # as ln -sfn does
        until(lambda day=day: ask("/health")[1]["written"] == f"2026-03-0{day + 1}T00:00:00Z")  # type: ignore[misc]
        assert ask("/health")[1]["users"] == users


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/recommend?user=nobody", 404, "user 'nobody' is not in the data"),
        ("/new?item=7", 404, "item '7' is not in the data (ids run from 100 to 119)"),
        ("/", 404, "there is no /; there are: /recommend, /new, /similar, /popular, /health"),
        ("/recommend", 400, "user is missing; give user=ID, once or more"),
        ("/new?item=101&user=p03", 400, "/new has no 'user'; there are: item, k, without"),
        ("/health?k=1", 400, "/health has no 'k'; it takes nothing"),
        ("/similar?item=101&item=102", 400, "item must be given once, and was given 2 times"),
        ("/similar", 400, "item must be given once, and was given 0 times"),
        ("/recommend?user=p03&k=0", 400, "k='0' must be a whole number from 1 to 1000"),
        ("/recommend?user=p03&k=99999999999999999999", 400, "k='99999999999999999999' must be a whole number"),
        ("/recommend?user=p03&k=²", 400, "k="),
        ("/recommend?user=p03&exclude=seen", 400, "exclude='seen' must be one of known, train, nothing"),
        ("/recommend?user=%ff", 400, "the query cannot be read"),
    ],
)
def test_a_mistake_is_a_sentence(ask: Ask, path: str, status: int, sentence: str) -> None:
    found = ask(path.replace("²", "%C2%B2"))
    assert found[0] == status
    assert found[1]["error"].startswith(sentence)


def test_many_at_once_over_connections_that_stay_open(ask: Ask, model: Recommender) -> None:
    expected = {user: rows(model.recommend([user], 5)[0]) for user in model.user_ids.decode(range(24))}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda user: ask(f"/recommend?user={user}&k=5"), [*expected] * 5))
    assert [answer[1]["users"][0]["items"] for answer in found] == [*expected.values()] * 5


def test_a_new_model_is_taken_up(ask: Ask, tmp_path: Path, told: list[str]) -> None:
    fresh, run = made(films(), seed=1), tmp_path / "run"
    before = ask("/recommend?user=p03")
    fresh.save(run)
    users = [{"user": "p03", "items": rows(fresh.recommend(["p03"])[0])}]
    after = (200, {"users": users, "unknown": []})
    assert before != after
    until(lambda: ask("/recommend?user=p03") == after)
    until(lambda: told == [f"{run} holds a new model, which answers from now on"])
    shutil.rmtree(run)
    assert ask("/recommend?user=p03") == after


def test_a_broken_model_is_told_of_once_and_in_health(
    ask: Ask, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told of every five seconds, and whoever asked /health saw nothing of it."""
    monkeypatch.setattr(service, "AGAIN", 0.0)
    run, tried, before = tmp_path / "run", [], ask("/recommend?user=p03")

    def load(folder: Path) -> Recommender:
        tried.append(folder)
        return load_model(folder)

    monkeypatch.setattr(service, "load_model", load)
    run.rename(tmp_path / "moved")
    why = f"{run / 'run.json'} is not the run of a trained model; make one with `sahcns train`"
    for version in (1, 2):
        run.mkdir(exist_ok=True)
        (run / "next.json").write_text("{}")
        (run / "next.json").rename(run / "run.json")
        tried.clear()
        until(lambda: ask("/recommend?user=p03") == before and len(tried) > 3)
        assert told == [f"the former model goes on: {why}"] * version
        status, health = ask("/health")
        assert (status, health["users"], health["not_loaded"]) == (200, 24, why)
    shutil.rmtree(run)
    (tmp_path / "moved").rename(run)
    assert ask("/health")[1]["not_loaded"] is None
    made(films(), seed=1).save(run)
    until(lambda: ask("/recommend?user=p03") != before)
    assert ask("/health")[1]["not_loaded"] is None


def test_the_former_model_answers_while_the_new_one_is_loaded_and_that_once(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who noticed the new model waited for it: seconds, where it is large."""
    loads, go_on = [], threading.Event()

    def slow(folder: Path) -> Recommender:
        loads.append(threading.current_thread())
        assert go_on.wait(10)
        return load_model(folder)

    monkeypatch.setattr(service, "load_model", slow)
    before = ask("/recommend?user=p03")
    made(films(), seed=1).save(tmp_path / "run")
    try:
        assert [ask("/recommend?user=p03") for _ in range(5)] == [before] * 5
    finally:
        go_on.set()
    until(lambda: ask("/recommend?user=p03") != before)
    assert [thread.daemon for thread in loads] == [False]  # so that the end of Python waits for it


def test_whatever_keeps_a_new_model_from_loading_the_former_goes_on(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(folder: Path) -> Recommender:
        raise MemoryError("no room")

    monkeypatch.setattr(service, "load_model", too_large)
    before = ask("/recommend?user=p03")
    made(films(), seed=1).save(tmp_path / "run")
    until(lambda: ask("/health")[1]["not_loaded"] == "MemoryError('no room')")
    assert ask("/recommend?user=p03") == before


def test_a_model_that_diverged_is_not_taken_up(ask: Ask, tmp_path: Path) -> None:
    before, fresh = ask("/recommend?user=p03"), made(films(), seed=1)
    fresh.item_vectors[3, 0] = -torch.inf
    fresh.save(tmp_path / "run")
    until(lambda: "item_vectors row 3" in (ask("/health")[1]["not_loaded"] or ""))
    assert ask("/recommend?user=p03") == before


def test_a_model_that_is_copied_over_another_waits_until_it_is_whole(
    ask: Ask, model: Recommender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cp` writes into the very files that are there; what answers must not change under it, nor end with them."""
    monkeypatch.setattr(service, "AGAIN", 0.0)
    before, asked = ask("/recommend?user=p03"), "/recommend?user=p03"
    other = made(films(people=12, count=10), seed=1).save(tmp_path / "other")
    *first, last = sorted(other.iterdir(), key=lambda file: (file.stem == "vectors", file.name))
    for file in first:
        (tmp_path / "run" / file.name).write_bytes(file.read_bytes())
        assert ask(asked) == before
        assert ask("/similar?item=119")[0] == 200
    (tmp_path / "run" / last.name).write_bytes(last.read_bytes())
    expected = rows(Recommender.load(other).recommend(["p03"])[0])
    until(lambda: ask(asked)[1]["users"][0]["items"] == expected)


def test_answers_under_way_arrive_when_it_ends(
    model: Recommender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(Current(model.save(tmp_path / "run"), print), port=0)
    asked, go_on = threading.Event(), threading.Event()

    def slow(*asking: Any) -> dict[str, Any]:
        asked.set()
        assert go_on.wait(10)
        return {"slow": True}

    monkeypatch.setattr("sahcns.serving.server.answer", slow)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    waiting = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    idle = socket.create_connection(("127.0.0.1", server.server_port), timeout=10)
    waiting.request("GET", "/health")
    assert asked.wait(10)
    server.shutdown()
    ending = threading.Thread(target=server.server_close)
    ending.start()
    while not server.ending:
        time.sleep(0.001)
    assert ending.is_alive()
    go_on.set()
    answered = waiting.getresponse()
    assert (answered.read(), answered.headers["Connection"]) == (b'{"slow": true}\n', "close")
    ending.join(10)
    idle.sendall(b"GET /health HTTP/1.1\r\n\r\n")  # too late: nothing is begun any more
    assert idle.recv(1) == b""
    idle.close()
    waiting.close()
    serving.join(10)


def test_a_port_that_is_taken(model: Recommender, tmp_path: Path) -> None:
    current = Current(model.save(tmp_path / "run"), print)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SettingError, match=f"cannot listen on 127.0.0.1, port {port}: .*; choose another"):
            serve(current, port=port)


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(("host", "asked"), [("::1", "::1"), ("[::1]", "::1"), ("::", "::1"), ("::", "127.0.0.1")])
def test_over_ipv6_where_the_system_has_it(model: Recommender, tmp_path: Path, host: str, asked: str) -> None:
    current = Current(model.save(tmp_path / "run"), print)
    if not _has_ipv6():
        with pytest.raises(SettingError, match="this machine has no such IPv6 address, or no IPv6 at all; choose"):
            serve(current, host, 0)
        return
    server = serve(current, host, 0)
    assert server.url == f"http://[{host.strip('[]')}]:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with contextlib.closing(HTTPConnection(asked, server.server_port, timeout=10)) as connection:
            connection.request("GET", "/recommend?user=p03&k=2")
            found = json.loads(connection.getresponse().read())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert found["users"][0]["items"] == rows(model.recommend(["p03"], 2)[0])


@pytest.mark.parametrize(
    ("host", "says"),
    [
        (
            "2001:db8::1",
            "cannot listen on 2001:db8::1, port 0: this machine has no such IPv6 address, or no IPv6 at all",
        ),
        ("::1::", "cannot listen on ::1::, port 0: "),
        ("a..b", "cannot listen on a..b, port 0: "),
        ("nowhere.invalid", "cannot listen on nowhere.invalid, port 0: "),
    ],
)
def test_where_nothing_can_listen(model: Recommender, tmp_path: Path, host: str, says: str) -> None:
    with pytest.raises(SettingError, match=f"^{says}.*choose another with --port, or another --host$"):
        serve(Current(model.save(tmp_path / "run"), print), host, 0)


def test_more_than_fits_into_an_address_comes_as_a_form(server: Server, model: Recommender) -> None:
    novelties = "".join(f"&item=novelty-{number}" for number in range(20_000))
    status, found = request(server, "POST", "/new?k=3", f"item=101&item=104{novelties}\r\n")
    assert (status, found["items"]) == (200, rows(model.recommend_new([101, 104], 3)))
    assert found["unknown"][::19_999] == ["novelty-0", "novelty-19999"]
    assert request(server, "POST", "/recommend?user=p03") == request(server, "GET", "/recommend?user=p03")


def test_methods_and_forms_that_are_not_understood(server: Server) -> None:
    assert request(server, "HEAD", "/health") == (200, None)
    assert request(server, "HEAD", "/nowhere") == (404, None)
    assert request(server, "PUT", "/health", "{}") == (501, {"error": "there is no PUT here; ask with GET or POST"})
    status, found = request(server, "POST", "/new", **{"Content-Length": str(LARGEST + 1)})
    assert (status, found["error"].split(";")[0]) == (413, f"a body of {LARGEST + 1} bytes is too large")
    assert request(server, "POST", "/new", **{"Content-Length": "-1"})[0] == 411
    assert request(server, "POST", "/new", "item=\udcff".encode("utf-8", "surrogateescape").decode("latin-1"))[0] == 400


@pytest.mark.parametrize(
    "sent",
    [
        "GET /health HTTP/1.1\r\nContent-Length: {length}\r\n\r\n",
        "HEAD /health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /popular HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
        "POST /popular HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: {length}\r\n\r\n",
    ],
)
def test_a_body_is_never_taken_for_the_next_request(server: Server, sent: str) -> None:
    """Behind a proxy that shares a connection among people, the answer to it would be somebody else's."""
    within = "GET /popular?k=1 HTTP/1.1\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        client.sendall(sent.format(length=len(within)).encode() + within.encode())
        content = b""
        with contextlib.suppress(ConnectionError):
            content = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert content.count(b"HTTP/1.1 ") <= 1
    assert b"HTTP/1.1 200" not in content


def test_one_request_cannot_ask_for_more_than_an_answer_can_hold(server: Server) -> None:
    status, found = request(server, "POST", "/recommend", "&".join(["user=p03"] * 20_001 + ["k=10"]))
    assert status == 400
    assert found["error"].startswith(
        "20,001 users with 10 items each are more than the 200,000 that fit into one answer"
    )


def posted(server: Server, address: str, body: str) -> tuple[int, Any]:
    return request(server, "POST", address, body, **{"Content-Type": "application/json; charset=utf-8"})


def test_a_body_may_be_json(server: Server) -> None:
    asked = request(server, "GET", "/new?item=101&item=104&item=caf%C3%A9&k=3")
    assert asked[0] == 200
    assert posted(server, "/new", '{"item": [101, "104", "caf\\u00e9"], "k": 3}') == asked
    assert posted(server, "/new?k=3", '\n {"item": ["101", 104, "caf\\u00e9"]} ') == asked
    form = {"Content-Type": "application/x-www-form-urlencoded"}  # as `curl -d` says of everything
    assert request(server, "POST", "/new?k=3", '{"item": [101, 104, "caf\\u00e9"]}', **form) == asked
    assert posted(server, "/recommend?user=p03", "") == request(server, "GET", "/recommend?user=p03")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            '{"item": [1',
            "the JSON cannot be read (Expecting ',' delimiter: line 1 column 12 (char 11)); send an object, ",
        ),
        ("[" * 100_000, "the JSON cannot be read (maximum recursion depth exceeded"),
        ("[1, 2]", 'the JSON must be an object, such as {"item": [1, 260], "k": 5}'),
        ('{"item": [1.5]}', "item must be a text or a whole number, or a list of them, such as "),
        ('{"item": 1, "k": true}', "k must be a text or a whole number, or a list of them, such as "),
        ('{"item": [[1]]}', "item must be a text or a whole number, or a list of them, such as "),
        ('{"item": null}', "item must be a text or a whole number, or a list of them, such as "),
        ('{"item": "\\ud800"}', "the JSON has a text that is none (surrogates not allowed)"),
        ('{"k": 3}', "item is missing; give item=ID, once or more"),
    ],
)
def test_json_that_is_not_understood(server: Server, body: str, says: str) -> None:
    status, found = posted(server, "/new", body)
    assert status == 400
    assert found["error"].startswith(says)


def test_a_form_that_ends_too_early_is_refused(server: Server) -> None:
    """The sending side is closed in the middle of it: half a list of items is not what was asked."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        client.sendall(b"POST /new HTTP/1.1\r\nContent-Length: 21\r\nConnection: close\r\n\r\nitem=101&item=1")
        client.shutdown(socket.SHUT_WR)
        content = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert content.split(b" ", 2)[1] == b"400"
    assert b"the body ends after 15 of its 21 bytes" in content


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("/recommend?user=Zoë", "user 'Zoë' is not in the data"),  # as it is, and not percent-encoded
        ("http://[half/health", "the address 'http://[half/health' cannot be read"),
    ],
)
def test_addresses_that_no_library_would_send(server: Server, address: str, sentence: str) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        client.sendall(f"GET {address} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
        content = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert sentence in content.decode()


def test_a_crowd_that_comes_at_once_is_let_in(model: Recommender, tmp_path: Path) -> None:
    """Connections wait until the server has a moment for them; the system turns away those for whom there is no place."""
    server = serve(Current(model.save(tmp_path / "run"), print), port=0)
    with contextlib.ExitStack() as crowd:
        crowd.callback(server.server_close)
        for _ in range(100):
            crowd.enter_context(socket.create_connection(("127.0.0.1", server.server_port), timeout=1))


@pytest.mark.parametrize("path", ["/recommend?user=p03", "/recommend?user=nobody", "half a req"])
def test_whoever_leaves_before_the_answer_is_not_worth_a_word(
    ask: Ask, server: Server, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(20):
        client = socket.create_connection(("127.0.0.1", server.server_port), timeout=10)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leave by a reset
        client.sendall(f"GET {path}".encode() + (b"" if " " in path else b" HTTP/1.1\r\n\r\n"))
        client.close()
    assert ask("/health")[0] == 200
    assert capfd.readouterr().err == ""
