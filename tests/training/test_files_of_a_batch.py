"""How many files a reader opens to follow one batch of SAHC-NS on a CPU."""

import sys
from pathlib import Path
from types import FrameType

import torch

import sahcns
from sahcns.backbones import LightGCN
from sahcns.kernels import build_graph
from sahcns.objectives import BPR
from sahcns.samplers import SAHC
from sahcns.training import Protocol
from sahcns.training.epochs import Epochs
from sahcns.training.profiler import Profiler
from sahcns.training.step import Streams, TrainingStep, initial_parameters
from tests.splits import random_split

HOME = Path(sahcns.__file__).parent
MOST = 12


def test_a_batch_visits_at_most_twelve_files() -> None:
    where = torch.device("cpu")
    graph, streams = build_graph(random_split(30, 40, each=6), where), Streams.of(0, where)
    parameters = initial_parameters(LightGCN(dim=8), SAHC(), graph, streams)
    protocol = Protocol(batch=32)
    step = TrainingStep(graph, LightGCN(dim=8), SAHC(), BPR(), protocol, parameters, streams, Profiler(where))
    epochs = Epochs(step, capture=False)
    for epoch in range(2):
        epochs.run(epoch)
    epochs.cursor.zero_()
    calls: dict[str, int] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(HOME):
            name = str(path.relative_to(HOME))
            calls[name] = calls.get(name, 0) + 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        epochs._one()
    finally:
        sys.setprofile(before)
    print("\n" + "\n".join(f"{count:4} calls  {name}" for name, count in calls.items()))
    assert {"training/step.py", "graph.py", "kernels/cpu.py", "samplers/sahc.py"} <= set(calls)
    assert len(calls) <= MOST, sorted(calls)
