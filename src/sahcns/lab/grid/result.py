"""One finished or failed run as plain data, and the files that hold it.

FOLDER/runs/KEY.json    settings, seed, data, versions, metrics, the course of training; its presence means "done"
FOLDER/users/KEY.npz    test metrics of each user at the best epoch; written before the other, and not needed by it
FOLDER/failed/KEY.json  why it failed
"""

import hashlib
import io
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any, TypedDict

import numpy as np
import numpy.typing as npt

from sahcns.described import About, Machine, Named
from sahcns.errors import DataError, SettingError, nearest
from sahcns.files import json_lines, read_json, read_marked, write_whole
from sahcns.lab.parts import JUDGED, OBJECTIVE
from sahcns.plain import Plain, Setting, read_from

LARGEST_USERS = 1 << 32  # bytes; of ten million users it is a quarter of that
FORMAT, FORMAT_VERSION = "sahcns-result", 1
RUNS, USERS, FAILED, UNFINISHED = "runs", "users", "failed", "unfinished"  # folders

PerUser = dict[str, npt.NDArray[Any]]
"""`{"user": positions [E] int32, "recall@20": [E] float32, …}` for the E users with test items, ascending."""


class History(TypedDict, total=False):
    loss: list[float]
    seconds: list[float]
    looks: dict[str, list[float]]


@dataclass(frozen=True)
class Terms:
    """What must agree for two results to stand in one table: the data, how they are judged, and the kernels.

    How each was trained is its row's own, and stands beside it where rows differ in it.
    """

    fingerprint: str
    judged: tuple[tuple[str, Any], ...]  # of the protocol, sorted by name
    kernels: str  # those that ran
    data_name: str = field(default="", compare=False)

    @classmethod
    def of(cls, data: Mapping[str, Any], protocol: Mapping[str, Any], machine: Mapping[str, Any]) -> "Terms":
        kernels = machine.get("kernels", "")
        judged = tuple((name, protocol[name]) for name in JUDGED if name in protocol)
        return cls(data["fingerprint"], judged, kernels, data.get("name", ""))


def terms_differ(first: Terms, second: Terms) -> list[str]:
    """Each difference in words, such as `mask: train and train+valid`; empty if both may share a table."""
    differences = []
    if first.fingerprint != second.fingerprint:
        one, other = (f"{terms.data_name} ({terms.fingerprint[:10]})".strip() for terms in (first, second))
        differences.append(f"data: {one} and {other}")
    mine, theirs = ({"kernels": terms.kernels, **dict(terms.judged)} for terms in (first, second))
    for name in dict.fromkeys(["kernels", *sorted(mine.keys() | theirs.keys())]):
        if mine.get(name) != theirs.get(name):
            differences.append(f"{name}: {mine.get(name, 'not given')} and {theirs.get(name, 'not given')}")
    return differences


