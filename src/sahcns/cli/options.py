"""Options that several commands share, and those that set a protocol."""

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from sahcns.importing import import_files as import_files

Imports = Annotated[
    list[Path] | None,
    typer.Option("--import", metavar="FILE.py", help="Import your own samplers or backbones, to be named as others."),
]
Device = Annotated[str | None, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:1 (auto).")]
Kernels = Annotated[
    str | None, typer.Option(metavar="NAME", help="auto; reference; triton, triton-half, triton-ordered on a GPU.")
]
Command = Callable[..., None]


def _option(kind: Any, help: str, metavar: str, *names: str) -> Any:
    option = typer.Option(*names, help=help, metavar=metavar, rich_help_panel="Protocol", show_default=False)
    return Annotated[kind | None, option]


PROTOCOL: Mapping[str, Any] = {
    "epochs": _option(int, "Most passes over the training pairs (1000).", "NUMBER"),
    "batch": _option(int, "Training pairs in a step (2048).", "NUMBER"),
    "learning_rate": _option(float, "Adam's step size (0.001).", "NUMBER"),
    "l2": _option(float, "Strength of L2 on a batch's layer-0 rows (0.0001).", "NUMBER"),
    "l2_on": _option(str, "The negative's row that L2 sees: mixed or real (mixed).", "WHICH"),
    "evaluate_every": _option(int, "Epochs between looks at validation (5).", "NUMBER"),
    "patience": _option(int, "Looks without a new best before it stops (10).", "NUMBER"),
    "monitor": _option(str, "What picks the epoch on validation (recall@20).", "METRIC"),
    "mask": _option(str, "Left out of the test ranking: train or train+valid (train).", "WHICH"),
    "keep_last": _option(bool, "Train on the last, smaller batch too (dropped).", "", "--keep-last/--drop-last"),
}


def with_protocol(command: Command) -> Command:
    """Give a command the options above; it receives those that were set as its argument `protocol`, a dictionary."""
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command)

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        protocol = {name: value for name in PROTOCOL if (value := values.pop(name)) is not None}
        if "keep_last" in protocol:
            protocol["drop_last"] = not protocol.pop("keep_last")
        command(**values, protocol=protocol)

    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in PROTOCOL.items()
    ]
    own_options = [
        entry.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, entry in own.parameters.items()
        if name != "protocol"
    ]
    last = [entry for entry in own_options if entry.name == "json"]  # stands last everywhere
    ordered = [*(entry for entry in own_options if entry.name != "json"), *options, *last]
    with_options.__signature__ = own.replace(parameters=ordered)  # type: ignore[attr-defined]
    with_options.__annotations__ = {**{entry.name: entry.annotation for entry in ordered}, "return": None}
    return with_options
