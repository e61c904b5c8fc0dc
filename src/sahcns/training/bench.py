"""What this machine does on a data set: the parts of a training step, their traffic, and how near to the roof they come.

Each part is timed alone, after a warm-up, as a median, and in the way in which training runs it: as a captured graph, or
operation after operation, where launching each from Python counts too. What a sampler does not ask for is no part. Bytes
are what the algorithm must touch (each gathered row once per gather, each written row once), so a share above 100 % of the
copy bandwidth means that caches served part of it.
"""

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sahcns.backbones import Backbone
from sahcns.data.split import Split
from sahcns.graph import Batch
from sahcns.kernels import build_graph
from sahcns.objectives import BPR
from sahcns.ranking import Truth, evaluate
from sahcns.samplers import Sampler
from sahcns.samplers.matching import Matching
from sahcns.training.epochs import Epochs
from sahcns.training.profiler import Profiler
from sahcns.training.protocol import Protocol
from sahcns.training.step import Streams, TrainingStep, initial_parameters

REPEATS = {"cuda": 20, "cpu": 5}
LONG = 5.0  # seconds on a CPU from which one call says enough: ranking a million users takes minutes


@dataclass(frozen=True)
class Part:
    """One row of the breakdown: seconds for one step (or one evaluation), bytes it must move."""

    name: str
    seconds: float
    bytes: int

    def rate(self) -> float:
        """Bytes a second."""
        return self.bytes / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Bench:
    """All that was measured on one data set, backbone and sampler."""

    device: str
    kernels: str
    mode: str
    steps: int  # in an epoch
    epoch_seconds: float
    step_seconds: float
    copy_rate: float  # bytes read and written a second by a large copy
    parts: list[Part]
    peak_bytes: int
    users_with_every_item: int  # whose pairs are not trained on


def bench(
    split: Split,
    backbone: Backbone,
    sampler: Sampler,
    protocol: Protocol,
    device: torch.device,
    path: str,
    epochs: int = 5,
) -> Bench:
    """Time epochs as training runs them, then each part on its own."""
    runner, times = timed_epochs(split, backbone, sampler, protocol, device, path, epochs)
    step, graph = runner.step, runner.step.graph
    truth = Truth.of(split, "test" if len(split.test) else "valid", "train", device)
    median = statistics.median(times[1:])
    memory = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0  # before the large copy
    return Bench(
        torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        graph.path,
        runner.mode,
        runner.steps,
        median,
        median / runner.steps,
        copy_rate(device),
        [
            *_parts(step, runner.batches[:, 0], median / runner.steps, capture=runner.mode == "captured"),
            _evaluation(step, truth),
        ],
        memory,
        graph.full_users,
    )


def timed_epochs(
    split: Split, backbone: Backbone, sampler: Sampler, protocol: Protocol, device: torch.device, path: str, epochs: int
) -> tuple[Epochs, list[float]]:
    """Seconds of each of epochs + 1 epochs, as training runs them; the first holds compilation and capture."""
    graph, streams = build_graph(split, device, path=path), Streams.of(0, device)
    parameters = initial_parameters(backbone, sampler, graph, streams)
    profiler = Profiler(device, enabled=False)
    step = TrainingStep(graph, backbone, sampler, BPR(), protocol, parameters, streams, profiler)
    runner = Epochs(step, capture=path != "reference")
    times = []
    for epoch in range(epochs + 1):
        times.append(_seconds(lambda epoch=epoch: runner.run(epoch).tolist(), device))  # type: ignore[misc]
    return runner, times


