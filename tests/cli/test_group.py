"""The frame of the command line: lazy commands, one-sentence errors, exit codes, pipes."""

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
from sahcns.cli.group import Entry, prose, run
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


def test_a_command_runs_with_its_options(toy: Sequence[Entry], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(toy, "Toy.", ["do", "hello", "--how-often", "2"]) == 0
    assert capsys.readouterr().out == "hello\nhello\n"


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
    ("arguments", "sentence"),
    [
        (["do", "wrong"], "row 7 of [bold]a.csv[/bold] is bad; correct it"),
        (["do", "disk"], "/nowhere/at/all: No such file or directory"),
        (["doo"], "sahcns has no command 'doo'; did you mean 'do'?"),
        (["xyzzy"], "sahcns has no command 'xyzzy'; there are: broken, do"),
        (["do"], "missing argument 'WHAT'; see `sahcns do --help`"),
        (["do", "x", "--how-oftn", "2"], "no such option: --how-oftn; did you mean '--how-often'?"),
        (["do", "x", "--zzz"], "no such option: --zzz; see `sahcns do --help`"),
        (["do", "x", "y"], "got unexpected extra argument"),
        (["do", "x", "--how-often"], "option '--how-often' requires an argument; see `sahcns"),
        (["--versoin"], "no such option: --versoin; did you mean '--version'?"),
    ],
)
def test_a_mistake_is_one_sentence_on_stderr_and_code_2(
    toy: Sequence[Entry], capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert run(toy, "Toy.", arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error: {sentence}")
    assert shown.err.count("\n") == 1


def test_a_value_of_the_wrong_kind_is_one_sentence(toy: Sequence[Entry], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(toy, "Toy.", ["do", "x", "--how-often", "many"]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: invalid value for '--how-often'")
    assert shown.count("\n") == 1


def test_interruption_leaves_with_130(toy: Sequence[Entry], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(toy, "Toy.", ["do", "stop"]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_a_bug_keeps_its_traceback(toy: Sequence[Entry]) -> None:
    with pytest.raises(ZeroDivisionError):
        run(toy, "Toy.", ["do", "bug"])


def test_traceback_shows_where_an_error_arose(toy: Sequence[Entry]) -> None:
    with pytest.raises(Exception, match="row 7"):
        run(toy, "Toy.", ["--traceback", "do", "wrong"])


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMANDS, HELP, ["--version"]) == 0
    assert capsys.readouterr().out == f"sahcns {__version__}\n"


def test_main_takes_its_arguments_from_the_command_line() -> None:
    done = subprocess.run([*SAHCNS, "dta"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: sahcns has no command 'dta'; did you mean 'data'?\n"


def test_help_and_data_commands_answer_without_torch_and_the_table_libraries(tmp_path: Path) -> None:
    code = """
        import sys
        from sahcns.cli import main
        heavy = {"torch", "scipy", "pandas", "pyarrow", "matplotlib"}
        for line in (["--help"], ["data"], ["data", "list"], ["data", "list", "--json"], ["data", "get", "--help"],
                     ["data", "prepare", "--help"], ["data", "stats", "--help"], ["data", "get", "ml-latest-small"]):
            try:
                main(line)
            except SystemExit as done:
                assert done.code == 0, (line, done.code)
            assert not heavy & set(sys.modules), (line, heavy & set(sys.modules))
            assert "polars" not in sys.modules, line
    """
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_help_is_fast_because_it_imports_little() -> None:
    code = """
        import sys
        from sahcns.cli import main
        try:
            main(["--help"])
        except SystemExit:
            pass
        assert "numpy" not in sys.modules
    """
    done = python(code)
    assert done.returncode == 0, done.stderr


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


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_that_are_closed_are_no_reason_to_fail(tmp_path: Path, closed: str) -> None:
    """As some schedulers start a process: what it prints goes nowhere, and what it writes is written."""
    (tmp_path / "a.csv").write_text("user,item\n" + "".join(f"{n % 7},{n % 5}\n" for n in range(35)))
    line = shlex.join([*SAHCNS, "data", "prepare", str(tmp_path / "a.csv"), str(tmp_path / "set")])
    assert (
        subprocess.run(f"{line} {closed}", shell=True, stdout=subprocess.DEVNULL, timeout=60, check=False).returncode
        == 0
    )
    assert (tmp_path / "set" / "manifest.json").exists()
    line = shlex.join([*SAHCNS, "data", "stats", str(tmp_path / "nothing"), "--json"])
    assert (
        subprocess.run(f"{line} {closed}", shell=True, stderr=subprocess.DEVNULL, timeout=60, check=False).returncode
        == 2
    )


def test_shell_completion_offers_commands() -> None:
    environment = {**os.environ, "_SAHCNS_COMPLETE": "complete_bash", "COMP_WORDS": "sahcns data p", "COMP_CWORD": "2"}
    done = subprocess.run(SAHCNS, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["prepare"]


def test_prose_flows_but_examples_stay() -> None:
    text = "One line.\n\n    Two\n    lines.\n\n    Examples: a\n              b\n"
    assert prose(text) == "One line.\n\nTwo lines.\n\nExamples: a\n          b"
