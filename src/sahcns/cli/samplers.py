"""`sahcns samplers`."""

from typing import Annotated

import typer

from sahcns.cli.console import Json
from sahcns.cli.importing import Imports, import_files


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this one, with its equations.")] = None,
    imports: Imports = None,
    json: Json = False,
) -> None:
    """The samplers there are, each argument with its default, what is allowed, and its meaning.

    An argument is set with `sahcns train --set NAME=VALUE`.

    Examples: sahcns samplers
              sahcns samplers sahc
              sahcns samplers --import my_sampler.py
    """
    from sahcns.cli.manual import print_manual
    from sahcns.samplers import Sampler

    import_files(imports or ())
    print_manual(Sampler, name, json)
