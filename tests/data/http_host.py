"""A real HTTP server on this machine, in a thread, that can misbehave in the ways that servers do."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Host:
    """What the server serves and how; tests change it between requests.

    files        path → bytes
    changed      the day of 2026 on which every file was changed, sent with it; None sends none
    ranges       whether Range is honoured
    cut_after    bytes after which the connection is closed, used up by one request
    statuses     answers to give instead, first come first served
    asked        (path, Range header) of every request
    """

    files: dict[str, bytes]
    changed: int | None = 1
    ranges: bool = True
    if_range: bool = True
    cut_after: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""

    @property
    def last_modified(self) -> str | None:
        return None if self.changed is None else formatdate(1_767_225_600 + 86_400 * self.changed, usegmt=True)


@contextmanager
def serve(host: Host) -> Iterator[Host]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            host.asked.append((self.path, wanted))
            if host.statuses:
                self.refuse(host.statuses.pop(0))
            elif self.path not in host.files:
                self.refuse(404)
            else:
                self.send(host.files[self.path], wanted)

        def send(self, body: bytes, wanted: str | None) -> None:
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and host.ranges else 0
            if host.if_range and self.headers.get("If-Range") not in (None, host.last_modified):
                start = 0
            if start >= len(body) > 0:
                self.refuse(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            if host.last_modified:
                self.send_header("Last-Modified", host.last_modified)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            stop = start + host.cut_after.pop(0) if host.cut_after else len(body)
            self.wfile.write(body[start:stop])

        def refuse(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    host.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
