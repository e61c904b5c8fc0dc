"""Where the time of training goes: the parts of a step, the bytes they move, and what each sampler adds to an epoch.

Each part is timed alone, as a median, and in the way in which training runs it: as a captured graph, or operation after
operation, where launching each from Python counts too. What a sampler does not ask for is no part. Bytes are what the
algorithm must touch (each gathered row once per gather, each written row once), so more than 100 % of the copy bandwidth
means that caches served part of it.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import torch
from torch import Tensor
from torch.utils.benchmark import Timer, timer

from sahcns.backbones import Backbone, LightGCN
from sahcns.data.split import Split
from sahcns.kernels import build_graph
from sahcns.lab.inspect.results import Cost
from sahcns.objectives import BPR, Objective
from sahcns.ranking import Truth, evaluate
from sahcns.samplers import Matching, Sampler
from sahcns.training.device import pick_device
from sahcns.training.epochs import Epochs
from sahcns.training.profiler import Profiler
from sahcns.training.protocol import Protocol
from sahcns.training.record import described
from sahcns.training.step import Streams, TrainingStep, initial_parameters

ENOUGH = 0.2  # seconds for one part, whose time is the median
IN_A_ROW = 20  # of a captured part, which the launch of a graph would else hide
WORD = 4  # bytes of a number


@dataclass(frozen=True)
class Part:
    """Seconds for one step (or one evaluation), and the bytes that it must move."""

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

    def seconds(self, name: str) -> float:
        """Of one part, an epoch; 0 for one that the sampler does not need: RNS looks at no scores."""
        return self.steps * sum(part.seconds for part in self.parts if part.name == name)


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
    step, cuda, epoch = runner.step, device.type == "cuda", median(times[1:])
    peak = torch.cuda.max_memory_allocated(device) if cuda else 0  # before the large copy
    truth = Truth.of(split, "test" if len(split.test) else "valid", "train", device)
    vectors = step.vectors(step.parameters)
    ranking = _median(lambda: evaluate(*vectors, truth))
    scores = len(truth) * split.n_items * WORD  # written once, read by the mask and by the selection
    return Bench(
        device=torch.cuda.get_device_name(device) if cuda else "cpu",
        kernels=step.graph.path,
        mode=runner.mode,
        steps=runner.steps,
        epoch_seconds=epoch,
        step_seconds=epoch / runner.steps,
        copy_rate=copy_rate(device),
        parts=[*_parts(runner, epoch / runner.steps), Part("evaluate", ranking, 3 * scores)],
        peak_bytes=peak,
        users_with_every_item=step.graph.full_users,
    )


def sampler_cost(
    split: Split,
    samplers: Sequence[Sampler],
    backbone: Backbone | None = None,
    *,
    protocol: Protocol | None = None,
    device: str = "auto",
    kernels: str = "auto",
    epochs: int = 3,
    rounds: int = 1,
) -> list[Cost]:
    """Seconds an epoch of each sampler's forward pass, beside a whole epoch and beside the first sampler.

    The paper's efficiency paragraph, with DNS, SA-only, SAHC. A mixed negative reads two items, so putting it together
    counts too, with its loss. A machine that slows down would count against one sampler, so several `rounds` of all of
    them give medians, and whole epochs round by round.
    """
    where, model, costs = pick_device(device), backbone or LightGCN(), list[Cost]()
    settings = protocol or Protocol(), where, kernels, epochs
    timings = [[bench(split, model, one, *settings) for one in samplers] for _ in range(rounds)]
    for sampler, own in zip(samplers, zip(*timings, strict=True), strict=True):
        match, choose, mix = (median(one.seconds(part) for one in own) for part in ("match", "choose", "mix and loss"))
        whole, machine = tuple(one.epoch_seconds for one in own), (own[0].device, own[0].kernels, own[0].mode)
        costs.append(Cost(described(sampler), match, choose, mix, median(whole), 0.0, *machine, rounds=whole))
    return [replace(one, extra=one.forward - costs[0].forward) for one in costs]


def timed_epochs(
    split: Split,
    backbone: Backbone,
    sampler: Sampler,
    protocol: Protocol,
    device: torch.device,
    path: str,
    epochs: int,
    objective: Objective | None = None,
) -> tuple[Epochs, list[float]]:
    """Seconds of each of epochs + 1 epochs, as training runs them; the first holds compilation and capture."""
    graph, streams = build_graph(split, device, path=path), Streams.of(0, device)
    parameters, profiler = initial_parameters(backbone, sampler, graph, streams), Profiler(device, enabled=False)
    step = TrainingStep(graph, backbone, sampler, objective or BPR(), protocol, parameters, streams, profiler)
    runner = Epochs(step, capture=path != "reference")
    times = [timer()]
    for at in range(epochs + 1):
        runner.run(at).tolist()
        times.append(timer())
    return runner, [end - begin for begin, end in pairwise(times)]


def copy_rate(device: torch.device) -> float:
    """Bytes a second, read plus written, of copying 512 MiB (128 MiB on a CPU)."""
    size = (512 if device.type == "cuda" else 128) << 20
    source, target = (torch.zeros(size // WORD, device=device) for _ in range(2))
    return 2 * size / _median(lambda: target.copy_(source))


def _parts(runner: Epochs, whole: float) -> list[Part]:
    """The parts of a step that takes `whole` seconds, on the last epoch's first batch."""
    runner.cursor.zero_()
    step, (pairs, users, positives) = runner.step, runner.batch()
    graph, sampler, backbone, streams = step.graph, step.sampler, step.backbone, step.streams
    size, pool, dim = len(users), sampler.pool, backbone.dim

    def draw() -> Tensor:
        streams.pools.call = 0
        return graph.draw(users, pool, streams.pools, step.unseen)

    def propagate() -> tuple[Tensor, ...]:
        streams.noise.call = 0
        return step.training_layers(step.parameters, graph, streams.noise)

    candidates, layers = draw(), propagate()

    def matching() -> Matching:
        streams.choice.call = 0
        return step.matching(pairs, users, positives, candidates, layers)

    first = matching()
    with torch.no_grad():
        mixture = step.negatives(first)
    asked = "layer_scores" in vars(first)  # some samplers never look at scores

    @torch.no_grad()
    def choose() -> object:
        """As in a step: the layers' scores are there, which are a part of their own, and nothing that is made of them."""
        match = matching()
        if asked:
            match.layer_scores = first.layer_scores
        return step.choose(match, streams.choice)

    def loss() -> Tensor:
        streams.noise.call = 0
        return step.total_loss(step.batch(pairs, users, positives, layers), mixture)

    row = len(layers) * dim * WORD  # all layers of a node
    read = size * (2 + mixture.items.shape[2]) * row
    hops = backbone.depth * (int(graph.degrees.sum()) * (dim * WORD + 8) + graph.n * dim * WORD)
    weights = sum(value.numel() for value in step.parameters.values()) * WORD
    scores = size * pool * len(layers) * WORD
    step.loss(pairs, users, positives).backward()  # type: ignore[no-untyped-call]
    works: dict[str, tuple[Callable[[], object], int]] = {
        "draw": (draw, size * pool * 8 * 2),
        "propagate": (propagate, hops),  # every edge reads a row, an index and a value; every row is written
        "match": (torch.no_grad()(lambda: matching().a), size * (pool + 2) * row + scores),
        "choose": (choose, scores),
        "mix and loss": (loss, read),
        "step": (step.optimiser.step, 7 * weights),
    }
    if not asked:
        del works["match"]
    capture = runner.mode == "captured"
    parts = [Part(name, _median(work, capture), moved) for name, (work, moved) in works.items()]
    rest = max(whole - sum(part.seconds for part in parts), 0.0)  # what a whole step takes beyond its other parts
    parts.insert(-1, Part("backward", rest, 2 * read + graph.n * row + hops))
    return parts


def _median(work: Callable[[], object], capture: bool = False) -> float:
    """Seconds of one call, among as many in a row as the clock needs; as a captured graph if asked for and possible."""
    graph = _captured(work) if capture else None
    what, calls = (work, 1) if graph is None else (graph.replay, IN_A_ROW)
    measured = Timer("what()", globals={"what": what}, num_threads=torch.get_num_threads())
    return measured.blocked_autorange(min_run_time=ENOUGH).median / calls


def _captured(work: Callable[[], object]) -> torch.cuda.CUDAGraph | None:
    work()  # what is set up at the first call is no part of it
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    try:
        with warnings.catch_warnings(), torch.cuda.graph(graph):
            warnings.filterwarnings("ignore", "The CUDA Graph is empty")  # a part that asks nothing of the device
            for _ in range(IN_A_ROW):
                work()
    except RuntimeError:
        return None
    return graph
