"""Where tasks run: in this process, in several of this machine, on a Ray cluster, under Slurm.

Whoever starts a task holds its lock and writes what comes of it; where it runs, nothing but its checkpoints is written, and
those only on the machine of the starter. So a cluster needs no shared disk, and no locks on one.
"""

from pathlib import Path

from sahcns.errors import SettingError
from sahcns.lab.places.place import Here, Place

HERE = "here"


def place_named(on: str, folder: Path, workers: int | None, device: str, count: int) -> Place:
    """Where `count` tasks are to run, at most `workers` at once; nothing that cannot be is ever begun.

    here                 this process if `workers` is 1 (the default), otherwise so many processes of this machine
    ray, ray:HOST:PORT   a Ray cluster that this machine is a node of
    slurm:NAME=VALUE,…   one Slurm job each, which submitit hands in with these parameters, and keeps in `folder`
    """
    if workers is not None and workers < 1:
        raise SettingError(f"workers={workers} must be 1 or more")
    name, _, rest = on.partition(":")
    if count == 0:
        return Here(device)
    if name == HERE and not rest:
        from sahcns.training.device import pick_device

        device, together = str(pick_device(device)), min(workers or 1, count)
        if together > 1:
            from sahcns.lab.places.processes import Processes

            return Processes(together, device)
        return Here(device)
    if name == "ray":
        from sahcns.lab.places.ray_cluster import RayCluster

        return RayCluster(rest, workers, device, count)
    if name == "slurm":
        from sahcns.lab.places.slurm import Slurm

        return Slurm(rest, folder / "slurm", workers, device, count)
    raise SettingError(f"on={on!r} is not a place for runs; use here, ray, ray:HOST:PORT or slurm:NAME=VALUE,…")
