"""The service over a real socket: answers, mistakes, many at once, a model that changes under it, and the gate before it."""

import contextlib
import dataclasses
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import torch
import uvicorn

from sahcns.backbones import LightGCN
from sahcns.data.ids import Texts
from sahcns.lab.inspect.pairs import inspect_pairs
from sahcns.model import Recommender, fit
from sahcns.model.wishes import rank_wishes
from sahcns.samplers import SAHC
from sahcns.serving import app as app_module
from sahcns.serving import live as live_module
from sahcns.serving.app import make_app
from sahcns.serving.gate import PATHS, Gate
from sahcns.serving.live import LiveModel
from sahcns.serving.page import FILES
from sahcns.serving.server import Settings, bind, uvicorn_options
from sahcns.training import Protocol
from tests.model.films import films, hardly_trained
from tests.model.test_recommender import made


@dataclass
class Running:
    port: int
    gate: Gate
    messages: list[str]

    def ask(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, Any]:
        with contextlib.closing(HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            text = json.dumps(body) if body is not None and not isinstance(body, bytes) else body
            sent = {"Content-Type": "application/json", **headers} if body is not None else headers
            connection.request(method, path, text, sent)
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if path != "/metrics" else content.decode()

    def items(self, path: str) -> list[Any]:
        status, found = self.ask(path)
        assert status == 200, found
        return [row["item"] for row in (found["users"][0] if "users" in found else found)["items"]]


@contextlib.contextmanager
def running(folder: Path, *others: Path, **told: Any) -> Iterator[Running]:
    messages, settings = list[str](), Settings(host="", **told)
    gate = make_app([LiveModel(one, messages.append) for one in (folder, *others)], settings)
    listening = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(gate, **uvicorn_options(settings)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    until(lambda: server.started)
    try:
        yield Running(listening.getsockname()[1], gate, messages)
    finally:
        server.should_exit = True
        thread.join()


def slowly(piece: bytes, times: int) -> Iterator[bytes]:
    for _ in range(times):
        yield piece
        time.sleep(0.01)


def until(found: Callable[[], bool]) -> None:
    ends = time.monotonic() + 10
    while not found():
        assert time.monotonic() < ends
        time.sleep(0.005)


@pytest.fixture
def model() -> Recommender:
    return made(films())


@pytest.fixture
def service(model: Recommender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(app_module, "REFRESH_SECONDS", 0.01)
    with running(model.save(tmp_path / "run")) as made_:
        yield made_


def test_answers_are_those_of_the_model(service: Running, model: Recommender) -> None:
    lists = model.recommend(["p03", "p10"], 3, without=[101])
    status, found = service.ask("/recommend?user=p03&user=p10&user=p03&user=nobody&k=3&without=101")
    assert status == 200
    assert found["unknown"] == ["nobody"]
    assert [one["user"] for one in found["users"]] == ["p03", "p10"]  # one list each, however often they are named
    for answer, expected in zip(found["users"], lists, strict=True):
        assert answer["source"] == "model"
        assert [(row["item"], row["title"]) for row in answer["items"]] == [(one.item, one.title) for one in expected]
        assert [row["score"] for row in answer["items"]] == pytest.approx([one.score for one in expected])
    assert service.items("/new?item=101&item=103&k=4") == [one.item for one in model.recommend_new([101, 103], 4)]
    assert service.ask("/new", "POST", {"item": [101, "103"], "k": 4}) == service.ask("/new?item=101&item=103&k=4")
    assert service.ask("/new?item=101&item=7")[1]["unknown"] == ["7"]
    assert service.items("/similar?item=101&k=3") == [one.item for one in model.similar_items(101, 3)]
    assert service.items("/popular?k=3") == [one.item for one in model.popular(3)]
    assert service.items("/recommend?user=p03&exclude=nothing") == [
        one.item for one in model.recommend(["p03"], exclude="nothing")[0]
    ]


def test_nobody_gets_a_list_from_a_vector_that_was_never_trained(tmp_path: Path) -> None:
    model = made(hardly_trained())
    with running(model.save(tmp_path / "run")) as service:
        fold, nothing = service.ask("/recommend?user=p02&user=p03&k=3")[1]["users"]
    assert (fold["source"], nothing["source"]) == ("fold-in", "popular")
    item = model.item_ids[5]
    assert [row["item"] for row in fold["items"]] == [one.item for one in model.recommend_new([item], 3)]
    assert [row["item"] for row in nothing["items"]] == [one.item for one in model.popular(3)]


@pytest.mark.parametrize(
    ("path", "status", "named"),
    [
        ("/recommend?user=nobody", 404, "nobody"),
        ("/new?item=7", 404, "7"),
        ("/recommend?user=p03&model=other", 404, "other"),
        ("/nowhere", 404, ""),
        ("/recommend", 400, "user"),
        ("/new?item=101&user=p03", 400, "user"),
        ("/recommend?user=p03&k=0", 400, "k"),
        ("/recommend?user=p03&k=1001", 400, "k"),
        ("/recommend?user=p03&exclude=seen", 400, "exclude"),
        ("/recommend?user=p03&k=%ff", 400, "k"),
    ],
)
def test_a_mistake_names_what_is_wrong(service: Running, path: str, status: int, named: str) -> None:
    found, content = service.ask(path)
    assert found == status
    assert named in content["error"]


def test_what_is_no_request(service: Running) -> None:
    assert service.ask("/recommend", "DELETE")[0] == 405
    assert service.ask("/recommend", "POST", b"{")[0] == 400
    assert service.ask("/recommend", "POST", {"user": ["p03"], "zip": 1})[0] == 400
    many = {"user": [f"p{one:02}" for one in range(24)] * 300, "k": 1000}
    assert service.ask("/recommend", "POST", many)[0] == 200  # repeats are one list each


def test_many_at_once_share_products(service: Running, model: Recommender) -> None:
    users = model.user_ids.decode(range(24))
    expected = {user: [one.item for one in model.recommend([user], 5)[0]] for user in users}
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda user: service.items(f"/recommend?user={user}&k=5"), users * 10))
    assert found == [expected[user] for user in users] * 10
    metrics = service.ask("/metrics")[1]
    assert 'sahcns_requests_total{path="/recommend",status="200"} 240.0' in metrics
    products = float(
        next(line for line in metrics.splitlines() if line.startswith("sahcns_products_total ")).split()[1]
    )
    assert products < 240


def test_one_failing_request_does_not_fail_those_beside_it(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    real = rank_wishes

    def fail(model: Recommender, wishes: Any) -> Any:
        if any(wish.k == 13 for wish in wishes):
            raise MemoryError
        return real(model, wishes)

    monkeypatch.setattr("sahcns.serving.batching.rank_wishes", fail)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: service.ask(f"/recommend?user=p03&k={k}")[0], [5, 13] * 8))
    assert found == [200, 500] * 8


