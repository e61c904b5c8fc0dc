"""`sahcns serve` as a process: it says where it answers, answers, and ends with Ctrl-C or a SIGTERM."""

import json
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from tests.cli.conftest import Sahcns, refused
from tests.cli.short_runs import served
from tests.model.films import films
from tests.model.test_recommender import made


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_until_it_is_told_to_end(tmp_path: Path, end: signal.Signals) -> None:
    model = made(films())
    with served(model.save(tmp_path / "run"), end=end) as (told, said):
        assert told["run"] == str(tmp_path / "run")
        connection = HTTPConnection(told["url"].removeprefix("http://"), timeout=10)  # past any proxy of this machine
        connection.request("GET", "/recommend?user=p03&k=2")
        found = json.loads(connection.getresponse().read())
        connection.close()
    assert [row["item"] for row in found["users"][0]["items"]] == [one.item for one in model.recommend(["p03"], 2)[0]]
    assert said[0].startswith(f"{tmp_path / 'run'} answers at {told['url']}/recommend?user=…")
    assert said[-1] == "ended"


def test_it_ends_in_good_order_under_load(tmp_path: Path) -> None:
    """Threads that Python's end met within torch took the process down: `terminate called`, and a return code of -6."""
    run = made(films(count=6000), dim=512).save(tmp_path / "run")
    under_way = threading.Barrier(9)

    def client() -> int:
        """How many answers came whole before the service took nobody any more; half an answer is an error."""
        connection, answers = HTTPConnection(told["url"].removeprefix("http://"), timeout=10), 0
        while True:
            try:
                connection.request("GET", "/recommend?user=p03&k=1")
                answer = connection.getresponse()
            except (ConnectionError, HTTPException):
                return answers
            json.loads(answer.read())
            answers += 1
            if answers == 1:
                under_way.wait(20)

    with ThreadPoolExecutor(8) as pool:
        with served(run) as (told, said):
            clients = [pool.submit(client) for _ in range(8)]
            under_way.wait(20)
        assert min(one.result() for one in clients) >= 1
    assert said[1:] == ["ended"]


def test_several_processes_share_a_port_and_their_metrics(tmp_path: Path) -> None:
    run = made(films()).save(tmp_path / "run")
    with served(run, "--workers", "2") as (told, _):
        for _ in range(20):
            connection = HTTPConnection(told["url"].removeprefix("http://"), timeout=60)
            connection.request("GET", "/popular?k=1")
            assert connection.getresponse().read()
            connection.close()
        connection = HTTPConnection(told["url"].removeprefix("http://"), timeout=60)
        connection.request("GET", "/metrics")
        assert b'path="/popular",status="200"} 20.0' in connection.getresponse().read()
        connection.close()


def test_refusals(sahcns: Sahcns, tmp_path: Path) -> None:
    assert "is not a trained model" in refused(sahcns("serve", tmp_path))
    assert "invalid value for '--port'" in refused(sahcns("serve", tmp_path, "--port", "70000"))
