"""How many requests the service answers, how fast, and whether it keeps its memory and every request through swaps.

A model of 100,000 users × 50,000 items × 64 with random vectors is served as a process and asked by wrk
(https://github.com/wg/wrk) for lists of 20, at 1, 32 and 64 connections. Then mixed load: lists of users, baskets, similar
and popular items, a search, at 32 connections for some minutes, while the folder gets a new model every few seconds and
other clients leave in the middle of their answers. Nothing may fail, and the memory must stay flat. With --hostile some
clients ask for whole batches without a pause, thousands of ids again and again, the longest lists and bodies, explanations by
the hundred; others send their headers or bodies letter by letter, do not read their answers, or only hold connections. The
ordinary requests must keep p99 below 500 ms without a failure, and the memory must stay below twice its start.

    python benchmarks/serving.py [--seconds 20] [--minutes 10] [--hostile] [--workers 1] [--json results.json]
"""

import argparse
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import torch

import sahcns
from sahcns.data.ids import IdMap, Texts
from sahcns.data.split import Pairs, Split

USERS, ITEMS, DIMENSIONS, EACH = 100_000, 50_000, 64, 30
GOALS = {1: {"p50": 5.0}, 32: {"rate": 1500.0, "p99": 100.0}, 64: {"rate": 1500.0, "p99": 100.0}}
LISTS = f"""
request = function() return wrk.format("GET", "/recommend?k=20&user=" .. math.random(0, {USERS - 1})) end
"""
MIXED = f"""
local at = 0
request = function()
  at = at + 1
  local user, item = math.random(0, {USERS - 1}), math.random(0, {ITEMS - 1})
  local kind = at - 10 * math.floor(at / 10)
  if kind == 0 then return wrk.format("GET", "/similar?item=" .. item) end
  if kind == 1 then return wrk.format("GET", "/new?item=" .. item .. "&item=" .. math.floor(item / 2)) end
  if kind == 2 then return wrk.format("GET", "/popular?k=10") end
  if kind == 3 then return wrk.format("GET", "/recommend?k=5&user=" .. user .. "&without=" .. item) end
  if kind == 4 then return wrk.format("GET", "/search?q=" .. item) end
  return wrk.format("GET", "/recommend?k=20&user=" .. user)
end
"""
REPORT = """
done = function(summary, latency, requests)
  io.write(string.format(
    'RESULT {"requests": %d, "seconds": %f, "failed": %d, "p50": %f, "p90": %f, "p99": %f, "worst": %f}\\n',
    summary.requests, summary.duration / 1e6,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status + summary.errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(90) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
"""


