"""A job that failed: FOLDER/failed/KEY.json, there until the job succeeds."""

import json
import traceback
from dataclasses import dataclass
from pathlib import Path

from sahcns.errors import SahcnsError
from sahcns.files import write_whole
from sahcns.lab.grid.claims import FAILED
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.own_code import installed

FORMAT, FORMAT_VERSION = "sahcns-failure", 1
HOME = Path(__file__).parents[2]  # of this package


@dataclass(frozen=True)
class Failure:
    """What went wrong in one sentence, and where in the code; `call` names the call of `run_grid` that met it."""

    key: str
    label: str
    error: str
    traceback: str = ""
    call: str = ""

    @classmethod
    def of(cls, job: Job, error: BaseException, call: str) -> "Failure":
        where = "".join(traceback.format_exception(error))
        return cls(job.key, job.label, one_sentence(error), where, call)

    def save(self, folder: Path) -> Path:
        values = {"format": FORMAT, "format_version": FORMAT_VERSION, **self.__dict__}
        return write_whole(failure_path(folder, self.key), json.dumps(values, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder: Path, key: str) -> "Failure | None":
        """None where there is none, or one that nobody can read: it stands in nobody's way."""
        try:
            values = json.loads(failure_path(folder, key).read_text("utf-8"))
            return cls(key, values["label"], values["error"], values["traceback"], values["call"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


def one_sentence(error: BaseException) -> str:
    """Our own errors as they are; any other with its kind, and with the line of the user's file where there is one."""
    words = " ".join(str(error).split())
    return words if isinstance(error, SahcnsError) else f"{type(error).__name__}: {words}{_place(error)}"


def _place(error: BaseException) -> str:
    """` (mine.py, line 7)`: the last line of the user's own that it came through; nothing where it came through none."""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [(path, line) for path, line in frames if not path.is_relative_to(HOME) and not installed(path)]
    return f" ({own[-1][0].name}, line {own[-1][1]})" if own else ""


def failure_path(folder: Path, key: str) -> Path:
    return folder / FAILED / f"{key}.json"
