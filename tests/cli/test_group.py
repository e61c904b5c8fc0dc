"""The frame of the command line: lazy commands, one-sentence errors, exit codes, pipes."""

import dataclasses
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from sahcns.cli import COMMANDS, HELP
from sahcns.cli.group import Entry, run
from sahcns.training import Protocol
from sahcns.version import __version__

SAHCNS = [sys.executable, "-m", "sahcns"]


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sequence[Entry]:
    """A table with a command of each temper, written as a command file is."""
    source = """
        from typing import Annotated
        import typer
        from sahcns.errors import DataError

        def command(what: Annotated[str, typer.Argument(metavar="WHAT")], how_often: int = 1) -> None:
            '''Do something.

            A second paragraph that goes
            over two lines.

            Examples: toy do this
                      toy do that
            '''
            if what == "wrong":
                raise DataError("row 7 of [bold]a.csv[/bold] is bad; correct it")
            if what == "disk":
                open("/nowhere/at/all")
            if what == "stop":
                raise KeyboardInterrupt
            if what == "bug":
                raise ZeroDivisionError("a bug")
            for _ in range(how_often):
                print(what)
    """
    (tmp_path / "toy_do.py").write_text(textwrap.dedent(source))
    (tmp_path / "toy_broken.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    return (Entry("do", "toy_do", "Do it."), Entry("broken", "toy_broken", "Never import this."))


def test_the_list_of_commands_imports_none_of_them(toy: Sequence[Entry], capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["-h"]):
        assert run(toy, "Toy.", arguments) == 0
        shown = capsys.readouterr().out
        assert "Never import this." in shown
        assert "Do it." in shown
    assert "toy_broken" not in sys.modules


def test_help_of_a_command_is_its_docstring(toy: Sequence[Entry], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(toy, "Toy.", ["do", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "A second paragraph that goes over two lines." in shown
    assert "Examples: toy do this" in shown
    assert "          toy do that" in shown


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["do", "wrong"], "row 7 of [bold]a.csv[/bold] is bad; correct it"),
        (["do", "disk"], "/nowhere/at/all"),
        (["doo"], "'doo'; did you mean 'do'"),
        (["xyzzy"], "'xyzzy'; there are: broken, do"),
        (["do"], "'WHAT'; see `sahcns do --help`"),
        (["do", "x", "--how-oftn", "2"], "--how-oftn; did you mean '--how-often'"),
        (["do", "x", "--zzz"], "--zzz; see `sahcns do --help`"),
        (["do", "x", "y"], "extra argument"),
        (["do", "x", "--how-often"], "'--how-often'"),
        (["do", "x", "--how-often", "many"], "'--how-often'"),
        (["--versoin"], "--versoin; did you mean '--version'"),
    ],
)
def test_a_mistake_is_one_sentence_on_stderr_and_code_2(
    toy: Sequence[Entry], capsys: pytest.CaptureFixture[str], arguments: list[str], names: str
) -> None:
    assert run(toy, "Toy.", arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.startswith("error: "), shown.err.count("\n")) == ("", True, 1)
    assert names in shown.err


def test_interruption_leaves_with_130(toy: Sequence[Entry], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(toy, "Toy.", ["do", "stop"]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_a_bug_keeps_its_traceback(toy: Sequence[Entry]) -> None:
    with pytest.raises(ZeroDivisionError):
        run(toy, "Toy.", ["do", "bug"])


def test_traceback_shows_where_an_error_arose(toy: Sequence[Entry]) -> None:
    with pytest.raises(Exception, match="row 7"):
        run(toy, "Toy.", ["--traceback", "do", "wrong"])


def test_main_takes_its_arguments_from_the_command_line() -> None:
    for line, code, shown in (("--version", 0, f"sahcns {__version__}"), ("dta", 2, "'dta'; did you mean 'data'")):
        done = subprocess.run([*SAHCNS, line], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, shown in done.stdout + done.stderr) == (code, True)


def test_help_and_data_commands_answer_without_heavy_imports() -> None:
    code = """
        import sys
        from sahcns.cli import main

        def imports(line, heavy):
            try:
                main(line)
            except SystemExit as done:
                assert done.code == 0, (line, done.code)
            assert not heavy & set(sys.modules), (line, heavy & set(sys.modules))

        heavy = {"torch", "scipy", "pandas", "pyarrow", "altair", "polars"}
        imports(["--help"], heavy | {"numpy"})
        for name in ("train", "evaluate", "recommend", "samplers", "backbones", "compare", "diff"):
            imports([name, "--help"], heavy | {"numpy"})
        for line in (["list"], ["list", "--json"], ["get", "--help"], ["prepare", "--help"], ["stats", "--help"]):
            imports(["data", *line], heavy)
    """
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_the_defaults_in_the_help_are_those_of_the_protocol(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    run(COMMANDS, HELP, ["train", "--help"])
    shown = capsys.readouterr().out
    defaults = dataclasses.asdict(Protocol())
    for name in (
        "epochs",
        "batch",
        "learning_rate",
        "l2",
        "l2_on",
        "evaluate_every",
        "patience",
        "monitor",
        "mask",
        "draw",
    ):
        line = next(line for line in shown.splitlines() if line[:1] == "│" and f"--{name.replace('_', '-')} " in line)
        assert f"({defaults[name]})" in line or f"({defaults[name]:f}".rstrip("0") + ")" in line, line
    assert ("(dropped)" in shown) is defaults["drop_last"] is True


def test_a_reader_that_leaves_early_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*SAHCNS, "data", "list", "--json"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(write_end)
    assert done.stderr == ""
    assert done.returncode == 1


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_in_a_real_process(tmp_path: Path, stop: signal.Signals) -> None:
    (tmp_path / "toy_wait.py").write_text(
        "import time\ndef command() -> None:\n    try:\n        print('ready', flush=True)\n        time.sleep(30)\n"
        "    finally:\n        print('cleared', flush=True)\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from sahcns.cli.group import Entry, run; "
        "sys.exit(run([Entry('wait', 'toy_wait', '')], '', ['wait']))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(stop)
    told, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (told, error) == ("cleared\n", "error: interrupted\n")


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_streams_that_are_closed_are_no_reason_to_fail(tmp_path: Path, closed: str) -> None:
    """As some schedulers start a process: what it prints goes nowhere, and what it writes is written."""
    (tmp_path / "a.csv").write_text("user,item\n" + "".join(f"{n % 7},{n % 5}\n" for n in range(35)))
    line = shlex.join([*SAHCNS, "data", "prepare", str(tmp_path / "a.csv"), str(tmp_path / "set")])
    done = subprocess.run(f"{line} {closed}", shell=True, stdout=subprocess.DEVNULL, timeout=60, check=False)
    assert done.returncode == 0
    assert (tmp_path / "set" / "manifest.json").exists()
