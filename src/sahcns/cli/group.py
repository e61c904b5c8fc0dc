"""Commands that are imported only when they run, and errors as one sentence."""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sahcns.cli.console import tell
from sahcns.errors import SahcnsError, SettingError, nearest
from sahcns.importing import raised_in_imported_file
from sahcns.lab.places.place import one_sentence, sigterm_as_ctrl_c

# click's error class, reached through typer, which brings click along beside itself or, in newer versions, inside
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@dataclass(frozen=True)
class Entry:
    """A command: its name, the module that holds it, and its line in the list of commands.

    The module has either `function`, whose arguments are the options, or `COMMANDS`, a further table.
    """

    name: str
    module: str
    help: str
    function: str = "command"

    def load(self) -> Any:
        module = importlib.import_module(self.module)
        if hasattr(module, "COMMANDS"):
            return build(module.COMMANDS, prose(module.__doc__ or self.help), self.name)
        function = getattr(module, self.function)
        app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
        app.command(self.name, help=prose(function.__doc__ or self.help), context_settings=CONTEXT)(function)
        return typer.main.get_command(app)


class LazyGroup(TyperGroup):
    """A group that knows its commands by their entries."""

    entries: Sequence[Entry] = ()

    def list_commands(self, ctx: Any) -> list[str]:
        return [entry.name for entry in self.entries]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The name and its one line, which is all that the list of commands shows."""
        helps = {entry.name: entry.help for entry in self.entries}
        return TyperCommand(cmd_name, help=helps[cmd_name]) if cmd_name in helps else None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command itself, imported here."""
        for entry in self.entries:
            if entry.name == args[0]:
                return entry.name, entry.load(), args[1:]
        if ctx.resilient_parsing:
            return None, None, args[1:]
        raise SettingError(
            f"{ctx.command_path} has no command {args[0]!r}; {nearest(args[0], self.list_commands(ctx))}"
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])


def prose(docstring: str) -> str:
    """A docstring as help: its paragraphs flow to the width of the terminal, its examples keep their lines."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(text if text.startswith("Example") else " ".join(text.split()) for text in paragraphs)


def build(entries: Sequence[Entry], help: str, name: str, root: Callable[..., None] | None = None) -> Any:
    """The group of `entries`; `root` has the options that stand before every command, shell completion among them."""
    app = typer.Typer(
        name=name,
        cls=type("Group", (LazyGroup,), {"entries": tuple(entries)}),
        help=help,
        add_completion=root is not None,
        rich_markup_mode="rich",
        context_settings=CONTEXT,
        pretty_exceptions_enable=False,
    )
    app.callback()(root or (lambda: None))
    return typer.main.get_command(app)


def run(entries: Sequence[Entry], help: str, arguments: list[str]) -> int:
    """Run one command line and return its exit code; a user's mistake becomes one sentence on stderr."""
    try:
        with sigterm_as_ctrl_c():
            code = build(entries, help, "sahcns", _root).main(arguments, prog_name="sahcns", standalone_mode=False)
            sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:
        # the reader (head, less) left: nothing to say, and nothing to flush at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (SahcnsError, UsageError, OSError) as problem:
        if arguments[:1] == ["--traceback"]:
            raise
        tell_error(_sentence(problem))
        return 2
    except Exception as problem:
        if arguments[:1] == ["--traceback"] or not raised_in_imported_file(problem):
            raise
        tell_error(f"{one_sentence(problem)}; `sahcns --traceback {arguments[0]} …` shows the way there")
        return 2
    if code == 130:
        tell_error("interrupted")
    return code if isinstance(code, int) else 0


def tell_error(message: str) -> None:
    tell(message, "error: ", "bold red")


def _sentence(problem: Exception) -> str:
    """What went wrong, as one line without a full stop."""
    if isinstance(problem, OSError):
        return f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem.strerror or problem)
    if not isinstance(problem, UsageError):
        return str(problem)
    usage: Any = problem
    context = getattr(usage, "ctx", None)
    see = f"see `{context.command_path if context else 'sahcns'} --help`"
    message = " ".join(str(usage.format_message()).split())
    wrong = getattr(usage, "option_name", None)
    if wrong and context:
        options = [name for one in context.command.get_params(context) for name in one.opts + one.secondary_opts]
        if wrong in options:
            message = " ".join(str(usage.message).split())
        else:
            message = f"no such option: {wrong}"  # click says it with other marks from one version to the next
            close = nearest(wrong, (name for name in options if name.startswith("-")))
            see = close if close.startswith("did you mean") else see
    return f"{message[:1].lower()}{message[1:].rstrip('.')}; {see}"


def _version(wanted: bool) -> None:
    if wanted:
        from sahcns.version import __version__

        typer.echo(f"sahcns {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="With an error, show where in the code it arose. Goes first.")
    ] = False,
) -> None:
    """What can stand before a command."""
