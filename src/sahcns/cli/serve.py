"""`sahcns serve`."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from sahcns.cli.console import Json, show_json, tell
from sahcns.cli.options import argument, option
from sahcns.errors import DataError


def command(
    runs: Annotated[list[Path], argument("Folders from `sahcns train`; the first answers unless asked.", "RUN...")],
    host: Annotated[str, option("Where to listen; 0.0.0.0, or ::, is everywhere.", "NAME")] = "127.0.0.1",
    port: Annotated[int, option("The port; 0 takes a free one.", "NUMBER", min=0, max=65535)] = 8000,
    workers: Annotated[int, option("Processes, each with its own models.", "NUMBER", min=1)] = 1,
    token_file: Annotated[
        Path | None, option("Holds the token that requests must bear (or SAHCNS_TOKEN).", "FILE")
    ] = None,
    allow_host: Annotated[list[str] | None, option("A name by which the service may be called.", "NAME")] = None,
    cors: Annotated[list[str] | None, option("A web page's origin that may ask from a browser.", "ORIGIN")] = None,
    max_body: Annotated[int, option("The largest body.", "BYTES", min=1024)] = 1 << 20,
    max_waiting: Annotated[int, option("Requests at once; more get 429.", "NUMBER", min=1)] = 512,
    max_connections: Annotated[int, option("Connections of a process.", "NUMBER", min=1)] = 1024,
    max_seconds: Annotated[float, option("For one request, until its answer is read.", "SECONDS", min=0.1)] = 30.0,
    access_log: Annotated[bool, option("A line on stderr for each request.", None, "--access-log")] = False,
    json: Json = False,
) -> None:
    """Answer recommendation requests over HTTP, in JSON and on a page for people, until Ctrl-C or a SIGTERM.

    Open the address in a browser for lists with their reasons, models beside each other, and the sampler at work.
    Ask /recommend?user=ID, /new?item=ID&item=ID for somebody new, /popular for somebody of whom nothing is known,
    /similar?item=ID, /health and /metrics; /openapi.json describes them. A model trained anew into the same folder is
    taken up without a pause.

    Examples: sahcns serve runs/shop
              sahcns serve runs/shop runs/trial --host 0.0.0.0 --workers 4 --token-file secret.txt
    """
    from sahcns.serving.server import Settings, bind, make_application, run, url_of

    settings = Settings(
        tuple(map(str, runs)), host, workers, tuple(allow_host or ()), tuple(cors or ()), _token(token_file),
        max_body, max_waiting, max_connections, access_log, max_seconds,
    )  # fmt: skip
    application = make_application(settings)
    listening = bind(host, port)
    url = url_of(listening)
    if json:
        show_json({"run": runs[0].resolve(), "url": url})
        sys.stdout.flush()  # whoever waits for the address waits at a pipe
    named = ", ".join(map(str, runs))
    tell(
        f"{named} answers at {url}/recommend?user=…, /new?item=…, /popular, /similar?item=… and /health, "
        f"and shows itself at {url}; Ctrl-C ends it"
    )
    with suppress(KeyboardInterrupt):
        run(settings, application, listening)
    tell("ended")


def _token(file: Path | None) -> str:
    if file is None:
        return os.environ.get("SAHCNS_TOKEN", "")
    try:
        return file.read_text("utf-8").strip()
    except OSError as error:
        raise DataError(f"cannot read the token in {file}: {error.strerror}") from None
