"""`sahcns samplers`, `backbones` and `objectives`: the manual of each, from its own file."""

import dataclasses
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

from sahcns.cli.console import Json, show, show_json, table
from sahcns.cli.options import Imports, argument, import_files
from sahcns.settings import Configured, class_named, named

Name = Annotated[str | None, argument("Only this one, with its equations.", "NAME")]


def _manual(base: str, prefix: str, example: str) -> Callable[..., None]:
    """The command that prints the manuals of all below a class such as `Sampler`, which is imported when it runs."""
    what = base.lower()

    def command(name: Name = None, imports: Imports = None, json: Json = False) -> None:
        import_files(imports or ())
        _print_manual(getattr(import_module(f"sahcns.{what}s"), base), name, json)

    command.__doc__ = f"""The {what}s there are, each argument with its default, what is allowed, and its meaning.

    An argument is set with `sahcns train --set {prefix}NAME=VALUE`.

    Examples: sahcns {what}s
              sahcns {what}s {example}
              sahcns {what}s --import my_{what}.py
    """
    return command


samplers = _manual("Sampler", "", "sahc")
backbones = _manual("Backbone", "backbone.", "ngcf")
objectives = _manual("Objective", "objective.", "bsl")


def _print_manual(base: type[Configured], name: str | None, json: bool) -> None:
    """All that is named below `base`, or one of them with its equations."""
    kinds = [class_named(base, name)] if name else list(named(base).values())
    if json:
        described = [_described(kind) for kind in kinds]
        show_json(described[0] if name else described)
        return
    if name:
        module = inspect.getdoc(sys.modules[kinds[0].__module__]) or ""
        own = f"{name}: {_docstring(kinds[0])}".rstrip(": ")
        show("\n\n".join(filter(None, (module, own))))
    for position, kind in enumerate(kinds):
        rows = table("argument", "default", "allowed", "meaning")
        for entry in kind.settings():
            rows.add_row(entry["name"], entry["default"], entry["allowed"], entry["meaning"])
        show(*([] if name else [""] * bool(position) + [f"{kind.name}  {_idea(kind)}"]), "", rows)


def _described(kind: type[Configured]) -> dict[str, Any]:
    defaults = {entry.name: entry.default for entry in dataclasses.fields(kind)}
    settings = [{**entry, "default": defaults[entry["name"]]} for entry in kind.settings()]
    return {"name": kind.name, "idea": _idea(kind), "defined": kind.__module__, "arguments": settings}


def _idea(kind: type[Configured]) -> str:
    """One line: that of the file for the method that the file is about, that of the class for a variant of it."""
    module = sys.modules[kind.__module__]
    own = (one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Configured))
    main = next(one for one in own if one.__module__ == module.__name__ and one.name)
    text = module.__doc__ if main is kind and module.__name__.startswith("sahcns.") else _docstring(kind)
    return (text or "").strip().split("\n\n")[0].replace("\n", " ").rstrip(".")


def _docstring(kind: type[Configured]) -> str:
    """The class's own docstring; the one that dataclass makes up does not count."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return "" if text.startswith(f"{kind.__name__}(") else text
