"""One epoch of training pairs, in their order, step by step or as replays of one captured CUDA graph.

On a GPU a step is dozens of kernels of a few microseconds; launching them from Python takes longer than running them. So
after a few ordinary steps one step is captured, and from then on a step is a single launch. Everything that changes from
step to step (batch, counters of the random streams, Adam's state) lives in tensors, so the replayed step is the same code.
"""

import math
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from sahcns.errors import TrainingError
from sahcns.objectives import Objective
from sahcns.rng import LOW
from sahcns.training.profiler import Profiler
from sahcns.training.step import PARTS, TrainingStep

WARM_UP = 4  # ordinary, checked steps before the capture
STORED = 100_000_000  # pairs up to which an epoch's order is made at once; beyond, each batch makes its own part
PIECE = 1 << 24  # pairs looked up at once
GROWN, FAST = 1000.0, 0.1  # a loss, and a learning rate, with which nothing is learnt


class Epochs:
    """Runs epochs of a step; `losses` of the last one are on the device until someone reads them."""

    def __init__(self, step: TrainingStep, capture: bool) -> None:
        graph, protocol = step.graph, step.protocol
        self.pairs = pairs = graph.n_pairs
        self.step, self.profiler = step, step.profiler
        self.size = min(protocol.batch, pairs)
        self.steps = pairs // self.size
        self.rest = 0 if protocol.drop_last else pairs - self.steps * self.size
        self.stored = pairs <= STORED
        self.batches = torch.zeros(3, self.steps * self.stored, self.size, dtype=torch.int64, device=graph.device)
        self.losses = torch.zeros(self.steps + (self.rest > 0), device=graph.device)
        self.cursor = torch.zeros(1, dtype=torch.int64, device=graph.device)
        self.done = 0  # ordinary steps taken so far
        # A step of a lean graph takes long enough, and its tables should not be there twice, here and in a recording.
        self.capture = capture and graph.device.type == "cuda" and not graph.lean
        self.captured: torch.cuda.CUDAGraph | None = None
        self.mode = "captured" if self.capture else "eager"
        self.bound: dict[Any, Any] | None = None  # what states held, where steps are to be replayed
        self.between: Callable[[int, int], None] | None = None  # called between steps with the epoch and the steps done

    @property
    def settled(self) -> bool:
        """Whether it is known how steps are run: nothing may disturb a capture."""
        return not self.capture or self.captured is not None

    def run(self, epoch: int, first: int = 0) -> Tensor:
        """All batches of one epoch from step `first` on; returns the loss of each step."""
        step = self.step
        if self.capture and self.bound is None:
            self.bound = self._held()
        step.epoch.fill_(epoch)
        step.streams.shuffle.seek(epoch)
        rest = self._fill(epoch) if self.stored else None
        self.cursor.fill_(first)
        for at in range(first, self.steps):
            if not self.capture:  # a sampler's choices are checked throughout the first epoch, then once an epoch
                step.checked = epoch == 0 or at == 0
            if self.captured is not None:
                self.captured.replay()
            elif self.capture and self.done >= WARM_UP:
                if self._replayable():
                    self._capture()
                self._replay_or_run()
            else:
                self._one()
            if self.between is not None and self.settled:
                self.between(epoch, at + 1)
        if self.rest:
            rest = self._places(self.steps * self.size, self.rest) if rest is None else rest
            self.losses[-1] = step(rest, *step.graph.pairs_at(rest))
        # After a loss that is not a number there is nothing to end: the trainer is about to say so.
        ends = type(step.objective).end_epoch is not Objective.end_epoch
        if (step.state is not None or ends) and bool(torch.isfinite(self.losses).all()):
            self._end(epoch)
            if self.captured is not None:
                self._replayable()
        self.profiler.settle()  # or the marks of all epochs would pile up; the losses are waited for in any case
        return self.losses

    def _fill(self, epoch: int) -> Tensor:
        """Write down the epoch's batches; the positions of the pairs that are left over."""
        order, graph = self._order(epoch), self.step.graph
        pairs, users, items = (column.view(-1) for column in self.batches)
        pairs.copy_(order[: len(pairs)])
        rest = order[len(pairs) :].clone()
        del order  # an epoch of a large set holds its batches, and not their columns beside them
        for at in range(0, len(pairs), PIECE):
            piece = slice(at, at + PIECE)
            users[piece], items[piece] = graph.pairs_at(pairs[piece])
        return rest

    def _order(self, epoch: int) -> Tensor:
        """Positions [E] of the epoch's pairs, which follow from the seed and the epoch alone: a permutation, or `_places`."""
        rng = self.step.streams.shuffle
        rng.seek(epoch)
        by_pairs = self.step.protocol.draw == "pairs"
        return rng.permutation(self.pairs) if by_pairs else self._places(0, self.pairs)

    def _places(self, first: int | Tensor, count: int) -> Tensor:
        """Positions of the epoch's pairs number `first` and on, of an order that is computed where it is asked for.

        By pairs each comes once. By users, with replacement and as LightGCN's authors do: a user uniformly among those with
        pairs, then one of theirs, so that a pair of somebody with n of them is drawn in proportion to 1/n.
        """
        rng = self.step.streams.shuffle
        rng.call = 0
        at = first + torch.arange(count, device=rng.device)
        if self.step.protocol.draw == "pairs":
            return rng.shuffled(at, self.pairs)
        each, begins = self._users
        who = (rng.numbers(at) & LOW) % len(each)
        return begins[who] + (rng.numbers(at) & LOW) % each[who]

    @cached_property
    def _users(self) -> tuple[Tensor, Tensor]:
        """Of the users with pairs, how many, and the first's position: pairs lie sorted by user."""
        counts = self.step.graph.pair_counts()
        each = counts[counts > 0]
        return each, torch.cumsum(each, 0) - each

    def batch(self) -> tuple[Tensor, ...]:
        """Positions, users and items [B] of the batch under the cursor."""
        if self.stored:
            return tuple(self.batches.index_select(1, self.cursor)[:, 0])
        pairs = self._places(self.cursor * self.size, self.size)
        return pairs, *self.step.graph.pairs_at(pairs)

    @torch.no_grad()
    def _end(self, epoch: int) -> None:
        """A sampler or an objective that keeps something between epochs sees the vectors as they are now."""
        step = self.step
        with self.profiler("sampler"):
            users, items = step.final(step.parameters)
            if not bool(torch.isfinite(items).all()):  # the last step overshot: the next look, or loss, will say so
                return
            step.streams.objective.seek(epoch)
            step.objective.end_epoch(step.objective_state, users, items, step.graph, epoch, step.streams.objective)
            if step.state is None:
                return
            if step.end_epoch(step.state, items, step.graph, step.streams.choice) is not None:
                raise TrainingError(
                    f"{type(step.sampler).__name__}.end_epoch() returned something, which nothing would look at; change the "
                    "state in place, such as state.copy_(new), and return None"
                )

    def _held(self) -> dict[Any, Any]:
        """What the states of sampler and objective hold, by class and name."""
        parts = ((self.step.sampler, self.step.state), (self.step.objective, self.step.objective_state))
        return {(type(part).__name__, name): value for part, state in parts for name, value in contents(state).items()}

    def _one(self) -> None:
        """The batch under the cursor; the same code runs eagerly and inside the capture."""
        with self.step.profiler("draw"):
            batch = self.batch()
        loss = self.step(*batch)
        self.losses.index_copy_(0, self.cursor, loss.reshape(1).to(self.losses.dtype))
        self.cursor += 1
        self.done += 1

    def _replay_or_run(self) -> None:
        if self.captured is not None:
            self.captured.replay()
        else:
            self._one()

    def _replayable(self) -> bool:
        """Not if sampler or objective puts something else in the place of what it keeps: a replay would go on with the old."""
        before, now = self.bound or {}, self._held()
        other = [
            name for name, value in before.items() if now.get(name) is not value and not _equal(now.get(name), value)
        ]
        if other:
            self.capture, self.captured, self.step.profiler = False, None, self.profiler
            self.mode = f"eager ({other[0][0]} replaces {other[0][1]!r} of its state; change it in place)"
        return not other

    def _capture(self) -> None:
        """Record one step; a sampler that asks the device for a value cannot be recorded and stays ordinary."""
        self.step.checked = False
        self.step.profiler = Profiler(self.step.graph.device, enabled=False)  # a replay cannot be told apart into parts
        captured = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        try:
            with torch.cuda.graph(captured):
                self._one()
            self.captured = captured
            self.profiler.forget(PARTS)  # of a few steps out of thousands, with compilation among them
        except RuntimeError as error:
            self.capture = False
            self.mode = f"eager ({str(error).splitlines()[0]})"
            self.step.profiler = self.profiler
            streams = self.step.streams
            streams.pools.call = streams.choice.call = streams.noise.call = 0


