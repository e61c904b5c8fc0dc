"""What is written down about a run, so that its numbers can be trusted, repeated and compared."""

import platform
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

from sahcns.backbones.base import Backbone
from sahcns.data.split import Split
from sahcns.objectives import BPR, Objective
from sahcns.samplers.base import Sampler
from sahcns.training.protocol import Protocol
from sahcns.version import __version__


@dataclass
class Record:
    """One run, as plain data; `to_dict` is what goes into JSON."""

    seed: int
    backbone: dict[str, Any]
    sampler: dict[str, Any]
    protocol: dict[str, Any]
    data: dict[str, Any]
    machine: dict[str, Any]
    # One entry an epoch: loss, seconds, validation if looked. A thousand of them are no line of a notebook.
    history: list[dict[str, Any]] = field(default_factory=list, repr=False)
    best_epoch: int = -1
    epochs_run: int = 0
    stopped: str = ""  # "patience", "epochs" or "interrupted"
    valid: dict[str, dict[str, float]] = field(default_factory=dict)  # {"best": metrics, "last": metrics}
    test: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    objective: dict[str, Any] = field(
        default_factory=lambda: described(BPR())
    )  # records from before objectives have none

    @classmethod
    def of(
        cls,
        split: Split,
        backbone: Backbone,
        sampler: Sampler,
        protocol: Protocol,
        seed: int,
        device: torch.device,
        path: str,
        objective: Objective = BPR(),  # noqa: B008 (nothing changes it)
    ) -> "Record":
        return cls(
            seed=seed,
            backbone=described(backbone),
            sampler=described(sampler),
            objective=described(objective),
            protocol=protocol.to_dict(),
            data={
                "fingerprint": split.fingerprint,
                "users": split.n_users,
                "items": split.n_items,
                **{name: len(pairs) for name, pairs in split.parts().items()},
            },
            machine={
                "sahcns": __version__,
                "torch": torch.__version__,
                "numpy": numpy.__version__,
                "python": platform.python_version(),
                "system": platform.system(),
                "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
                "kernels": path,
                **({"threads": torch.get_num_threads()} if device.type == "cpu" else {}),  # sums are cut into as many
            },
        )

    def to_dict(self) -> dict[str, Any]:
        return {"format": "sahcns-run", "format_version": 1, **self.__dict__}


def described(part: Backbone | Sampler | Objective) -> dict[str, Any]:
    """`{"name": "sahc", "pool": 10, …}`: what `by_name` builds again."""
    return {"name": part.name or type(part).__name__, **part.to_dict()}