def test_a_new_model_takes_over_without_a_lost_request(service: Running, tmp_path: Path) -> None:
    stop, failures = threading.Event(), []

    def client() -> int:
        count = 0
        while not stop.is_set():
            status, _ = service.ask("/recommend?user=p03")
            count += 1
            if status != 200:
                failures.append(status)
        return count

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(client) for _ in range(4)]
        try:
            for seed in (1, 2, 3):
                fresh = made(films(), seed=seed)
                fresh.save(tmp_path / "run")
                until(lambda: service.items("/recommend?user=p03") == [one.item for one in fresh.recommend(["p03"])[0]])  # noqa: B023
        finally:
            stop.set()
        assert min(one.result() for one in clients) > 3
    assert not failures
    assert len(service.messages) == 3
    shutil.rmtree(tmp_path / "run")
    assert service.ask("/recommend?user=p03")[0] == 200


def test_a_model_that_cannot_be_loaded_is_told_of_once(
    service: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "RETRY_SECONDS", 0.0)
    before, broken = service.ask("/recommend?user=p03"), made(films(), seed=1)
    (tmp_path / "run" / "next.json").write_text("{}")
    (tmp_path / "run" / "next.json").rename(tmp_path / "run" / "run.json")
    until(lambda: "run.json" in (service.ask("/health")[1]["models"][0]["not_loaded"] or ""))
    time.sleep(0.1)
    assert len(service.messages) == 1
    shutil.rmtree(tmp_path / "run")
    broken.item_vectors[3, 0] = -torch.inf
    with contextlib.suppress(Exception):
        broken.save(tmp_path / "run")
    assert service.ask("/recommend?user=p03") == before
    made(films(), seed=2).save(tmp_path / "run")
    until(lambda: service.ask("/recommend?user=p03") != before)
    assert service.ask("/health")[1]["models"][0]["not_loaded"] is None


