"""The answers of `service` over HTTP, with nothing but Python's own server.

Every answer is JSON, refusals too. GET and HEAD ask by the query; POST takes the same fields in the body, as a form or as a
JSON object, for those who have more items than fit into an address.
"""

import errno
import json
import socket
import sys
import threading
import traceback
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from sahcns.errors import DataError, SahcnsError, SettingError
from sahcns.serving.service import Current, answer, form_of, query_of

LARGEST = 1 << 20  # bytes of a body: some ten thousand ids
LAST = 10.0  # seconds that an end waits for answers under way


class Server(ThreadingHTTPServer):
    """A thread for each connection."""

    request_queue_size = 1024  # socketserver lets 5 wait to be accepted: of a burst of more, some never are
    daemon_threads = True

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self.host, self.address_family = host, _family(host)
        self.ending = False  # from now on every connection ends with its answer
        self._quiet, self._under_way, self._over = threading.Condition(), 0, False
        super().__init__((host, port), handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            with suppress(OSError):  # so that :: is everywhere, IPv4 included, whatever the system likes
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    @property
    def url(self) -> str:
        """Where it answers, such as http://127.0.0.1:8000 or http://[::1]:8000."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.server_port}"

    def server_close(self) -> None:
        """Take nobody in any more, and end once those who have asked have their answers.

        A thread that the end of Python meets within torch would take the process down by a signal.
        """
        super().server_close()
        with self._quiet:
            self.ending = True
            self._quiet.wait_for(lambda: not self._under_way, LAST)
            self._over = True

    def begin(self) -> bool:
        """Whether a request can still be answered; if so, `done` follows."""
        with self._quiet:
            self._under_way += not self._over
            return not self._over

    def done(self) -> None:
        with self._quiet:
            self._under_way -= 1
            self._quiet.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The other side may leave at any moment, which is not worth a word; anything else is."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def serve(current: Current, host: str = "127.0.0.1", port: int = 8000) -> Server:
    """A server that answers once `serve_forever` is called on it; port 0 takes one that is free.

    `host` is a name, an IPv4 address or an IPv6 one, in brackets or not.
    """
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections stay open, which is most of the speed of many small requests
        timeout = 60  # and are closed when nothing comes over them
        disable_nagle_algorithm = True  # else the body waits until the other side has confirmed the headers

        def do_GET(self) -> None:
            if self.headers.get("Content-Length", "0").strip("0") or "Transfer-Encoding" in self.headers:
                # left unread, it would be taken for the next request on the connection
                self.send_error(HTTPStatus.BAD_REQUEST, "a body goes with POST; GET asks by the address alone")
            else:
                self._answer()

        do_HEAD = do_GET

        def do_POST(self) -> None:
            length = ",".join(self.headers.get_all("Content-Length", []))
            chunked = "Transfer-Encoding" in self.headers  # which wins over a length, and is not read here
            if chunked or not (length.isascii() and length.isdigit() and len(length) < 18):
                self.send_error(HTTPStatus.LENGTH_REQUIRED, "a body must come with its Content-Length")
            elif int(length) > LARGEST:
                self.send_error(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body of {length} bytes is too large; {LARGEST} is the most"
                )
            elif len(body := self.rfile.read(int(length))) < int(length):
                self.send_error(HTTPStatus.BAD_REQUEST, f"the body ends after {len(body)} of its {length} bytes")
            else:
                self._answer(body.strip())

        def _answer(self, body: bytes = b"") -> None:
            if not server.begin():
                self.close_connection = True
                return
            try:
                found = self._found(body)
                self.close_connection |= server.ending
                self._send(*found)
            finally:
                server.done()

        def _found(self, body: bytes = b"") -> tuple[HTTPStatus, dict[str, Any]]:
            try:
                path, query = _address(self.path)
                # No field begins with a brace, and `curl -d` calls everything a form.
                if body.startswith(b"{") or (body and "json" in self.headers.get("Content-Type", "").lower()):
                    body = form_of(body)
                return HTTPStatus.OK, answer(current, path, query_of(b"&".join(filter(None, (query, body)))))
            except DataError as error:  # an id or a path that is not there
                return HTTPStatus.NOT_FOUND, {"error": str(error)}
            except SahcnsError as error:
                return HTTPStatus.BAD_REQUEST, {"error": str(error)}
            except Exception:
                traceback.print_exc(file=sys.stderr)
                return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "an error of the service; its log has more"}

        def _send(self, status: HTTPStatus, value: dict[str, Any]) -> None:
            content = f"{json.dumps(value, ensure_ascii=False)}\n".encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                if self.close_connection:
                    self.send_header("Connection", "close")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)
            except OSError:
                self.close_connection = True  # the other side left, or does not listen

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            """What cannot be understood as a request; nothing that follows on the connection can be either."""
            status = HTTPStatus(code)
            if status == HTTPStatus.REQUEST_URI_TOO_LONG:
                message = "the address is too long; send its fields in the body of a POST"
            elif status == HTTPStatus.NOT_IMPLEMENTED:
                message = f"there is no {self.command} here; ask with GET or POST"
            self.close_connection = True
            self._send(status, {"error": message or status.phrase})

        def log_message(self, format: str, *values: Any) -> None:
            """Nothing: what stands in front of a service keeps such logs."""

    try:
        server = Server(host, port, Handler)
        return server
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        if ":" in host and getattr(error, "errno", None) in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
            reason = "this machine has no such IPv6 address, or no IPv6 at all"
        raise SettingError(
            f"cannot listen on {host}, port {port}: {reason}; choose another with --port, or another --host"
        ) from error


def _family(host: str) -> socket.AddressFamily:
    """IPv4 wherever a name has such an address, else what it has."""
    found = [entry[0] for entry in socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM)]
    return socket.AF_INET if socket.AF_INET in found else found[0]


def _address(text: str) -> tuple[str, bytes]:
    """Path and query of what was asked for; the server hands its bytes on as Latin-1, and not everybody encodes them."""
    try:
        asked = urlsplit(text)
    except ValueError as error:
        raise SettingError(f"the address {text!r} cannot be read ({error})") from None
    return asked.path, asked.query.encode("latin-1")
