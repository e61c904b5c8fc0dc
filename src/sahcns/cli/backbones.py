"""`sahcns backbones`."""

from typing import Annotated

import typer

from sahcns.cli.console import Json
from sahcns.cli.importing import Imports, import_files


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this one, with its equations.")] = None,
    imports: Imports = None,
    json: Json = False,
) -> None:
    """The backbones there are, each argument with its default, what is allowed, and its meaning.

    An argument is set with `sahcns train --set backbone.NAME=VALUE`.

    Examples: sahcns backbones
              sahcns backbones ngcf
              sahcns backbones --import my_backbone.py
    """
    from sahcns.backbones import Backbone
    from sahcns.cli.manual import print_manual

    import_files(imports or ())
    print_manual(Backbone, name, json)
