"""`sahcns doctor`."""

import os
import platform
import re
from collections import defaultdict
from importlib import metadata

from sahcns.cli.console import Json, show, show_json, table
from sahcns.errors import SahcnsError
from sahcns.files import nearest_folder, writable
from sahcns.version import __version__

FOR_WORK_ON_SAHCNS = ("dev", "docs", "plot")


def command(json: Json = False) -> None:
    """What sahcns finds on this machine: versions, the device, what is installed beside it, and where it keeps sets.

    The first thing to look at where something does not work, and to send along with a question.

    Examples: sahcns doctor
              sahcns doctor --json
    """
    facts = {**versions(), **device(), "cache": cache()}
    facts |= {f"extra {name}": state for name, state in extras().items()}
    if json:
        show_json(facts)
        return
    rows = table("what", "found")
    for name, state in facts.items():
        rows.add_row(name, state)
    show(rows)


def versions() -> dict[str, str]:
    parts = {name: metadata.version(name) for name in ("torch", "numpy", "scipy", "polars")}
    return {"sahcns": __version__, "python": f"{platform.python_version()} on {platform.platform(terse=True)}", **parts}


def device() -> dict[str, str]:
    """Where training would run, and by which kernels."""
    import torch

    from sahcns.kernels.paths import resolve_path
    from sahcns.training.device import pick_device

    where = pick_device("auto")
    gpu = "no GPU that torch sees"
    if where.type == "cuda":
        gpu = f"{torch.cuda.get_device_name(where)}, CUDA {torch.version.cuda}"
    threads = f"{torch.get_num_threads()} of {os.cpu_count()} processors (OMP_NUM_THREADS sets them)"
    return {"device": gpu, "kernels": resolve_path(where), "triton": _version("triton"), "threads": threads}


def cache() -> str:
    """The folder of downloaded sets, and whether it can be written."""
    from sahcns.data.catalogue import cache_folder

    try:
        folder = cache_folder()
    except SahcnsError as error:
        return str(error)
    fits = writable(nearest_folder(folder / "set"))
    return f"{folder}{'' if fits else ', which cannot be written: set XDG_CACHE_HOME to a folder that can'}"


def extras() -> dict[str, str]:
    """Each extra with the versions of its packages, or what would install it."""
    packages: dict[str, list[str]] = defaultdict(list)
    for requirement in metadata.requires("sahcns") or ():
        name, _, condition = requirement.partition(";")
        needed_for = re.search(r"extra == ['\"](\w+)['\"]", condition)
        if needed_for is not None and needed_for[1] not in FOR_WORK_ON_SAHCNS:
            packages[needed_for[1]] += re.findall(r"^[\w.-]+", name)
    states: dict[str, str] = {}
    for extra, names in packages.items():
        missing = [name for name in names if _version(name) == "not installed"]
        versions = ", ".join(f"{name} {_version(name)}" for name in names)
        states[extra] = f"without {', '.join(missing)}: pip install 'sahcns[{extra}]'" if missing else versions
    return states


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
