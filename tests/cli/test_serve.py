"""`sahcns serve` as a process: it says where it answers, answers, and ends with Ctrl-C or a SIGTERM."""

import json
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from tests.cli.conftest import Sahcns, refused
from tests.model.films import films
from tests.model.test_recommender import made


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_until_it_is_told_to_end(tmp_path: Path, end: signal.Signals) -> None:
    model = made(films())
    code = (
        f"from sahcns.cli import main; main(['serve', {str(model.save(tmp_path / 'run'))!r}, '--port', '0', '--json'])"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        told = json.loads("".join(lines))
        assert told["run"] == str(tmp_path / "run")
        connection = HTTPConnection(told["url"].removeprefix("http://"), timeout=10)  # past any proxy of this machine
        connection.request("GET", "/recommend?user=p03&k=2")
        found = json.loads(connection.getresponse().read())
        connection.close()
        assert [row["item"] for row in found["users"][0]["items"]] == [
            one.item for one in model.recommend(["p03"], 2)[0]
        ]
    finally:
        process.send_signal(end)
        _, told_on_the_way = process.communicate(timeout=30)
    assert process.returncode == 0
    assert told_on_the_way.splitlines()[0].startswith(f"{tmp_path / 'run'} answers at {told['url']}/recommend?user=…")
    assert told_on_the_way.splitlines()[-1] == "ended"


def test_it_ends_in_good_order_under_load(tmp_path: Path) -> None:
    """Threads that Python's end met within torch took the process down: `terminate called`, and a return code of -6."""
    run = made(films(count=6000), dim=512).save(tmp_path / "run")
    code = f"from sahcns.cli import main; main(['serve', {str(run)!r}, '--port', '0', '--json'])"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    place = json.loads("".join(process.stdout.readline() for _ in range(4)))["url"].removeprefix("http://")
    under_way = threading.Barrier(9)

    def client() -> int:
        """How many answers came whole before the service took nobody any more; half an answer is an error."""
        connection, answers = HTTPConnection(place, timeout=10), 0
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
        clients = [pool.submit(client) for _ in range(8)]
        try:
            under_way.wait(20)
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=30)
        finally:
            process.kill()
        assert min(one.result() for one in clients) >= 1
    assert (process.returncode, told.splitlines()[1:]) == (0, ["ended"])


def test_several_processes_share_a_port_and_their_metrics(tmp_path: Path) -> None:
    run = made(films()).save(tmp_path / "run")
    process = subprocess.Popen(
        [sys.executable, "-m", "sahcns", "serve", str(run), "--port", "0", "--workers", "2", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        place = json.loads("".join(process.stdout.readline() for _ in range(4)))["url"].removeprefix("http://")
        for _ in range(20):
            connection = HTTPConnection(place, timeout=60)
            connection.request("GET", "/popular?k=1")
            assert connection.getresponse().read()
            connection.close()
        connection = HTTPConnection(place, timeout=60)
        connection.request("GET", "/metrics")
        assert b'path="/popular",status="200"} 20.0' in connection.getresponse().read()
        connection.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_refusals(sahcns: Sahcns, tmp_path: Path) -> None:
    assert "is not a trained model" in refused(sahcns("serve", tmp_path))
    assert "invalid value for '--port'" in refused(sahcns("serve", tmp_path, "--port", "70000"))