def copy_rate(device: torch.device) -> float:
    """Bytes a second, read plus written, of copying 512 MiB (128 MiB on a CPU)."""
    size = (512 if device.type == "cuda" else 128) << 20
    source, target = (torch.zeros(size // 4, device=device) for _ in range(2))
    return 2 * size / _median(lambda: target.copy_(source), device)


def _parts(step: TrainingStep, batch: Tensor, whole: float, capture: bool) -> list[Part]:
    graph, sampler, backbone, device = step.graph, step.sampler, step.backbone, step.graph.device
    pairs, users, positives = batch
    size, pool, word = len(users), sampler.pool, 4
    n, edges, dim = graph.n, len(graph.adjacency.columns), backbone.dim

    def draw() -> Tensor:
        step.streams.pools.call = 0
        return graph.draw(users, pool, step.streams.pools, step.unseen)

    def propagate() -> tuple[Tensor, ...]:
        step.streams.noise.call = 0
        return step.training_layers(step.parameters, graph, step.streams.noise)

    candidates, layers = draw(), propagate()
    depth = len(layers)

    def matching() -> Matching:
        step.streams.choice.call = 0
        return step.matching(pairs, users, positives, candidates, layers)

    @torch.no_grad()
    def match() -> Tensor:
        return matching().a

    first = matching()
    with torch.no_grad():
        mixture = step.negatives(first)
    asks = "layer_scores" in vars(first)  # some samplers never look at scores

    @torch.no_grad()
    def choose() -> object:
        """As in a step: the layers' scores are there, which are a part of their own, and nothing that is made of them."""
        again = matching()
        if asks:
            again.layer_scores = first.layer_scores
        return step.choose(again, step.streams.choice)

    def loss() -> Tensor:
        step.streams.noise.call = 0
        return step.total_loss(Batch(users, positives, layers, step.aggregation), mixture)

    # Every edge reads a row, an index and a value; every row is written.
    hop = edges * (dim * word + 8) + n * dim * word
    read = size * (2 + mixture.items.shape[2]) * depth * dim * word
    weights = sum(value.numel() for value in step.parameters.values()) * word

    def timed(name: str, work: Callable[[], object], moved: int) -> Part:
        return Part(name, _median(work, device, capture), moved)

    parts = [
        timed("draw", draw, size * pool * 8 * 2),
        timed("propagate", propagate, backbone.depth * hop),
        timed("choose", choose, size * pool * depth * word),
        timed("mix and loss", loss, read),
    ]
    if asks:
        moved = size * (pool + 2) * depth * dim * word + size * pool * depth * word
        parts.insert(2, timed("match", match, moved))
    step.loss(pairs, users, positives).backward()  # type: ignore[no-untyped-call]
    parts.append(timed("step", lambda: step.optimiser.step(), 7 * weights))
    rest = max(whole - sum(part.seconds for part in parts), 0.0)  # what a whole step takes beyond its other parts
    parts.insert(-1, Part("backward", rest, 2 * read + depth * n * dim * word + backbone.depth * hop))
    return parts


def _evaluation(step: TrainingStep, truth: Truth) -> Part:
    vectors = step.vectors(step.parameters)
    seconds = _median(lambda: evaluate(*vectors, truth), step.graph.device, capture=False)
    scores = len(truth) * step.graph.n_items * 4
    return Part("evaluate", seconds, 3 * scores)  # scores are written once and read by the mask and the selection


def _median(work: Callable[[], object], device: torch.device, capture: bool = True) -> float:
    """Seconds of one call; on a GPU of many in a row, waited for once, and as a captured graph if asked for and possible."""
    repeats = REPEATS[device.type]
    first = _seconds(work, device)
    if device.type != "cuda" and first >= LONG:
        return first
    work()
    if device.type != "cuda":
        return statistics.median(_seconds(work, device) for _ in range(repeats))
    captured = _captured(work) if capture else None

    def many() -> None:
        for _ in range(repeats):
            work()

    row = many if captured is None else captured.replay
    return statistics.median(_seconds(row, device) for _ in range(repeats)) / repeats


def _captured(work: Callable[[], object]) -> torch.cuda.CUDAGraph | None:
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    try:
        with warnings.catch_warnings(), torch.cuda.graph(graph):
            warnings.filterwarnings("ignore", "The CUDA Graph is empty")  # a part that asks nothing of the device
            for _ in range(REPEATS["cuda"]):
                work()
    except RuntimeError:
        return None
    return graph


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began
