"""`--import FILE.py`: a user's own samplers and backbones, to be named like the built-in ones."""

from pathlib import Path
from typing import Annotated

import typer

from sahcns.importing import import_files as import_files

Imports = Annotated[
    list[Path] | None,
    typer.Option("--import", metavar="FILE.py", help="Import your own samplers or backbones, to be named as others."),
]
