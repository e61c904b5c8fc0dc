"""A sampler typed into a notebook has no file: its code decides the key, so that a changed class is another run."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from sahcns.backbones import MF
from sahcns.lab.grid.own_code import own_code, own_sources
from sahcns.samplers import DNS, Sampler

TEXT = """
from dataclasses import dataclass
import sahcns

@dataclass(frozen=True)
class Typed(sahcns.Sampler):
    def choose(self, match, rng):
        easy = [n for n in (0, 1) if "a" in {"a", "b", "c"}]
        return match.pick(match.scores.argmin(1))
    @property
    def twice(self):
        return 2 * self.pool
"""


def typed(text: str) -> type[Sampler]:
    space: dict[str, object] = {"__name__": "nowhere"}
    exec(compile(text, "<cell>", "exec"), space)
    kind = space["Typed"]
    assert isinstance(kind, type)
    return kind


def test_its_methods_decide() -> None:
    assert own_code(DNS, MF) is None
    first = own_code(typed(TEXT))
    assert first is not None
    assert own_sources(typed(TEXT)) == []
    assert own_code(typed("\n\n" + TEXT.replace("pool", "pool  "))) == first  # where it stands and how it is spaced: no
    for old, new in (("argmin", "argmax"), ("2 *", "3 *"), ("(0, 1)", "(0, 2)"), ('"a" in', '"b" in')):
        assert own_code(typed(TEXT.replace(old, new))) != first
    assert own_code(type("Below", (typed(TEXT),), {})) != first


BESIDE = """
SHARE, NAMES = 0.5, ("a", "b")

class Part:
    def of(self, match):
        return match.scores.argmin(1)

def softest(match):
    return Part().of(match) * (1 if NAMES[0] == "a" else 0) if match else softest(match)
"""


def test_what_its_methods_name_decides_too() -> None:
    """A helper in another cell, or a number above the class; not what has only the name of an attribute."""
    text = TEXT.replace("match.scores.argmin(1)", "softest(match) * SHARE")
    first = own_code(typed(BESIDE + text))
    assert own_code(typed(BESIDE + "pool = 3\nscores = 4\n" + text)) == first
    for old, new in (("0.5", "0.7"), ("argmin", "argmax"), ('("a", "b")', '("b", "a")'), ("else 0", "else 2")):
        assert own_code(typed((BESIDE + text).replace(old, new))) != first


def test_a_decorator_does_not_hide_what_it_wraps() -> None:
    text = TEXT.replace("    def choose", "    @torch.no_grad()\n    def choose").replace(
        "import sahcns", "import sahcns, torch"
    )
    assert own_code(typed(text)) != own_code(typed(text.replace("argmin", "argmax")))


def test_a_file_that_its_methods_use_decides_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = "from typed_rules import softest\n" + TEXT.replace("match.scores.argmin(1)", "softest(match)")
    found = []
    for rule in ("argmin", "argmax"):
        (tmp_path / "typed_rules.py").write_text(f"def softest(match):\n    return match.scores.{rule}(1)\n")
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        found.append(own_code(typed(text)))
        del sys.modules["typed_rules"]
    assert found[0] != found[1]


def test_an_interpreter_s_own_module_and_the_same_each_time(tmp_path: Path) -> None:
    tell = "from sahcns.lab.grid.own_code import own_code\nprint(own_code(Typed))\n"
    told = [
        subprocess.run([sys.executable, "-c", TEXT + tell], capture_output=True, text=True, check=True, cwd=tmp_path)
        for _ in range(2)  # sets of words have another order in each process
    ]
    assert told[0].stdout == told[1].stdout != "None\n"