@dataclass(frozen=True, eq=False, repr=False)
class Result(Plain):
    """A finished run: what it was, under which terms, and what came out."""

    key: str
    label: str  # the row's name in a table
    seed: int
    backbone: Annotated[dict[str, Any], Named]  # {"name": "lightgcn", "dim": 64, …}
    sampler: Annotated[dict[str, Any], Named]
    protocol: dict[str, Setting]
    data: Annotated[dict[str, Any], About]  # name, fingerprint, users, items, pairs of each part
    machine: Annotated[dict[str, Any], Machine]  # versions, device, kernels, processes that shared it
    best_epoch: int
    epochs_run: int
    stopped: str  # "patience" or "epochs"
    valid: dict[str, dict[str, float]]  # {"best": {"recall@20": …}, "last": …}
    test: dict[str, dict[str, float]]
    seconds: dict[str, float]  # of each part of training, and in total
    history: Annotated[dict[str, Any], History]  # columns: see `columns`
    commit: str | None = None  # of the sources
    code: str | None = None  # digest of the user's own files, if the sampler or the backbone comes from one
    imports: list[str] = field(default_factory=list)  # the user's own files
    objective: Annotated[dict[str, Any], Named] = field(default_factory=OBJECTIVE.copy)
    users_sha256: str | None = None  # of the file with the metrics of each user
    path: Path | None = None  # of the JSON file
    per_user: PerUser | None = None  # before it is saved

    def __repr__(self) -> str:
        best = self.test.get("best", {})
        metrics = "".join(f", test {name} {best[name]:.2%}" for name in ("recall@20", "ndcg@20") if name in best)
        return f"Result({self.label!r}, {self.backbone['name']}, seed {self.seed}{metrics})"

    @property
    def terms(self) -> Terms:
        return Terms.of(self.data, self.protocol, self.machine)

    @property
    def around(self) -> dict[str, Any]:
        """What its sampler was trained with, by the names of a row's settings: {"protocol.l2": …, "objective": "bpr"}."""
        parts = {"backbone": self.backbone, "objective": self.objective, "protocol": self.protocol}
        every = {(word, name): value for word, part in parts.items() for name, value in part.items()}
        judged = {("protocol", name) for name in JUDGED}
        own = {f"{word}.{name}": every[word, name] for word, name in every.keys() - judged if name != "name"}
        return {"objective": self.objective["name"], **dict(sorted(own.items()))}

    @property
    def processes(self) -> int:
        """How many shared the machine while it ran; its seconds are to be read accordingly."""
        return int(self.machine.get("processes", 1))

    @property
    def look_seconds(self) -> list[float]:
        """Seconds of training up to each look: its epochs, times the median one.

        Not their sum, because a process compiles kernels in its first run, which then would be slower than the others.
        """
        pace = median(self.history["seconds"]) if self.history.get("seconds") else math.nan
        return [(epoch + 1) * pace for epoch in self.history.get("looks", {}).get("epoch", ())]

    def shared_by(self, processes: int) -> "Result":
        """The same, with a note of how many processes ran beside one another."""
        return replace(self, machine={**self.machine, "processes": processes}) if processes > 1 else self

    def metric(self, name: str, reading: str = "best", part: str = "test") -> float:
        """`recall@20` of the test part at the best validation epoch; reading "last" is where training stopped."""
        parts = {"test": self.test, "valid": self.valid}
        if reading not in parts.get(part, {}):
            raise SettingError(
                f"{self.key} has no reading {reading!r} of a part {part!r}; best and last of test and valid are known"
            )
        if name not in parts[part][reading]:
            raise SettingError(f"{self.key} has no metric {name!r}; {nearest(name, parts[part][reading])}")
        return parts[part][reading][name]

    def users(self) -> PerUser | None:
        """Test metrics of each user, or None where that file was left behind."""
        if self.per_user is not None or self.path is None:
            return self.per_user
        beside, remedy = (
            self.path.parents[1] / USERS / f"{self.key}.npz",
            f"delete it and {self.path}, and run it again",
        )
        if not beside.exists():
            return None
        try:
            if not beside.is_file() or beside.stat().st_size > LARGEST_USERS:
                raise ValueError(f"it is no file of at most {LARGEST_USERS:,} bytes")
            with open(beside, "rb") as file:
                if self.users_sha256 not in (None, hashlib.file_digest(file, "sha256").hexdigest()):
                    raise ValueError("its SHA-256 differs")  # earlier versions wrote none
                file.seek(0)
                with np.load(file, allow_pickle=False) as arrays:
                    users: PerUser = {name: arrays[name] for name in arrays.files}
            kinds = {name: values.dtype.kind for name, values in users.items()}
            if kinds.pop("user") != "i" or {*kinds.values()} - {"f"} or len({one.shape for one in users.values()}) > 1:
                raise ValueError("other columns than those of a result")
            return users
        except Exception as error:  # numpy, zipfile and zlib raise a dozen kinds
            raise DataError(f"{beside} cannot be read ({error}); {remedy}") from error

    def save(self, folder: str | os.PathLike[str]) -> "Result":
        """Into FOLDER/users, then FOLDER/runs; each file is whole or not there."""
        saved = self
        if self.per_user is not None:
            packed = io.BytesIO()
            pack: Callable[..., None] = np.savez_compressed  # numpy 2.0 would pack an `allow_pickle` as one more array
            pack(packed, **self.per_user)
            write_whole(Path(folder) / USERS / f"{self.key}.npz", packed.getvalue(), "result")
            saved = replace(self, users_sha256=hashlib.sha256(packed.getvalue()).hexdigest())
        path = write_whole(result_path(folder, self.key), saved.to_json(), "result")
        return replace(saved, path=path)

    def to_dict(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _NAMES}
        return {"format": FORMAT, "format_version": FORMAT_VERSION, **own}

    def to_json(self) -> str:
        """A line for each key."""
        return json_lines(self.to_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Result":
        """From a JSON file; what is no result, or a broken one, is an error that says so."""
        path = Path(path)
        values = read_marked(
            path,
            FORMAT,
            FORMAT_VERSION,
            missing=f"there is no result {path}; `sahcns compare` makes them",
            again="delete it and run it again",
            foreign=f"{path} is not a result of sahcns; move it elsewhere",
        )
        with read_from(path):
            result = cls.from_dict({**values, "path": None, "per_user": None})
            looks = result.history.get("looks") or {"epoch": []}
            if len({len(values) for values in looks.values()}) > 1 or "epoch" not in looks:
                raise DataError("history.looks has columns of several lengths, or no column 'epoch'")
        return replace(result, path=path)


_NAMES = tuple(entry.name for entry in fields(Result) if entry.name not in ("path", "per_user"))


@dataclass(frozen=True)
class Failure(Plain):
    """Why a job failed, in one sentence, and where in the code."""

    key: str
    label: str
    error: str
    traceback: str = ""

    def save(self, folder: Path) -> Path:
        values = {"format": "sahcns-failure", "format_version": 1, **self.to_dict()}
        return write_whole(failure_path(folder, self.key), json.dumps(values, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder: Path, key: str) -> "Failure | None":
        """None where there is none, or one that cannot be read: the job is simply tried again."""
        try:
            return cls.from_dict(read_json(failure_path(folder, key), missing="", again=""))
        except DataError:
            return None


def failure_path(folder: Path, key: str) -> Path:
    return folder / FAILED / f"{key}.json"


def result_path(folder: str | os.PathLike[str], key: str) -> Path:
    return Path(folder) / RUNS / f"{key}.json"


def results_in(folder: str | os.PathLike[str]) -> list[Result]:
    """All results of a folder, sorted by data, backbone, label, seed and key."""
    home = Path(folder) / RUNS
    if not home.is_dir():
        raise DataError(f"{folder} holds no results: it has no folder {RUNS!r}; `sahcns compare` makes one")
    results = [Result.load(path) for path in home.iterdir() if path.suffix == ".json" and not path.name.startswith(".")]
    for one in results:
        if one.path is not None and one.key != one.path.stem:  # a copy would be counted as one more seed
            raise DataError(f"{one.path} holds the result {one.key!r}; give it its own name back, or move it elsewhere")

    def order(one: Result) -> tuple[Any, ...]:
        """Results of one table, one row and ascending seeds stand together."""
        name, fingerprint = one.data.get("name", ""), one.data["fingerprint"]
        return name, fingerprint, one.backbone["name"], one.label, one.seed, one.key

    return sorted(results, key=order)


def columns(history: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A record's history, one entry an epoch, as columns with few digits.

    {"loss": [n], "seconds": [n], "looks": {"epoch": [m], "seconds": [m], "recall@20": [m], …}}: seconds of an epoch are
    those of training alone. Those of a look are their sum up to it, compiling included, for whoever reads the file; what
    is compared are `Result.look_seconds`.
    """
    looks: dict[str, list[float]] = {"epoch": [], "seconds": []}
    passed = 0.0
    for entry in history:
        passed += entry["seconds"]
        if "valid" in entry:
            looks["epoch"].append(entry["epoch"])
            looks["seconds"].append(round(passed, 3))
            for name, value in entry["valid"].items():
                looks.setdefault(name, []).append(round(value, 6))
    return {
        "loss": [float(f"{entry['loss']:.5g}") for entry in history],
        "seconds": [float(f"{entry['seconds']:.4g}") for entry in history],
        "looks": looks,
    }
