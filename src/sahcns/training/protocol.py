"""How a run is trained and judged; recorded with every result, because it moves every number."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sahcns.errors import SettingError
from sahcns.settings import Between, Configured, setting


@dataclass(frozen=True)
class Protocol(Configured):
    """How a run is trained and judged, the paper's way by default; `Protocol.settings()` explains each argument."""

    name: ClassVar[str] = "protocol"

    batch: int = setting(2048, "training pairs in a step, B", low=1)
    learning_rate: float = setting(1e-3, "Adam's step size", above=0, search=Between(3e-4, 3e-3, log=True))
    l2: float = setting(
        1e-4, "strength of L2 on the layer-0 rows of a batch", low=0, search=Between(1e-5, 1e-2, log=True)
    )
    l2_on: str = setting(
        "mixed", "the negative's row that L2 sees: the mixture, or the real item", choices=("mixed", "real")
    )
    epochs: int = setting(1000, "most passes over the training pairs", low=1)
    evaluate_every: int = setting(5, "epochs between two looks at the validation part", low=1)
    patience: int = setting(10, "looks without a new best before training stops", low=1)
    monitor: str = setting("recall@20", "validation metric that picks the epoch")
    mask: str = setting("train", "items left out when ranking the test part", choices=("train", "train+valid"))
    drop_last: bool = setting(True, "leave out the last, smaller batch of an epoch (the lineage does)")
    draw: str = setting(
        "pairs",
        "an epoch is every pair once, or as many draws of a user and then of one of their pairs",
        choices=("pairs", "users"),
        late=True,
    )

    # The epoch is picked on validation, always. Records and the keys of results say so by an entry `select_on`.

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "select_on": "valid"}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        if (part := values.get("select_on", "valid")) != "valid":
            raise SettingError(f"Protocol: select_on={part!r} is refused; the epoch is picked on 'valid', always")
        return super().from_dict({name: value for name, value in values.items() if name != "select_on"})

    @classmethod
    def parsed(cls, argument: str, text: str) -> Any:
        return text if argument == "select_on" else super().parsed(argument, text)
