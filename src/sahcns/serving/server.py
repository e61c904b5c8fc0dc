"""The application on uvicorn: one process, or several that share a port."""

import gc
import json
import os
import socket
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from sahcns.errors import SahcnsError, SettingError

ENVIRONMENT = "SAHCNS_SERVE"  # how worker processes learn their settings
DRAIN_SECONDS = 10  # that an end waits for answers under way
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Settings:
    """What `sahcns serve` was told.

    token         that requests must bear; none asks for none
    most_body     bytes of a body
    most_waiting  requests under way at once; more are answered 429
    most_seconds  from the headers of a request until its answer has been read
    """

    runs: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    workers: int = 1
    allow_hosts: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    token: str = ""
    most_body: int = 1 << 20
    most_waiting: int = 512
    most_connections: int = 1024
    access_log: bool = False
    most_seconds: float = 30.0

    @property
    def hosts(self) -> frozenset[str]:
        """Names that the service answers to: its own on loopback, any where it listens to others and none is given."""
        if self.allow_hosts or self.host in LOOPBACK:
            return LOOPBACK | {self.host, *self.allow_hosts}
        return frozenset()


def make_application(settings: Settings) -> Any:
    """The models loaded, and the application over them."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise SahcnsError(f"serving needs {error.name}, which is not installed; pip install 'sahcns[serve]'") from None
    import torch
    from starlette.middleware.cors import CORSMiddleware

    from sahcns.serving.app import make_app
    from sahcns.serving.live import LiveModel, map_large_blocks

    torch.set_num_threads(1)  # one thread multiplies and one answers; more would only be in their way
    map_large_blocks()
    tell = partial(print, file=sys.stderr, flush=True)
    models = [LiveModel(run, tell) for run in settings.runs]
    app: Any = make_app(models, settings)
    gc.collect()
    gc.freeze()  # or now and then all requests wait a third of a second while every object of torch's is looked at
    return CORSMiddleware(app, allow_origins=settings.cors, allow_headers=["*"]) if settings.cors else app


def worker_application() -> Any:
    """What each of several processes runs."""
    return make_application(Settings(**json.loads(os.environ[ENVIRONMENT])))


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; `host` is a name, an IPv4 address or an IPv6 one, in brackets or not."""
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        families = [entry[0] for entry in socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM)]
        family = socket.AF_INET if socket.AF_INET in families else families[0]
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with suppress(OSError):  # so that :: is everywhere, IPv4 included
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind((host, port))
        listening.listen(2048)  # from here on who comes waits, even while models are loaded
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingError(
            f"cannot listen on {host}, port {port}: {reason}; choose another with --port, or another --host"
        ) from error
    listening.set_inheritable(True)
    return listening


def url_of(listening: socket.socket) -> str:
    """Where it answers, such as http://127.0.0.1:8000 or http://[::1]:8000."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def uvicorn_options(settings: Settings) -> dict[str, Any]:
    from sahcns.serving.connection import Connection

    return {
        "http": Connection,
        "ws": "none",
        "log_level": "info" if settings.access_log else "error",  # a warning is one client's bad request
        "access_log": settings.access_log,
        "limit_concurrency": settings.most_connections,
        "timeout_graceful_shutdown": DRAIN_SECONDS,
        "timeout_keep_alive": 60,
        "server_header": False,
        "backlog": 2048,
    }


def _allow_files(connections: int) -> None:
    """As many open files as connections need, where the system lets us."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = connections + 256
        if 0 <= soft < wanted:  # below 0 is without end
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


def run(settings: Settings, application: Any, listening: socket.socket) -> None:
    """Answer until a SIGINT or a SIGTERM; those who have asked get their answers first."""
    import uvicorn

    _allow_files(settings.most_connections)
    options = uvicorn_options(settings)
    if settings.workers == 1:
        uvicorn.Server(uvicorn.Config(application, **options)).run(sockets=[listening])
        return
    with tempfile.TemporaryDirectory(prefix="sahcns-metrics-") as folder:
        os.environ[ENVIRONMENT] = json.dumps(asdict(settings))
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # one answer to /metrics for all processes
        factory = f"{__name__}:worker_application"
        uvicorn.run(factory, factory=True, workers=settings.workers, fd=listening.fileno(), **options)
