"""A sampler typed into a notebook has no file: its code decides the key, so that a changed class is another run."""

import subprocess
import sys
from pathlib import Path

from sahcns.backbones import MF
from sahcns.samplers import DNS, Sampler
from sahcns.studies.grid.own_code import own_code, own_sources

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


def test_an_interpreter_s_own_module_and_the_same_each_time(tmp_path: Path) -> None:
    tell = "from sahcns.studies.grid.own_code import own_code\nprint(own_code(Typed))\n"
    told = [
        subprocess.run([sys.executable, "-c", TEXT + tell], capture_output=True, text=True, check=True, cwd=tmp_path)
        for _ in range(2)  # sets of words have another order in each process
    ]
    assert told[0].stdout == told[1].stdout != "None\n"
