"""Finished runs out of thin air: real `Result`s whose numbers a test chooses, or draws as training would."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.lab.grid.result import PerUser, Result

METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
PROTOCOL = {"batch": 2048, "epochs": 100, "mask": "train"}


def result(
    method: str,
    seed: int,
    test: Mapping[str, float],
    *,
    last: Mapping[str, float] | None = None,
    backbone: str = "lightgcn",
    data: str = "toys",
    fingerprint: str = "",
    users: PerUser | None = None,
    label: str = "",
    settings: Mapping[str, Any] | None = None,
    looks: Mapping[str, Sequence[float]] | None = None,
    epoch_seconds: Sequence[float] = (),
    **others: Any,
) -> Result:
    """One run; `test` are its test metrics at the best epoch, `last` those at the last, a little lower unless told."""
    at_end = {name: 0.97 * value for name, value in test.items()} if last is None else dict(last)
    return Result(
        key=f"{data}-{backbone}-{label or method}-{settings}-s{seed}",
        label=label or method,
        seed=seed,
        backbone={"name": backbone, "dim": 64, **others.pop("model", {})},
        sampler={"name": method, **(settings or {})},
        protocol={**PROTOCOL, **others.pop("protocol", {})},
        data={"name": data, "fingerprint": fingerprint or f"{data}0123456789abcdef", "users": 500, "items": 90},
        machine={"kernels": "cpu", "device": "cpu", "sahcns": "0.1", "torch": "2.9", **others.pop("machine", {})},
        best_epoch=10,
        epochs_run=20,
        stopped="patience",
        valid={"best": dict(test), "last": at_end},
        test={"best": dict(test), "last": at_end},
        seconds={"total": 2.0},
        history={"loss": [], "seconds": list(epoch_seconds), "looks": dict(looks or {})},
        per_user=users,
        **others,
    )


def chosen(
    values: Mapping[str, Sequence[float]], metrics: Sequence[str] = METRICS, first_seed: int = 2020, **others: Any
) -> list[Result]:
    """`{"dns": [0.12, 0.13], …}`: a method's value for each seed, the same for every metric."""
    return [
        result(method, first_seed + at, dict.fromkeys(metrics, value), **others)
        for method, own in values.items()
        for at, value in enumerate(own)
    ]


def alike(
    methods: Sequence[str],
    rng: np.random.Generator,
    *,
    seeds: int = 5,
    users: int = 400,
    shared: float = 0.0,
    own: float = 0.1,
    metrics: Sequence[str] = METRICS,
    keep: bool = True,
) -> list[Result]:
    """Methods that are all the same method under other names: whatever differs between them is luck.

    A user's metric is the user's own level, plus what the training did for all users (std `shared`), plus what it did for
    this user alone (std `own`). The metrics of one run go together, as they do: they share most of that luck.
    Without `keep` no user's values are kept with a result.
    """
    level = rng.beta(1, 4, users)
    made = []
    for method in methods:
        for seed in range(2020, 2020 + seeds):
            common, single = rng.normal(0, shared), rng.normal(0, own, users)
            kept: dict[str, npt.NDArray[Any]] = {"user": np.arange(users, dtype=np.int32)}
            for at, metric in enumerate(metrics):
                mine = rng.normal(0, 0.3 * own, users)
                kept[metric] = ((1 - 0.1 * at) * (level + common + single) + mine).astype(np.float32)
            means = {metric: float(kept[metric].astype(np.float64).mean()) for metric in metrics}
            made.append(result(method, seed, means, users=kept if keep else None))
    return made
