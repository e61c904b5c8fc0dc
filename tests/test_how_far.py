"""The page on sizes: its computed numbers follow from the arrays of the code, and lie by the measured ones."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from sahcns.backbones import LightGCN
from sahcns.data import Split
from sahcns.graph import Graph
from sahcns.kernels.lean import LeanGraph
from sahcns.objectives import BPR
from sahcns.samplers import RNS
from sahcns.training import Protocol
from sahcns.training.epochs import STORED, Epochs
from sahcns.training.profiler import Profiler
from sahcns.training.step import Streams, TrainingStep
from tests.splits import random_split

DOCS = Path(__file__).parents[1] / "docs"
DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
UNITS = {"MiB": 2.0**20, "GiB": 2.0**30}
Kept = dict[int, Tensor]


def rows(page: str, *headings: str) -> dict[int, list[float]]:
    """Bytes in the columns of these headings, by the number of pairs, from the first table that has all of them."""
    found: dict[int, list[float]] = {}
    for table in re.findall(r"(?:^\|.*\n)+", (DOCS / page).read_text("utf-8"), re.M):
        header, _, *lines = ([cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines())
        if not {"pairs", *headings} <= {*header} or found:
            continue
        for line in lines:
            times, power = re.fullmatch(r"(?:(\d)·)?10([⁰-⁹¹²³]+)", line[header.index("pairs")]).groups()  # type: ignore[union-attr]
            cells = [line[header.index(heading)].replace(",", "").split() for heading in headings]
            pairs = int(times or 1) * 10 ** int(power.translate(DIGITS))
            found[pairs] = [float(number) * UNITS[unit] for number, unit in cells]
    return found


def arrays(graph: Graph) -> int:
    """Bytes of the graph, what is shared once."""
    kept: Kept = {}
    for holder in (graph, graph.unseen, *(() if graph.lean else (graph.adjacency,))):
        kept |= {one.untyped_storage().data_ptr(): one for one in vars(holder).values() if isinstance(one, Tensor)}
    return sum(one.untyped_storage().nbytes() for one in kept.values())


def cost(split: Split) -> tuple[int, int]:
    """Bytes of the graph, and of what an epoch keeps of its pairs."""
    graph, device = Graph.of(split), torch.device("cpu")
    backbone, streams = LightGCN(dim=4), Streams.of(0, device)
    parameters = {name: value.requires_grad_() for name, value in backbone.initial(graph, streams.start).items()}
    clock, protocol = Profiler(device, enabled=False), Protocol(batch=1)
    step = TrainingStep(graph, backbone, RNS(), BPR(), protocol, parameters, streams, clock)
    return arrays(graph), Epochs(step, capture=False).batches.nbytes


def order(pairs: float) -> int:
    """Bytes a pair of an epoch's batches, which beyond `epochs.STORED` nobody keeps."""
    return 24 if pairs <= STORED else 0


def computed(pairs: float, gpus: int, a_pair: float, a_node: float, a_user: float, an_item: float) -> float:
    """The page's formula at 20 pairs a node and three users an item, d = 64, 3 layers."""
    nodes, dim, layers = pairs / 20, 64, 3
    tables = 4 + layers + (layers + 1) + 2  # embeddings, gradient, moments; layers; their gradients; two sums of these
    wide = 16 if 2 * pairs >= 2**31 else 0  # int64 columns, and a copy of them in int32
    ids = a_node + 4 + 0.75 * a_user + 0.25 * an_item  # 4: the kernel's order of the rows
    return (a_pair + wide + order(pairs)) * pairs + nodes * (tables * 4 * dim / gpus + ids)


SIZES = [(40, 30, 6), (40, 30, 9), (90, 30, 6), (40, 70, 6)]
SPLITS = [random_split(users, items, each=each, seed=1) for users, items, each in SIZES]
COUNTS = [[len(split.train), split.n_users, split.n_items, 1] for split in SPLITS]


def test_what_is_computed_is_what_the_arrays_come_to() -> None:
    known = [cost(split) for split in SPLITS]
    a_pair, a_user, an_item, _ = np.linalg.solve(COUNTS, [graph for graph, _ in known])
    assert (a_pair, a_user, an_item) == pytest.approx((48, 12 + 16, 12 + 8))
    assert {epoch / count[0] for (_, epoch), count in zip(known, COUNTS, strict=True)} == {order(1)}
    table = rows("how-far.md", "GPU memory, one GPU", "GPU memory, each of eight", "a set on disk")
    assert [*table] == [10**power for power in range(5, 11)]
    for pairs, said in table.items():
        for found, gpus in zip(said, (1, 8), strict=False):
            assert found == pytest.approx(computed(pairs, gpus, a_pair, 12, 16, 8), rel=0.02)
        assert said[2] == pytest.approx(8 * pairs, rel=0.02)


def test_what_is_computed_lies_by_what_was_measured() -> None:
    calculated, measured = rows("how-far.md", "GPU memory, one GPU"), rows("how-far.md", "GPU memory")
    everything = rows("performance.md", "GPU memory")
    assert [*measured] == [10**6, 10**7, 10**8]
    for pairs, [found] in measured.items():
        assert [found] == everything[pairs]
        assert calculated[pairs][0] == pytest.approx(found, rel=0.08)


def test_what_is_computed_of_lean_kernels_is_what_the_arrays_come_to() -> None:
    """Beside these the kernels keep the order of the rows, 4 bytes a node; of a step `test_lean` says where gradients go."""
    a_pair, a_user, an_item, _ = np.linalg.solve(COUNTS, [arrays(LeanGraph.of(split)) for split in SPLITS])
    assert (a_pair, a_user, an_item) == pytest.approx((8, 16 + 8, 16))
    table = rows("how-far.md", "lean kernels, one GPU", "lean kernels, each of eight")
    assert [*table] == [10**8, 10**9, 2 * 10**9]
    for pairs, said in table.items():
        nodes, dim, layers = pairs / 20, 64, 3
        for found, gpus in zip(said, (1, 8), strict=True):
            tables = nodes * (layers + 3) * 4 * dim / gpus
            ids = nodes * (0.75 * a_user + 0.25 * an_item + 4)
            assert found == pytest.approx((a_pair + order(pairs)) * pairs + tables + ids, rel=0.02)
