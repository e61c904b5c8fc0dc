"""Early stopping, with the metric written down look by look."""

from typing import Any

import pytest
import torch

from sahcns.training.stopping import EarlyStopping


def follow(values: list[float], patience: int) -> tuple[EarlyStopping, int | None]:
    """Feed a metric; the weights at look k are k. Returns the state and the look that said stop."""
    stopping, table = EarlyStopping(patience), torch.zeros(1)
    for look, value in enumerate(values):
        table.fill_(look)
        if stopping.update(5 * look, value, {"ego": table}):
            return stopping, look
    return stopping, None


@pytest.mark.parametrize(
    ("values", "patience", "best", "stopped_at"),
    [
        ([0.1, 0.2, 0.3], 1, 2, None),
        ([0.3, 0.2, 0.25, 0.29], 3, 0, 3),  # better than the look before is not enough
        ([0.3, 0.2, 0.25, 0.29], 4, 0, None),
        ([0.1, 0.3, 0.2, 0.4, 0.3, 0.3], 2, 3, 5),  # a new best starts the count again
        ([0.2, 0.1, 0.2, 0.1, 0.2, 0.1], 2, 4, None),  # an equal value is a new best
        ([0.0, 0.0, 0.0], 1, 2, None),
        ([0.2, 0.1], 1, 0, 1),
    ],
)
def test_patience_counts_looks_and_equal_is_a_new_best(
    values: list[float], patience: int, best: int, stopped_at: int | None
) -> None:
    stopping, stopped = follow(values, patience)
    assert stopped == stopped_at
    assert stopping.best == values[best]
    assert stopping.best_epoch == 5 * best
    assert stopping.weights["ego"].tolist() == [best]  # a copy of that look, not what training went on with


def test_kept_weights_carry_no_gradient() -> None:
    table = torch.ones(2, requires_grad=True)
    stopping = EarlyStopping(3)
    stopping.update(0, 0.5, {"ego": table})
    assert not stopping.weights["ego"].requires_grad
    assert stopping.weights["ego"].data_ptr() != table.data_ptr()


def test_a_value_that_is_not_a_number_is_never_the_best() -> None:
    stopping, stopped = follow([0.1, float("nan"), float("nan")], 2)
    assert stopped == 2
    assert stopping.best_epoch == 0


def test_an_interruption_while_weights_are_copied_leaves_the_former_best() -> None:
    class Interrupted(dict[str, torch.Tensor]):
        def items(self) -> Any:
            raise KeyboardInterrupt

    stopping = EarlyStopping(3)
    stopping.update(0, 0.1, {"ego": torch.zeros(1)})
    with pytest.raises(KeyboardInterrupt):
        stopping.update(5, 0.2, Interrupted())
    assert (stopping.best, stopping.best_epoch, stopping.weights["ego"].tolist()) == (0.1, 0, [0.0])
