"""`sahcns serve`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from sahcns.cli.console import Json, show_json, tell


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder from `sahcns train`.")],
    host: Annotated[
        str, typer.Option(metavar="NAME", help="Where to listen; 0.0.0.0, or ::, is everywhere.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="NUMBER", min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    json: Json = False,
) -> None:
    """Answer recommendation requests over HTTP, in JSON, until Ctrl-C or a SIGTERM.

    Ask /recommend?user=ID, /new?item=ID&item=ID for somebody new, /popular for somebody of whom nothing is known,
    /similar?item=ID, and /health; k=NUMBER sets how many. A model trained anew into the same folder is taken up without
    a pause. There is no access control: put it behind what you have for that.

    Examples: sahcns serve runs/shop
              sahcns serve runs/shop --host 0.0.0.0 --port 80
    """
    import torch

    from sahcns.serving.server import serve
    from sahcns.serving.service import Current

    torch.set_num_threads(1)  # requests are what runs side by side; else each would bring a thread for every core
    current = Current(run, tell)
    server = serve(current, host, port)
    if json:
        show_json({"run": run.resolve(), "url": server.url})
        sys.stdout.flush()  # whoever waits for the address waits at a pipe
    tell(
        f"{run} answers at {server.url}/recommend?user=…, /new?item=…, /popular, /similar?item=… and /health; Ctrl-C ends it"
    )
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        tell("ended")
    finally:
        server.server_close()
