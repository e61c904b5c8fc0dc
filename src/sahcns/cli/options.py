"""Options that several commands share, those that set a protocol, and how the texts of options are read."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sahcns.errors import SahcnsError, SettingError, nearest
from sahcns.importing import import_files as import_files

Command = Callable[..., None]


def option(help: str, metavar: str | None = None, *names: str, **more: Any) -> Any:
    """An option of a command: its line of help, the word for its value, and its names where they are not the argument's."""
    return typer.Option(*names, help=help, metavar=metavar, **more)


def argument(help: str, metavar: str) -> Any:
    return typer.Argument(help=help, metavar=metavar)


DATA = argument("A prepared folder, or ml-latest-small, which ships inside.", "DIR")
RunFolder = Annotated[Path, argument("A folder from `sahcns train`.", "RUN")]
DataFolder = Annotated[Path | None, option("The prepared folder, where it is not where it was.", "DIR", "--data")]
Backbone = Annotated[str | None, option("See `sahcns backbones` (lightgcn).", "NAME")]
Sampler = Annotated[str | None, option("See `sahcns samplers` (sahc).", "NAME")]
Imports = Annotated[
    list[Path] | None, option("Import your own samplers or backbones, to be named as others.", "FILE.py", "--import")
]
Device = Annotated[str | None, option("auto, cpu, cuda or cuda:1 (auto).", "NAME")]
Kernels = Annotated[str | None, option("auto; reference; lean; triton, -half, -ordered, -lean on a GPU.", "NAME")]
Workers = Annotated[
    int | None, option("Runs at once: processes (1), or tasks on a cluster (one for each GPU, or core).", "NUMBER")
]
On = Annotated[str | None, option("Where runs are: here, ray, ray:HOST:PORT or slurm:NAME=VALUE,… (here).", "PLACE")]
Objective = Annotated[str | None, option("What is minimised; `sahcns objectives` lists them (bpr).", "NAME")]
Margin = Annotated[
    float | None, option("Points within which methods are called equivalent, once that is shown (0.1).", "NUMBER")
]
Figures = Annotated[Path | None, option("Write each figure too, as SVG, PNG and PDF.", "DIR", "--figures")]

BASKETS = ("user", "item", "format", "delimiter", "header", "encoding", "items_offset", "lenient")
READ = (*BASKETS, "time", "time_unit", "title", "event", "rating", "quantity")
SWITCHES = ("header", "lenient")
Read = Annotated[
    list[str] | None,
    option("How the file is read: user=COLUMN, item=COLUMN, delimiter, header, …", "NAME=VALUE", "--read"),
]

_protocol = functools.partial(option, rich_help_panel="Protocol", show_default=False)
PROTOCOL: dict[str, Any] = {
    "epochs": Annotated[int | None, _protocol("Most passes over the training pairs (1000).", "NUMBER")],
    "batch": Annotated[int | None, _protocol("Training pairs in a step (2048).", "NUMBER")],
    "learning_rate": Annotated[float | None, _protocol("Adam's step size (0.001).", "NUMBER")],
    "l2": Annotated[float | None, _protocol("Strength of L2 on a batch's layer-0 rows (0.0001).", "NUMBER")],
    "l2_on": Annotated[str | None, _protocol("The negative's row that L2 sees: mixed or real (mixed).", "WHICH")],
    "evaluate_every": Annotated[int | None, _protocol("Epochs between looks at validation (5).", "NUMBER")],
    "patience": Annotated[int | None, _protocol("Looks without a new best before it stops (10).", "NUMBER")],
    "monitor": Annotated[str | None, _protocol("What picks the epoch on validation (recall@20).", "METRIC")],
    "mask": Annotated[str | None, _protocol("Left out of the test ranking: train or train+valid (train).", "WHICH")],
    "draw": Annotated[str | None, _protocol("What an epoch goes through: pairs or users (pairs).", "WHICH")],
    "keep_last": Annotated[
        bool | None, _protocol("Train on the last, smaller batch too (dropped).", "", "--keep-last/--drop-last")
    ],
}


def with_protocol(command: Command) -> Command:
    """Give a command the options above; it receives those that were set as its argument `protocol`, a dictionary."""
    own = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        protocol = {name: value for name in PROTOCOL if (value := values.pop(name)) is not None}
        if "keep_last" in protocol:
            protocol["drop_last"] = not protocol.pop("keep_last")
        command(**values, protocol=protocol)

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [entry.replace(kind=kind) for entry in own.parameters.values() if entry.name != "protocol"]
    parameters += [inspect.Parameter(name, kind, default=None, annotation=hint) for name, hint in PROTOCOL.items()]
    with_options.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {entry.name: entry.annotation for entry in parameters}
    return with_options


@contextmanager
def errors_in_options(translate: Callable[[str], str]) -> Iterator[None]:
    """Errors of the readers name their arguments as Python does; on a command line the remedy is an option."""
    try:
        yield
    except SahcnsError as error:
        raise type(error)(translate(str(error))) from error


def parse_assignment(name: str, text: str, example: str) -> tuple[str, str, str]:
    """`sahc.alpha=0.5` as ("sahc", "alpha", "0.5"); without a dot the first is empty. `name` is that of the option."""
    left, equals, value = text.partition("=")
    owner, _, argument = left.strip().rpartition(".")
    if not equals or not argument:
        raise SettingError(f"{name} {text!r} must be NAME=VALUE, such as {example}")
    return owner, argument, value


def assign(texts: Iterable[str], parts: Sequence[tuple[Mapping[str, str], dict[str, Any]]], example: str) -> None:
    """Put each `--set OWNER.NAME=VALUE` into the parts that go by that owner, "" where none is named.

    parts  each with its owners, and what stands before the names of settings that are given under one of them
    """
    for text in texts:
        owner, argument, value = parse_assignment("--set", text, example)
        meant = [(owners[owner], part) for owners, part in parts if owner in owners]
        if not meant:
            known = [name for owners, _ in parts for name in owners if name]
            raise SettingError(f"--set {text!r}: there is no {owner!r} here; {nearest(owner, known)}")
        for before, part in meant:
            part[before + argument] = value


def parse_names(name: str, text: str | None) -> list[str]:
    """`rns,dns`, each once; a comma in brackets, as in `sahc (alpha=0, pool=20)`, belongs to a name."""
    names = [one.strip() for one in re.split(r",(?![^()]*\))", text or "") if one.strip()]
    if text is not None and (not names or len(set(names)) < len(names)):
        raise SettingError(f"{name} {text!r} must hold names with commas between, each once")
    return names


def parse_numbers(name: str, text: str) -> list[int]:
    """`5,10,20`."""
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 0:
        raise SettingError(f"{name} {text!r} must be whole numbers with commas between, such as 5,10,20")
    return numbers


def parse_reading(texts: Sequence[str], known: Sequence[str] = READ) -> dict[str, Any]:
    """`--read NAME=VALUE …` as the arguments of `sahcns.read`."""
    options: dict[str, Any] = {}
    for text in texts:
        _, name, value = parse_assignment("--read", text, "user=customer or item=sku")
        if name not in known:
            raise SettingError(f"--read {text!r}: a file is not read by {name!r}; {nearest(name, known)}")
        if name in SWITCHES and value not in ("true", "false"):
            raise SettingError(f"--read {text!r}: {name} is true or false")
        options[name] = value == "true" if name in SWITCHES else value.replace("\\t", "\t")
    return options