def make_model(seed: int) -> sahcns.Recommender:
    """Random vectors; everybody has about thirty items."""
    rng = np.random.default_rng(seed)
    keys = np.unique(rng.integers(0, USERS, USERS * EACH) * ITEMS + rng.integers(0, ITEMS, USERS * EACH))
    train = Pairs((keys // ITEMS).astype(np.int32), (keys % ITEMS).astype(np.int32))
    titles = Texts.of(f"Item number {item}" for item in range(ITEMS))
    split = Split(train, Pairs.none(), Pairs.none(), IdMap(np.arange(USERS)), IdMap(np.arange(ITEMS)), titles)
    users, items = (torch.from_numpy(rng.normal(size=(n, DIMENSIONS)).astype(np.float32)) for n in (USERS, ITEMS))
    return sahcns.Recommender.of(split, users, items, {}, {})


@contextmanager
def served(folder: Path, workers: int) -> Iterator[tuple[str, int]]:
    """The address and the process id of `sahcns serve`."""
    command = [sys.executable, "-m", "sahcns", "serve", str(folder), "--port", "0", "--json", "--workers", str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        url = json.loads("".join(process.stdout.readline() for _ in range(4)))["url"]
        wrk(url, LISTS, 4, 2)  # until every worker has its model
        yield url, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    if process.returncode:
        raise SystemExit(f"the service ended with {process.returncode}")


def wrk(url: str, script: str, connections: int, seconds: float) -> dict[str, float]:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script + REPORT)
        file.flush()
        threads = "1" if connections < 32 else "2"
        told = subprocess.run(
            ["wrk", "-t", threads, "-c", str(connections), "-d", f"{seconds:.0f}s", "--timeout", "10s", "-s", file.name, url],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    match = re.search(r"RESULT (.*)", told)
    assert match is not None, told
    found: dict[str, float] = json.loads(match[1])
    return {"connections": connections, "rate": found["requests"] / found["seconds"], **found}


def memory(pid: int) -> float:
    """MiB that the service and its workers hold."""
    pages = 0
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for one in (str(pid), *children):
        with suppress(OSError):
            pages += int(Path(f"/proc/{one}/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def leave(url: str, stop: threading.Event) -> None:
    """Ask, and be gone before the answer, or in the middle of it."""
    host, port = url.removeprefix("http://").split(":")
    at = 0
    while not stop.is_set():
        at += 1
        with suppress(OSError), socket.create_connection((host, int(port)), 5) as connection:
            connection.sendall(f"GET /recommend?k=1000&user={at % USERS} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            if at % 2:
                connection.recv(100)
        time.sleep(0.02)


def batch(url: str, stop: threading.Event, answers: Counter[int]) -> None:
    """The dearest questions that there are, one after the other."""
    some = [str(one) for one in range(0, USERS, 10)]
    bodies = {
        "many users": ("/recommend", {"user": some, "k": 20}),
        "one user again and again": ("/recommend", {"user": some[:50] * 200, "k": 1000}),
        "the longest lists": ("/recommend", {"user": some[:200], "k": 1000}),
        "ids that nobody knows": ("/recommend", {"user": [f"{one:0>90}x" for one in range(9999)] + ["1"]}),
        "a large basket": ("/new", {"item": some[:5000], "without": some[:5000], "k": 1000}),
        "reasons": ("/explain/new", {"item": some[:10], "having": some[:4900], "k": 1000}),
        "more reasons": ("/explain/new", {"item": some[:90], "having": some[:1000], "k": 100}),
        "a body too large": ("/new", {"item": ["1" * 1000] * 2000}),
    }
    texts = [(path, json.dumps(body)) for path, body in bodies.values()]
    at = threading.get_ident()
    while not stop.is_set():
        at += 1
        path, text = texts[at % len(texts)]
        with (
            suppress(OSError, HTTPException),
            closing(HTTPConnection(url.removeprefix("http://"), timeout=60)) as connection,
        ):
            connection.request("POST", path, text, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            answers[answer.status] += 1


def dawdle(url: str, stop: threading.Event, count: int = 1500) -> None:
    """Connections that send a letter now and then, read a letter now and then, or do nothing; new ones for those closed."""
    host, port = url.removeprefix("http://").split(":")
    address = (host, int(port))
    users = json.dumps({"user": [str(one) for one in range(200)], "k": 1000})
    heading = (
        f"POST /recommend HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {len(users)}"
    )
    starts = [
        b"",
        b"GET /popular HTTP/1.1\r\nX-Slow: ",
        f"{heading}\r\n\r\n".encode(),
        f"{heading}\r\n\r\n{users}".encode(),
    ]
    held = list[tuple[int, socket.socket]]()
    while not stop.wait(1.0):
        for at in range(len(held), count):
            with suppress(OSError):
                one = socket.create_connection(address, 5)
                one.setblocking(False)
                one.sendall(starts[at % 4])
                held.append((at % 4, one))
        still = []
        for kind, one in held:
            try:
                if kind in (1, 2):
                    one.send(b" ")
                elif not one.recv(1):
                    raise ConnectionError
                still.append((kind, one))
            except BlockingIOError:
                still.append((kind, one))
            except OSError:
                one.close()
        held = still
    for _, one in held:
        one.close()


def swap(folder: Path, models: list[sahcns.Recommender], every: float, stop: threading.Event) -> None:
    at = 0
    while not stop.wait(every):
        at += 1
        models[at % len(models)].save(folder)


def mixed(
    url: str, pid: int, folder: Path, minutes: float, models: list[sahcns.Recommender], hostile: int
) -> dict[str, Any]:
    stop, held, answers = threading.Event(), [memory(pid)], Counter[int]()
    threads = [
        threading.Thread(target=leave, args=(url, stop)),
        threading.Thread(target=swap, args=(folder, models, 5.0, stop)),
        *(threading.Thread(target=batch, args=(url, stop, answers)) for _ in range(hostile)),
        *(threading.Thread(target=dawdle, args=(url, stop)) for _ in range(min(hostile, 1))),
    ]
    for thread in threads:
        thread.start()
    totals: dict[str, float] = {"requests": 0, "failed": 0, "worst": 0.0, "p99": 0.0}
    ends = time.monotonic() + 60 * minutes
    try:
        while time.monotonic() < ends:
            found = wrk(url, MIXED, 32, min(15.0, max(1.0, ends - time.monotonic())))
            held.append(memory(pid))
            totals = {name: value + found[name] for name, value in totals.items() if name in ("requests", "failed")} | {
                name: max(totals[name], found[name]) for name in ("worst", "p99")
            }
            pace = f"{found['rate']:,.0f}/s, p99 {found['p99']:.1f} ms, failed {found['failed']}"
            print(f"  {pace}, {held[-1]:,.0f} MiB", flush=True)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return {**totals, "memory": held, "hostile": dict(answers)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="at each number of connections; 0 leaves it out")
    parser.add_argument("--minutes", type=float, default=10.0, help="of mixed load; 0 leaves it out")
    parser.add_argument("--hostile", type=int, nargs="?", const=6, default=0, help="clients beside, 6 unless told")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results: dict[str, Any] = {"load": []}
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "live"
        first = make_model(0)
        first.save(folder)
        with served(folder, given.workers) as (url, pid):
            for connections, goals in GOALS.items() if given.seconds else ():
                found = wrk(url, LISTS, connections, given.seconds)
                results["load"].append(found)
                missed = [
                    name
                    for name, goal in goals.items()
                    if (found[name] < goal if name == "rate" else found[name] > goal)
                ]
                pace = f"{found['rate']:7,.0f}/s, p50 {found['p50']:.1f} ms, p99 {found['p99']:.1f} ms"
                short = f", missed {' and '.join(missed)}" if missed else ""
                print(f"{connections:3} connections: {pace}, failed {found['failed']}{short}", flush=True)
            if given.minutes:
                print(f"mixed load for {given.minutes:g} minutes, a new model every 5 seconds, clients that leave")
                told = results["mixed"] = mixed(url, pid, folder, given.minutes, [make_model(1), first], given.hostile)
                print(
                    f"{told['requests']:,.0f} requests, failed {told['failed']:.0f}, p99 at worst {told['p99']:.1f} ms, "
                    f"memory {told['memory'][0]:,.0f} → {told['memory'][-1]:,.0f} MiB, at most {max(told['memory']):,.0f}"
                )
                if given.hostile:
                    asked = ", ".join(f"{count:,} × {status}" for status, count in sorted(told["hostile"].items()))
                    held = told["p99"] < 500 and not told["failed"] and max(told["memory"]) < 2 * told["memory"][0]
                    print(f"hostile clients got {asked}; {'held' if held else 'NOT HELD'}")
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
