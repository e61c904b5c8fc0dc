"""A job that failed: FOLDER/failed/KEY.json, there until the job succeeds."""

import json
import traceback
from dataclasses import dataclass
from pathlib import Path

from sahcns.errors import SahcnsError
from sahcns.files import write_whole
from sahcns.studies.grid.claims import FAILED
from sahcns.studies.grid.job import Job

FORMAT, FORMAT_VERSION = "sahcns-failure", 1


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
        words = " ".join(str(error).split())
        told = words if isinstance(error, SahcnsError) else f"{type(error).__name__}: {words}"
        where = "".join(traceback.format_exception(error))
        return cls(job.key, job.label, told, where, call)

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


def failure_path(folder: Path, key: str) -> Path:
    return folder / FAILED / f"{key}.json"
