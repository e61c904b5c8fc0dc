"""The README and the docs tell the truth: their code runs, their command lines parse, their links lead somewhere.

Code runs as it stands, one page in one folder of its own, except that training ends after one epoch.
"""

import contextlib
import dataclasses
import io
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sahcns
import sahcns.model
from sahcns.backbones import Backbone
from sahcns.cli import COMMANDS, HELP
from sahcns.cli.data import COMMANDS as DATA_COMMANDS
from sahcns.cli.group import Entry, LazyGroup, run
from sahcns.cli.options import import_files
from sahcns.cli.plan import build, parse_parts
from sahcns.data import Split
from sahcns.model import Run, fit
from sahcns.objectives import Objective
from sahcns.samplers import Sampler
from sahcns.settings import Configured, class_named, named
from sahcns.training import Protocol

ROOT = Path(__file__).parents[1]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(ROOT.glob("docs/*.md"))]
WORDS = {entry.name for entry in (*COMMANDS, *DATA_COMMANDS)}
# What these print does not depend on what was learnt, so it must be what the page shows.
EXACT = ("your-own-sampler.md", "samplers.md", "backbones.md", "data.md")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line on which the text begins."""

    language: str
    text: str
    line: int


def page_named(name: str) -> Path:
    return next(page for page in PAGES if page.name == name)


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    fences = re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [Block(one[2], textwrap.dedent(one[3]), text[: one.start(3)].count("\n") + 1) for one in fences]


def code(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language == "python"]


def typed(block: Block) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines that the page shows below it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        elif found:
            found[-1][1].append(line)
    return found


def command_lines(page: Path) -> list[str]:
    """Every `sahcns …` of a page, in console blocks and in running text; with … in it, it is only a hint."""
    shown = [line for block in blocks(page) if block.language == "console" for line, _ in typed(block)]
    prose = re.sub(r"^( *)```.*?^\1```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [line for line in (*shown, *re.findall(r"`(sahcns [^`\n]+)`", prose)) if "…" not in line]


LINES = [(page.name, line) for page in PAGES for line in command_lines(page)]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Training of one epoch, in Python and on the command line, and an empty folder to work in."""

    def brief(
        split: Split,
        backbone: Backbone | None = None,
        sampler: Sampler | None = None,
        objective: Objective | None = None,
        *,
        protocol: Protocol | None = None,
        **rest: Any,
    ) -> Run:
        cut = dataclasses.replace(protocol or Protocol(), epochs=1, batch=4096)
        return fit(split, backbone, sampler, objective, protocol=cut, **rest)

    monkeypatch.setattr(sahcns, "fit", brief)
    monkeypatch.setattr(sahcns.model, "fit", brief)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], dict[str, Any]]:
    """Parses a command line by the real command, which then does nothing; returns what it was told."""
    load, told = Entry.load, dict[str, Any]()

    def quiet(entry: Entry) -> Any:
        command = load(entry)
        if not isinstance(command, LazyGroup):
            command.callback = lambda **options: told.update(options)
        return command

    def parse(words: list[str]) -> dict[str, Any]:
        told.clear()
        bare = [*words, "--help"] if set(words) <= WORDS else words  # `sahcns data prepare`: the command, not a line
        assert run(COMMANDS, HELP, bare) == 0
        return dict(told)

    monkeypatch.setattr(Entry, "load", quiet)
    return parse


@pytest.fixture
def module() -> Iterator[ModuleType]:
    """Where the code of a page runs. Its classes lose their names afterwards, so that no other test finds them."""
    made = ModuleType("docs_page")
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]
    for kind in vars(made).values():
        if isinstance(kind, type) and issubclass(kind, Configured) and kind.__module__ == made.__name__:
            kind.name = ""


