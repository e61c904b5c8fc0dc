"""Files with samplers of a user's own."""

import textwrap
from collections.abc import Mapping
from pathlib import Path

HEAD = """
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from sahcns.samplers import Sampler
"""
SAMPLER = """
@dataclass(frozen=True)
class Own{number}(Sampler):
    name = "{name}"

    def choose(self, match, rng):
{choose}
"""
SOFTEST = "return match.pick(match.scores.argmin(1))"
RAISING = 'raise RuntimeError("it is broken")'
DEADLY = "os.kill(os.getpid(), signal.SIGKILL)"


def write_samplers(path: Path, chosen: Mapping[str, str]) -> Path:
    """A sampler for each name; of each the lines of `choose`."""
    texts = [
        SAMPLER.format(number=number, name=name, choose=textwrap.indent(textwrap.dedent(lines).strip(), " " * 8))
        for number, (name, lines) in enumerate(chosen.items())
    ]
    path.write_text(HEAD + "".join(texts))
    return path