def timed_epoch(epochs: Epochs, epoch: int, first: int) -> dict[str, Any]:
    """One pass over the shuffled training pairs: mean loss and seconds."""
    began = time.perf_counter()
    values = checked_losses(epochs.run(epoch, first), epoch, epochs.step)
    return {"loss": sum(values) / len(values), "seconds": round(time.perf_counter() - began, 6)}


def checked_losses(losses: Tensor, epoch: int, step: TrainingStep) -> list[float]:
    """The losses of the steps so far, each a number."""
    values: list[float] = losses.tolist()
    for at, value in enumerate(values):
        if not math.isfinite(value):
            kind, rate = type(step.sampler).__name__, step.protocol.learning_rate
            grew = rate > FAST or (at > 0 and values[at - 1] > GROWN)
            raise TrainingError(
                f"the loss became {value} at step {at} of epoch {epoch} with {kind}, most likely because "
                + (f"the learning rate, {rate:g}, is too high; try --learning-rate 0.0001" if grew else "")
                + (
                    ""
                    if grew
                    else f"of the weights that {kind} gives or of a loss of your own; look for what is not finite"
                )
            )
    return values


def contents(state: Any) -> dict[Any, Any]:
    """Tensors, numbers and texts that a state holds, by name or place: a captured step goes on with those it saw."""
    held = dict(enumerate(state)) if isinstance(state, list | tuple) else getattr(state, "__dict__", {})
    values = state if isinstance(state, dict) else held
    return {name: value for name, value in values.items() if isinstance(value, Tensor | int | float | str | None)}


def _equal(one: Any, other: Any) -> bool:
    """Whether two numbers or texts are the same; a tensor only is the same object."""
    return not isinstance(one, Tensor) and not isinstance(other, Tensor) and one == other