def printed_by(block: Block, module: ModuleType, page: Path) -> str:
    """Runs one block; an error in it names the line of the page."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), vars(module))
    return out.getvalue()


@pytest.mark.parametrize("page", [page for page in PAGES if code(page)], ids=lambda page: page.name)
def test_code_runs(page: Path, short: Path, module: ModuleType) -> None:
    on_page = blocks(page)
    for block, following in zip(on_page, [*on_page[1:], None], strict=True):
        if block.language != "python":
            continue
        found = printed_by(block, module, page)
        shown = following.text if following is not None and following.language == "text" else ""
        if page.name in EXACT and (found or shown):
            assert found == shown
        assert bool(found) == bool(shown)


def test_the_first_example_is_a_sampler_of_one_s_own() -> None:
    first = re.search(r"\]\(([\w-]+\.md)\)", page_named("index.md").read_text("utf-8"))
    assert first is not None
    assert first[1] == "your-own-sampler.md"
    sampler = code(page_named("your-own-sampler.md"))[0]
    assert sampler.text in (ROOT / "examples" / "my_sampler.py").read_text("utf-8")
    assert "class SometimesHard(sahcns.Sampler):" in sampler.text


def test_the_first_steps_can_be_followed(short: Path, module: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command for real; what the data commands print is the same on every machine, so it must be as shown."""
    page, compared = page_named("first-steps.md"), 0
    printed_by(code(page)[0], module, page)
    for block in blocks(page):
        if block.language == "toml":
            (short / "run.toml").write_text(block.text, "utf-8")
        if block.language != "console":
            continue
        for line, shown in typed(block):
            capsys.readouterr()
            assert run(COMMANDS, HELP, shlex.split(line)[1:]) == 0, line
            printed = [row.rstrip() for row in capsys.readouterr().out.splitlines()]
            if line.startswith("sahcns data "):
                assert shown[-1] == "…"  # the folder is another one
                assert printed[: len(shown) - 1] == shown[:-1]
                compared += 1
    assert compared
    assert {"shop", "seed1"} <= {path.name for path in (short / "runs").iterdir()}


@pytest.mark.parametrize(("page", "line"), LINES)
def test_command_lines_parse(page: str, line: str, parsed: Callable[[list[str]], dict[str, Any]]) -> None:
    name, *words = shlex.split(line)
    assert name == "sahcns"
    told = parsed(words)
    import_files(ROOT / path for path in told.get("imports") or ())
    if words[0] in ("train", "bench") and told:
        names = {part: told[part] for part in ("backbone", "sampler", "objective") if part in told}
        build(parse_parts(told["settings"] or [], **names))
    base: dict[str, type[Configured]] = {"samplers": Sampler, "backbones": Backbone, "objectives": Objective}
    if words[0] in base and told.get("name"):
        class_named(base[words[0]], told["name"])


def test_there_are_command_lines_to_parse() -> None:
    assert len(LINES) > 20
    assert {words[0] for _, line in LINES if (words := line.split()[1:])} >= {entry.name for entry in COMMANDS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        path, _, heading = target.partition("#")
        there = (page.parent / path) if path else page
        assert there.exists(), f"{page.name} points to {target}"
        if heading:
            titles = re.findall(r"^#+ (.+)$", there.read_text("utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}, target


@pytest.mark.parametrize(
    ("base", "name"), [(Sampler, "samplers.md"), (Backbone, "backbones.md"), (Objective, "objectives.md")]
)
def test_everything_there_is_has_its_entry(base: type[Configured], name: str) -> None:
    text = page_named(name).read_text("utf-8")
    for kind in (kind for kind in named(base).values() if kind.__module__.startswith("sahcns.")):
        assert f"`{kind.name}`" in text or f"[`{kind.name}`]" in text
        assert f"`{kind.__name__}`" in text
        for field in dataclasses.fields(kind):
            assert re.search(rf"`(backbone\.)?{field.name}\b", text), (
                f"{name} says nothing of {kind.name}'s {field.name}"
            )


def test_the_protocol_s_defaults_are_as_shown() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `?([\w.@+]+)`? \|", page_named("protocol.md").read_text("utf-8"), re.MULTILINE)
    fields = {field.name: str(field.default).lower() for field in dataclasses.fields(Protocol)}
    assert {name: float(value) if value[0].isdigit() else value for name, value in rows} == {
        name: float(value) if value[0].isdigit() else value for name, value in fields.items()
    }
