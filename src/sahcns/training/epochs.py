"""One pass over the shuffled training pairs, step by step or as replays of one captured CUDA graph.

On a GPU a step is dozens of kernels of a few microseconds; launching them from Python takes longer than running them. So
after a few ordinary steps one step is captured, and from then on a step is a single launch. Everything that changes from
step to step (batch, counters of the random streams, Adam's state) lives in tensors, so the replayed step is the same code.
"""

import torch
from torch import Tensor

from sahcns.samplers.contract import ended
from sahcns.training.bindings import Bindings, bindings, replaced
from sahcns.training.clock import Clock
from sahcns.training.step import PARTS, TrainingStep

WARM_UP = 4  # ordinary, checked steps before the capture


class Epochs:
    """Runs epochs of a step; `losses` of the last one are on the device until someone reads them."""

    def __init__(self, step: TrainingStep, capture: bool) -> None:
        graph, protocol = step.graph, step.protocol
        pairs = len(graph.pair_users)
        self.step, self.clock = step, step.clock
        self.size = min(protocol.batch, pairs)
        self.steps = pairs // self.size
        self.rest = 0 if protocol.drop_last else pairs - self.steps * self.size
        self.batches = torch.zeros(3, self.steps, self.size, dtype=torch.int64, device=graph.device)
        self.losses = torch.zeros(self.steps + (self.rest > 0), device=graph.device)
        self.cursor = torch.zeros(1, dtype=torch.int64, device=graph.device)
        self.done = 0  # ordinary steps taken so far
        self.capture = capture and graph.device.type == "cuda"
        self.captured: torch.cuda.CUDAGraph | None = None
        self.mode = "captured" if self.capture else "eager"
        self.bound: Bindings | None = None  # of the sampler's state, where steps are to be replayed

    def run(self, epoch: int) -> Tensor:
        """All batches of one epoch; returns the loss of each step."""
        step = self.step
        if self.capture and self.bound is None:
            self.bound = bindings(step.state)
        step.epoch.fill_(epoch)
        order = step.streams.shuffle.permutation(len(step.graph.pair_users))
        step.streams.shuffle.advance()
        whole = self.steps * self.size
        graph = step.graph
        pairs, users, items = (column.view(-1) for column in self.batches)
        pairs.copy_(order[:whole])
        rest = order[whole:].clone()
        del order  # an epoch of a large set holds its batches, and not their columns beside them
        torch.index_select(graph.pair_users, 0, pairs, out=users)
        torch.index_select(graph.pair_items, 0, pairs, out=items)
        self.cursor.zero_()
        for at in range(self.steps):
            if not self.capture:  # a sampler's answers are checked throughout the first epoch, then once an epoch
                step.checked = epoch == 0 or at == 0
            if self.captured is not None:
                self.captured.replay()
            elif self.capture and self.done >= WARM_UP:
                if self._replayable():
                    self._capture()
                self._replay_or_run()
            else:
                self._one()
        if self.rest:
            self.losses[-1] = step(rest, graph.pair_users[rest], graph.pair_items[rest])
        # After a loss that is not a number there is nothing to end: the trainer is about to say so.
        if step.state is not None and bool(torch.isfinite(self.losses).all()):
            self._end()
            if self.captured is not None:
                self._replayable()
        self.clock.settle()  # or the marks of all epochs would pile up; the losses are waited for in any case
        return self.losses

    @torch.no_grad()
    def _end(self) -> None:
        """A sampler that keeps something between epochs sees the items as they are now."""
        step = self.step
        with self.clock("sampler"):
            layers = step.backbone.layers(step.parameters, step.graph)
            items = step.aggregation.pool_layers(tuple(layer[step.graph.n_users :] for layer in layers))
            if not bool(torch.isfinite(items).all()):  # the last step overshot: the next look, or loss, will say so
                return
            ended(step.sampler, step.state, items, step.graph, step.streams.choice)

    def _one(self) -> None:
        """The batch under the cursor; the same code runs eagerly and inside the capture."""
        loss = self.step(*self.batches.index_select(1, self.cursor)[:, 0])
        self.losses.index_copy_(0, self.cursor, loss.reshape(1).to(self.losses.dtype))
        self.cursor += 1
        self.done += 1

    def _replay_or_run(self) -> None:
        if self.captured is not None:
            self.captured.replay()
        else:
            self._one()

    def _replayable(self) -> bool:
        """Not if the sampler puts something else in the place of what it keeps: a replay would go on with the old."""
        place = replaced(self.bound or {}, self.step.state)
        if place is not None:
            self.capture, self.captured, self.step.clock = False, None, self.clock
            self.mode = f"eager ({type(self.step.sampler).__name__} replaces {place}; change it in place)"
        return place is None

    def _capture(self) -> None:
        """Record one step; a sampler that asks the device for a value cannot be recorded and stays ordinary."""
        self.step.checked = False
        self.step.clock = Clock(self.step.graph.device, enabled=False)  # a replay cannot be told apart into parts
        captured = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        try:
            with torch.cuda.graph(captured):
                self._one()
            self.captured = captured
            self.clock.forget(PARTS)  # of a few steps out of thousands, with compilation among them
        except RuntimeError as error:
            self.capture = False
            self.mode = f"eager ({str(error).splitlines()[0]})"
            self.step.clock = self.clock
            streams = self.step.streams
            streams.pools.call = streams.choice.call = streams.noise.call = 0
