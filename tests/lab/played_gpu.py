"""A GPU that dies, played by a user's file where there is none: here, and in every process that imports the file."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from sahcns.importing import import_files
from sahcns.samplers import Sampler
from sahcns.settings import class_named
from sahcns.training import device

SAYS = "CUDA error: an illegal memory access was encountered"
SENTENCE = (
    f"the GPU does not answer ({SAYS}); what was finished is kept: run it again in a new process, and if this comes back, "
    "device='cpu' shows where it begins"
)

PLAYED = f"""
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import sahcns
from sahcns.training import device

HOME, OWN = Path(__file__).parent, sys.modules["__main__"].__spec__
WHERE = "child" if OWN is not None and OWN.name.startswith("sahcns.") else "parent"
DEAD = HOME / f"dead-{{os.getpid()}}"

device.fault_of = lambda where: "{SAYS}" if DEAD.exists() else None


@dataclass(frozen=True)
class OnGpu(sahcns.Sampler):
    "Works as long as the GPU of its process does."
    name = "on-gpu"

    share: float = sahcns.setting(0.5, "how often the hardest is taken", low=0, high=1)

    def choose(self, match, rng):
        if DEAD.exists():
            raise RuntimeError("{SAYS}\\nand so says every later call")
        hardest = match.scores.argmax(1)
        return match.pick(hardest * (rng.uniform(len(hardest)) < self.share))


@dataclass(frozen=True)
class Deadly(OnGpu):
    "The GPU of its process dies of it, where it is armed."
    name = "deadly-on-gpu"

    def choose(self, match, rng):
        if (HOME / f"armed-{{WHERE}}").exists():
            DEAD.touch()
        return super().choose(match, rng)
"""

# Children that leave, when they are told to, only when two have been told.
TOGETHER = """
import os
import signal
import sys
import time
from pathlib import Path

HOME, OWN = Path(__file__).parent, sys.modules["__main__"].__spec__


def leave(signal, frame):
    (HOME / f"told-{os.getpid()}").touch()
    deadline = time.monotonic() + 30
    while len(list(HOME.glob("told-*"))) < 2:
        if time.monotonic() > deadline:
            (HOME / "alone").touch()
            break
        time.sleep(0.01)
    os._exit(0)


if OWN is not None and OWN.name.startswith("sahcns."):
    signal.signal(signal.SIGTERM, leave)
    (HOME / f"ready-{os.getpid()}").touch()
"""


@dataclass(frozen=True)
class PlayedGpu:
    """The file, and what makes the GPU of a process die by its sampler `deadly`."""

    file: Path

    @property
    def working(self) -> type[Sampler]:
        return class_named(Sampler, "on-gpu")

    @property
    def deadly(self) -> type[Sampler]:
        return class_named(Sampler, "deadly-on-gpu")

    @property
    def dead(self) -> list[int]:
        """The processes whose GPU has died."""
        return [int(path.name.removeprefix("dead-")) for path in self.file.parent.glob("dead-*")]

    def arm(self, where: Literal["parent", "child"]) -> None:
        (self.file.parent / f"armed-{where}").touch()

    def disarm(self, where: Literal["parent", "child"]) -> None:
        (self.file.parent / f"armed-{where}").unlink(missing_ok=True)

    def begin_anew(self, armed: bool = False) -> None:
        """As in a new process."""
        (self.file.parent / f"dead-{os.getpid()}").unlink()
        if not armed:
            self.disarm("parent")


def played_gpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedGpu:
    home = folder / "gpu"
    home.mkdir()
    (home / "played_gpu_own.py").write_text(PLAYED)
    monkeypatch.setattr(device, "fault_of", device.fault_of)  # which the file replaces, until the test ends
    import_files([home / "played_gpu_own.py"])
    return PlayedGpu(home / "played_gpu_own.py")


def leaving_together(folder: Path) -> Path:
    home = folder / "together"
    home.mkdir()
    (home / "leaving_together_own.py").write_text(TOGETHER)
    return home / "leaving_together_own.py"
