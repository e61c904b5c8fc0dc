"""When training stops: validation has not improved for so many looks."""

from dataclasses import dataclass, field

from torch import Tensor


@dataclass
class EarlyStopping:
    """Patience counts looks, not epochs; an equal value counts as a new best, as in the lineage."""

    patience: int
    best: float = float("-inf")
    best_epoch: int = -1
    since: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)

    def update(self, epoch: int, value: float, parameters: dict[str, Tensor]) -> bool:
        """Take note of one look; true when training should stop."""
        if value >= self.best:
            weights = {name: tensor.detach().clone() for name, tensor in parameters.items()}
            # Together, and after the copying: a Ctrl-C within it leaves the former best as it was.
            self.best, self.best_epoch, self.since, self.weights = value, epoch, 0, weights
            return False
        self.since += 1
        return self.since >= self.patience
