"""What must be right in the description of a run, where it is there: files may be damaged or foreign. Needs no torch."""

from typing import Any, Required, TypedDict

from sahcns.plain import Setting

Settings = dict[str, Setting | list[Setting]]


class Named(TypedDict):
    """What must be right in a backbone or a sampler, and below in a set, in what a run was made on, and in `columns`."""

    name: str


class About(TypedDict, total=False):
    fingerprint: Required[str]
    name: str
    users: int
    items: int
    train: int
    valid: int
    test: int
    folder: str
    refit: dict[str, Any]


class Machine(TypedDict, total=False):
    kernels: str
    processes: int


class Described(TypedDict, total=False):
    """Of a model's folder."""

    seed: int
    backbone: Named
    sampler: Named
    objective: Named
    baseline: Named
    protocol: Settings
    data: About
    machine: Machine
    best_epoch: int
    epochs_run: int
    stopped: str
    valid: dict[str, dict[str, float]]
    test: dict[str, dict[str, float]]
    seconds: dict[str, float]
    history: list[dict[str, Any]]
    imports: list[str]


class Manifest(TypedDict, total=False):
    """Of a prepared set."""

    fingerprint: str
    source: dict[str, Any]
    recipe: dict[str, Any]
    steps: list[dict[str, Any]]
    statistics: dict[str, Any]