def test_several_models(model: Recommender, tmp_path: Path) -> None:
    other = made(films(), seed=5)
    with running(model.save(tmp_path / "one"), other.save(tmp_path / "two")) as service:
        assert service.items("/recommend?user=p03") == [one.item for one in model.recommend(["p03"])[0]]
        assert service.items("/recommend?user=p03&model=two") == [one.item for one in other.recommend(["p03"])[0]]
        assert [one["name"] for one in service.ask("/health")[1]["models"]] == ["one", "two"]


def test_the_gate(model: Recommender, tmp_path: Path) -> None:
    told: Any = {"allow_hosts": ("shop.example",), "token": "secret", "most_body": 2000}
    with running(model.save(tmp_path / "run"), **told) as service:
        good = {"Host": "shop.example", "Authorization": "Bearer secret"}
        assert service.ask("/popular", **good)[0] == 200
        assert service.ask("/popular", **{**good, "Host": "shop.example:8000"})[0] == 200
        assert service.ask("/popular", **{**good, "Host": "evil.example"})[0] == 400
        assert service.ask("/popular", Host="shop.example")[0] == 401
        assert service.ask("/popular", **{**good, "Authorization": "Bearer secreT"})[0] == 401
        assert service.ask("/health", Host="shop.example")[0] == 200
        assert service.ask("/new", "POST", {"item": ["1"] * 1000}, **good)[0] == 413
        with contextlib.closing(HTTPConnection("127.0.0.1", service.port, timeout=10)) as connection:
            sent = {**good, "Content-Type": "application/json"}
            connection.request("POST", "/new", slowly(b', "101"' * 100, 10), sent, encode_chunked=True)
            assert connection.getresponse().status == 413  # though it was too large before it had come whole


def test_too_many_at_once_are_asked_to_come_again(model: Recommender, tmp_path: Path) -> None:
    with running(model.save(tmp_path / "run"), most_waiting=2) as service:
        service.gate.count = 2
        assert service.ask("/popular")[0] == 429
        service.gate.count = 0
        assert service.ask("/popular")[0] == 200


def test_what_may_be_shown(tmp_path: Path) -> None:
    split = films()
    shelves = Texts.of("Odd|All" if one % 2 else "All" for one in range(split.n_items))
    model = made(dataclasses.replace(split, categories=shelves))
    with running(model.save(tmp_path / "run")) as service:
        odd = [one.item for one in model.recommend(["p03"], 5, only=range(101, 120, 2), without=[103])[0]]
        assert service.items("/recommend?user=p03&k=5&category=odd&without=103") == odd
        assert service.items("/popular?only=101&only=110&only=7&category=Odd") == [101]
        status, found = service.ask("/new", "POST", {"item": [101], "only": [102, 104], "category": ["all"], "k": 9})
        assert (status, {row["item"] for row in found["items"]}) == (200, {102, 104})
        status, found = service.ask("/popular?category=odds")
        assert (status, "'Odd'" in found["error"]) == (404, True)
        assert service.ask("/categories")[1]["categories"] == [
            {"category": "All", "items": 20}, {"category": "Odd", "items": 10}
        ]  # fmt: skip


