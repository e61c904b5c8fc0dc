"""Jobs of a fraction of a second on a set of twenty films."""

from pathlib import Path
from typing import Any

from sahcns.backbones import MF, Backbone
from sahcns.data import save_split
from sahcns.lab.grid.job import Job
from sahcns.samplers import DNS, RNS, Sampler
from sahcns.training import Protocol
from tests.model.films import films

QUICK = Protocol(epochs=2, batch=64, evaluate_every=1)


def prepared(folder: Path) -> Path:
    return save_split(films(), folder / "films")


def job(data: Path, sampler: Sampler | None = None, seed: int = 2020, **rest: Any) -> Job:
    backbone: Backbone = rest.pop("backbone", MF(dim=4))
    return Job.of(data, backbone, sampler or RNS(), rest.pop("protocol", QUICK), seed, **rest)


def several(data: Path, seeds: int = 3, protocol: Protocol = QUICK) -> list[Job]:
    """Two samplers by `seeds` seeds."""
    samplers = (RNS(), DNS(pool=3))
    return [job(data, one, 2020 + seed, protocol=protocol) for seed in range(seeds) for one in samplers]


def files(folder: Path) -> dict[str, list[str]]:
    """Everything in a folder of results."""
    return {home.name: sorted(path.name for path in home.iterdir()) for home in folder.iterdir() if home.is_dir()}


def expected(jobs: list[Job]) -> dict[str, list[str]]:
    """What `files` gives when all these jobs are done and nothing is left behind."""
    keys = sorted(job.key for job in jobs)
    return {"runs": [f"{key}.json" for key in keys], "users": [f"{key}.npz" for key in keys], "claims": []}
