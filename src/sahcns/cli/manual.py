"""`sahcns samplers` and `sahcns backbones`: the manual of each, from its own file."""

import dataclasses
import inspect
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, table
from sahcns.cli.options import Imports, import_files
from sahcns.settings import Configured, class_named, named

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


Name = Annotated[str | None, typer.Argument(metavar="NAME", help="Only this one, with its equations.")]


def samplers(name: Name = None, imports: Imports = None, json: Json = False) -> None:
    """The samplers there are, each argument with its default, what is allowed, and its meaning.

    An argument is set with `sahcns train --set NAME=VALUE`.

    Examples: sahcns samplers
              sahcns samplers sahc
              sahcns samplers --import my_sampler.py
    """
    from sahcns.samplers import Sampler

    import_files(imports or ())
    _print_manual(Sampler, name, json)


def backbones(name: Name = None, imports: Imports = None, json: Json = False) -> None:
    """The backbones there are, each argument with its default, what is allowed, and its meaning.

    An argument is set with `sahcns train --set backbone.NAME=VALUE`.

    Examples: sahcns backbones
              sahcns backbones ngcf
              sahcns backbones --import my_backbone.py
    """
    from sahcns.backbones import Backbone

    import_files(imports or ())
    _print_manual(Backbone, name, json)


def _print_manual(base: type[Configured], name: str | None, json: bool) -> None:
    """All that is named below `base`, or one of them with its equations."""
    kinds = [class_named(base, name)] if name else list(named(base).values())
    if json:
        described = [describe(kind) for kind in kinds]
        show_json(described[0] if name else described)
        return
    if name:
        show(text_of(kinds[0]), "", _arguments(kinds[0]))
    else:
        show(*_page(kinds))


def describe(kind: type[Configured]) -> dict[str, Any]:
    """One class as plain data."""
    defaults = {entry.name: entry.default for entry in dataclasses.fields(kind)}
    settings = [{**entry, "default": defaults[entry["name"]]} for entry in kind.settings()]
    return {"name": kind.name, "idea": idea(kind), "defined": kind.__module__, "arguments": settings}


def idea(kind: type[Configured]) -> str:
    """One line: that of the file for the method that the file is about, that of the class for a variant of it."""
    module = sys.modules[kind.__module__]
    about = next(other for other in vars(module).values() if _named_in(other, module.__name__))
    text = module.__doc__ if about is kind and module.__name__.startswith("sahcns.") else _docstring(kind)
    return (text or "").strip().split("\n\n")[0].replace("\n", " ").rstrip(".")


def text_of(kind: type[Configured]) -> str:
    """Citation and equations, as they stand at the head of the file, and what the class itself says."""
    module = inspect.getdoc(sys.modules[kind.__module__]) or ""
    own = _docstring(kind)
    return "\n\n".join(part for part in (module, f"{kind.name}: {own}" if own else kind.name) if part)


def _named_in(value: object, module: str) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, Configured)
        and value.__module__ == module
        and bool(value.__dict__.get("name"))
    )


def _docstring(kind: type[Configured]) -> str:
    """The class's own docstring; the one that dataclass makes up does not count."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return "" if text.startswith(f"{kind.__name__}(") else text


def _page(kinds: list[type[Configured]]) -> "Iterator[RenderableType]":
    """Each with its idea in one line and its arguments below, in columns that run through the whole page."""
    from rich.table import Table
    from rich.text import Text

    shown = {kind: [(f"{entry['name']} = {entry['default']}", entry) for entry in kind.settings()] for kind in kinds}
    names = max(len(text) for entries in shown.values() for text, _ in entries)
    ranges = max(len(entry["allowed"]) for entries in shown.values() for _, entry in entries)
    for position, (kind, entries) in enumerate(shown.items()):
        if position:
            yield ""
        yield Text.assemble((kind.name, "bold"), f"  {idea(kind)}")
        rows = Table.grid(padding=(0, 2, 0, 0))
        rows.add_column(width=2)
        rows.add_column(width=names)
        rows.add_column(width=ranges, style="dim")
        rows.add_column()
        for text, entry in entries:
            rows.add_row("", text, entry["allowed"], entry["meaning"])
        yield rows


def _arguments(kind: type[Configured]) -> "Table":
    rows = table("argument", "default", "allowed", "meaning")
    for entry in kind.settings():
        rows.add_row(entry["name"], entry["default"], entry["allowed"], entry["meaning"])
    return rows
