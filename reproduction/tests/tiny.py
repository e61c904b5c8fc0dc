"""A study of two sets of 160 users, and results out of thin air for any design."""

import hashlib
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from reproduction.design import DataSet, Design
from reproduction.evidence import Evidence
from reproduction.experiments import GRIDS, Row, job
from reproduction.methods import PROTOCOL, TOYS, YELP
from sahcns import Result, save_split
from tests.splits import random_split

ALL = tuple(GRIDS)
RESULTS = Path(__file__).parents[1] / "results"
METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
Value = Callable[[Row, int, str, str], float]
"""(row, seed, metric, reading) → the test metric."""

TINY = Design(
    "A tiny study",
    (DataSet("one", "Tiny toys", TOYS), DataSet("two", "Tiny yelp", YELP, same=False)),
    ("one", "two"),
    "one",
    ("one",),
    seeds=2,
    few=1,
    many=3,
    grid=(0.0, 0.3, 1.0),
    pools=(5, 10, 12),
    wide_pools=(5, 10, 12),
    splits=2,
    ages=(1, 2),
    alike=1,
    trials=2,
    all_trials=1,
    dim=4,
    depth=2,
    protocol={**PROTOCOL, "batch": 256, "learning_rate": 0.05, "epochs": 2, "evaluate_every": 1},
)


@cache
def in_the_tree() -> Evidence:
    """The study's results; nothing that is looked up in them changes them."""
    return Evidence.of(RESULTS)


def prepared(folder: Path, design: Design = TINY) -> Path:
    """The sets of a design, each another random one."""
    for at, one in enumerate(design.sets):
        save_split(random_split(160, 60, 6, seed=at), folder / one.folder)
    return folder


def luck(*words: object) -> float:
    """A number in [0, 1) that depends on nothing but the words."""
    digest = hashlib.sha256(" ".join(map(str, ["luck", *words])).encode()).digest()
    return int.from_bytes(digest[:4], "little") / 2**32


def noisy(row: Row, seed: int, metric: str, reading: str) -> float:
    """All methods alike: the rest is luck, and a little less of everything at the last epoch."""
    level = {"recall@10": 0.09, "ndcg@10": 0.06, "recall@20": 0.13, "ndcg@20": 0.07}[metric]
    return level - 0.004 * (reading == "last") + 0.002 * luck(row.label, row.sampler, row.data, seed, metric)


def fill(
    folder: Path,
    design: Design,
    value: Value = noisy,
    parts: Iterable[str] = ALL,
    keep: Callable[[Row, int], bool] = lambda row, seed: True,
) -> Path:
    """Every run of some parts, as files whose numbers `value` chooses."""
    design.save(folder)
    (folder / "runs").mkdir(exist_ok=True)
    for part in parts:
        rows, seeds = Evidence.of(folder).rows(part), Evidence.of(folder).seeds(part)
        for row in rows:
            for seed in seeds:
                if row.sampler is not None and keep(row, seed):
                    made(design, row, seed, value).save(folder)
    return folder


def made(design: Design, row: Row, seed: int, value: Value) -> Result:
    """A finished run whose key is that of its settings."""
    assert row.sampler is not None
    name = design.data(row.data).name
    fingerprint = f"{zlib.crc32(name.encode()):08x}" * 8
    test = {reading: {metric: value(row, seed, metric, reading) for metric in METRICS} for reading in ("best", "last")}
    reached = test["best"]["recall@20"]
    looks = {"epoch": [0, 1, 2], "seconds": [1.0, 2.0, 3.0], "recall@20": [0.5 * reached, reached, 0.9 * reached]}
    return Result(
        key=job(design, row, row.data, fingerprint, seed).key,
        label=row.label,
        seed=seed,
        backbone=row.backbone,
        sampler=row.sampler,
        protocol=row.protocol,
        data={
            "name": name,
            "fingerprint": fingerprint,
            "users": 40,
            "items": 60,
            "train": 240,
            "valid": 40,
            "test": 40,
        },
        machine={"kernels": "cpu", "device": "cpu", "sahcns": "0.1", "torch": "2.9"},
        best_epoch=1,
        epochs_run=3,
        stopped="patience",
        valid=test,
        test=test,
        seconds={"total": 2.0},
        history={"loss": [0.7, 0.6, 0.5], "seconds": [1.0, 1.0, 1.0], "looks": looks},
        commit="0123456789",
    )