def test_search_and_person(service: Running, model: Recommender) -> None:
    found = service.ask("/search?q=film%20101")[1]["items"]
    assert [row["item"] for row in found] == [101]
    assert found[0]["people"] == int(model.holders[1])
    assert service.ask("/search?q=P1&k=100")[1]["users"][0]["user"].startswith("p1")
    _, person = service.ask("/person?user=p03&k=2")
    row = model.user_ids.find("p03")
    assert row is not None
    assert (person["count"], len(person["items"])) == (len(model.known(row)), 2)
    assert service.ask("/person?user=nobody")[0] == 404


def test_explanations_are_those_of_the_model(service: Running, model: Recommender) -> None:
    item = service.items("/recommend?user=p03")[0]
    (why,) = service.ask(f"/explain?user=p03&item={item}&k=2")[1]["explanations"]
    expected = model.explain("p03", item)
    assert [one["item"] for one in why["reasons"]] == [one.item for one in expected.reasons[:2]]
    parts = why["own"] + why["others"] + sum(one["part"] for one in why["reasons"])
    assert parts == pytest.approx(expected.score, abs=1e-5)
    basket = service.ask("/explain/new", "POST", {"having": [101, 103], "item": [105, 107]})[1]["explanations"]
    assert [one["score"] for one in basket] == pytest.approx(
        [model.explain_new([101, 103], one).score for one in (105, 107)]
    )
    assert service.ask("/explain?item=101&user=nobody")[0] == 404


def test_a_pair_is_that_of_the_library(tmp_path: Path) -> None:
    run = fit(films(), LightGCN(dim=4, depth=2), protocol=Protocol(epochs=2, batch=64))
    with running(run.recommender.save(tmp_path / "run")) as service:
        status, found = service.ask("/inspect?user=p03&alpha=0.7&lambda_max=0.2&pool=6&seed=4")
        sampler = SAHC(pool=6, alpha=0.7, lambda_max=0.2)
        item = found["pair"]["item"]
        (view,) = inspect_pairs(run, sampler=sampler, seed=4, user="p03", item=item, batch=1)
        assert status == 200
        assert found["pair"] == json.loads(json.dumps(view.to_dict()))
        larger = service.ask(f"/inspect?user=p03&item={item}&pool=12&seed=4")[1]["pair"]["pool"]
        assert [one["item"] for one in larger[:6]] == [one.item for one in view.pool]  # a larger pool holds a smaller
        assert service.ask("/inspect")[0] == 200
        assert service.ask("/inspect?item=107")[1]["pair"]["item"] == 107
        assert service.ask("/inspect?user=nobody")[0] == 404


def test_a_model_without_layers_has_no_sampler(service: Running) -> None:
    status, found = service.ask("/inspect?user=p03")
    assert status == 404
    assert "run" in found["error"]


def test_the_page_is_sent_once(service: Running) -> None:
    with contextlib.closing(HTTPConnection("127.0.0.1", service.port, timeout=10)) as connection:
        for path, (_, kind) in FILES.items():
            connection.request("GET", path)
            answer = connection.getresponse()
            assert (answer.status, answer.headers["content-type"]) == (200, kind)
            assert answer.read()
            connection.request("GET", path, headers={"If-None-Match": answer.headers["etag"]})
            again = connection.getresponse()
            assert (again.status, again.read()) == (304, b"")


def test_the_document_describes_what_is_answered(service: Running) -> None:
    document = service.ask("/openapi.json")[1]
    assert set(document["paths"]) | {"/metrics", "/openapi.json", *FILES} == PATHS
    assert all("422" not in one["responses"] for path in document["paths"].values() for one in path.values())
