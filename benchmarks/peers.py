"""One training epoch of LightGCN, side by side: sahcns, its plain-torch path, RecBole 1.2.1 and PyTorch Geometric.

Same prepared set, batch, dimension, layers and threads for all; each contestant runs alone in a process of its own, one
warm-up epoch first, then the median of a few; no evaluation is timed. All must have trained on the same pairs, and on all
of them, in every epoch: that is checked. RecBole lives in an environment of its own, which is made on the first run.

    sahcns data prepare amazon-toys prepared/toys
    python benchmarks/peers.py prepared/toys --env ~/.cache/sahcns-peers --epochs 5 --json peers.json
    python benchmarks/peers.py prepared/toys --device cuda            # PyTorch Geometric where it is installed; no RecBole

Measure on idle cores: the column "others" is what else kept them busy meanwhile, and should read 0 %.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from contestants.terms import Terms

from sahcns.data import load_split

HOME = Path(__file__).parent / "contestants"
# RecBole stands still: newer numpy, pandas or scipy break it, and its dependency ray needs setuptools' old pkg_resources.
PINS = ["recbole==1.2.1", "setuptools<80", "numpy==1.26.*", "pandas<2.2", "scipy<1.12", "torch==2.13.0"]
PEER_PINS = [*PINS, "torch_geometric==2.8.*"]
BUSY = 0.05  # share of the cores' time taken by others from which a row is marked


@dataclass(frozen=True)
class Contestant:
    """A row of the table: a file of contestants/, its variant, and which of ours it is held against."""

    key: str
    name: str
    negatives: str
    file: str
    variant: str
    against: str


def contestants(pool: int) -> list[Contestant]:
    hard = f"SAHC-NS, N={pool}"
    return [
        Contestant("ours-rns", "sahcns", "RNS", "ours.py", "rns auto", "ours-rns"),
        Contestant("reference-rns", "sahcns, plain torch", "RNS", "ours.py", "rns reference", "ours-rns"),
        Contestant("recbole-uniform", "RecBole", "uniform", "with_recbole.py", "uniform", "ours-rns"),
        Contestant("pyg", "PyG, as documented", "random", "with_pyg.py", "documented", "ours-rns"),
        Contestant("pyg-sparse", "PyG, matrix made once", "random", "with_pyg.py", "sparse", "ours-rns"),
        Contestant("ours-sahc", "sahcns", hard, "ours.py", "sahc auto", "ours-sahc"),
        Contestant("reference-sahc", "sahcns, plain torch", hard, "ours.py", "sahc reference", "ours-sahc"),
        Contestant("recbole-dynamic", "RecBole", f"dynamic, {pool}", "with_recbole.py", "dynamic", "ours-sahc"),
    ]


def environment(folder: Path) -> str:
    """The peers' interpreter; its environment is made if it is missing."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    probe = "from importlib.metadata import version as v; print(v('recbole'), v('torch'), v('torch_geometric'))"
    found = subprocess.run([str(python), "-c", probe], capture_output=True, text=True)
    if found.returncode or not found.stdout.startswith("1.2.1 2.13.0"):
        print(f"installing RecBole and PyTorch Geometric into {folder} (once, a few minutes) ...", file=sys.stderr)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PEER_PINS], check=True)
    return str(python)


def interpreter(one: Contestant, device: str, folder: Path) -> str:
    """Ours for ours; on a GPU ours for PyG as well, because the peers' environment has a CPU build of torch."""
    if one.file == "ours.py":
        return sys.executable
    if device == "cpu":
        return environment(folder)
    if one.file == "with_recbole.py":
        raise LookupError("compared on the CPU only")
    if find_spec("torch_geometric") is None:
        raise LookupError("torch_geometric is not installed beside this torch")
    return sys.executable


def busy_seconds(cores: Sequence[int]) -> float:
    """Time these cores have spent on anything at all, since the machine started."""
    names = {f"cpu{core}" for core in cores}
    total = 0.0
    with open("/proc/stat") as lines:
        for name, *ticks in (line.split() for line in lines):
            if name in names:  # user, nice, system, idle, iowait, irq, softirq, steal
                total += sum(int(tick) for place, tick in enumerate(ticks[:8]) if place not in (3, 4))
    return total / os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """Time of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def race(one: Contestant, python: str, terms: Terms, cores: Sequence[int]) -> dict[str, Any]:
    """Run it, and note what share of its cores others took in the meantime."""
    count = str(terms.threads)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), count)
    busy, own, began = busy_seconds(cores), cpu_seconds(), time.perf_counter()
    done = subprocess.run(
        [python, "-W", "ignore", str(HOME / one.file), json.dumps(asdict(terms))],
        capture_output=True,
        text=True,
        env={**os.environ, **threads},
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-2000:])
    own, busy = cpu_seconds() - own, busy_seconds(cores) - busy
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    told["others"] = max(busy - own, 0.0) / ((time.perf_counter() - began) * len(cores))
    told["median"] = statistics.median(told["seconds"][1:])
    return told


def check_alike(found: dict[str, dict[str, Any]], threads: int, trained: int) -> None:
    """The same pairs, all of them, on the same number of threads."""
    for key, told in found.items():
        if told["pairs"] != trained:
            raise SystemExit(f"{key} met {told['pairs']} pairs in an epoch, not the {trained} of the training part")
        if told["threads"] != threads:
            raise SystemExit(f"{key} ran on {told['threads']} threads, not on {threads}")
    if len({told["digest"] for told in found.values()}) > 1:
        raise SystemExit("the contestants did not train on the same pairs")


def table(field: list[Contestant], found: dict[str, dict[str, Any]]) -> str:
    """Markdown: one row a contestant, times as a multiple of ours with the like negatives."""
    lines = [
        "| LightGCN by | negatives | seconds an epoch | fastest – slowest | times ours | loss | peak MiB | others |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in (one for one in field if one.key in found):
        told = found[one.key]
        taken, median = told["seconds"][1:], told["median"]
        ours = found.get(one.against)
        ratio = "–" if ours is None else "1" if one.key == one.against else f"{median / ours['median']:.1f}×"
        name = f"**{one.name}**" if one.key == one.against else one.name
        peak, others = told["gpu_peak_mib"] or told["peak_mib"], told["others"]
        lines.append(
            f"| {name} | {one.negatives} | {median:.4g} | {min(taken):.4g} – {max(taken):.4g} | {ratio} "
            f"| {told['losses'][-1]:.4f} | {peak:,} | {others:.0%}{' !' if others > BUSY else ''} |"
        )
    return "\n".join(lines)


def cpu_model() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions(found: dict[str, dict[str, Any]]) -> str:
    """Each library with its version; with two where contestants differ (numpy does, for RecBole's sake)."""
    seen: dict[str, list[str]] = {}
    for told in found.values():
        for name, number in told["versions"].items():
            if number not in seen.setdefault(name, []):
                seen[name].append(number)
    return ", ".join(f"{name} {' and '.join(numbers)}" for name, numbers in seen.items())


def machine(device: str) -> str:
    if device == "cpu":
        return cpu_model()
    import torch

    return f"{torch.cuda.get_device_name()}, {cpu_model()}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path, help="a folder made by `sahcns data prepare`")
    parser.add_argument("--epochs", type=int, default=5, help="timed epochs, after one warm-up epoch")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--env", type=Path, default=Path.home() / ".cache" / "sahcns-peers", help="the peers' environment"
    )
    parser.add_argument("--only", nargs="+", choices=[one.key for one in contestants(10)], help="just these")
    parser.add_argument("--json", type=Path, help="also write everything that was measured")
    for name, default in (("batch", 2048), ("dim", 64), ("layers", 3), ("pool", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    split = load_split(asked.prepared)
    cores = sorted(os.sched_getaffinity(0))[: asked.threads]
    if asked.device == "cpu":
        os.sched_setaffinity(0, cores)  # what it starts inherits this
    field = [one for one in contestants(asked.pool) if not asked.only or one.key in asked.only]
    found: dict[str, dict[str, Any]] = {}
    absent: dict[str, str] = {}  # no place for it here
    failed: dict[str, str] = {}
    sizes = {name: getattr(asked, name) for name in ("batch", "dim", "layers", "pool", "epochs", "threads", "device")}
    for one in field:
        terms = Terms(one.variant, str(asked.prepared.resolve()), split.n_users, split.n_items, **sizes)
        try:
            found[one.key] = race(one, interpreter(one, asked.device, asked.env), terms, cores)
            print(f"{one.key}: {found[one.key]['median']:.4g} s an epoch", file=sys.stderr)
        except LookupError as reason:
            absent[one.key] = str(reason)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            failed[one.key] = str(error)
    if not found:
        raise SystemExit(
            "\n".join(["no contestant finished", *(f"{key}: {why}" for key, why in (absent | failed).items())])
        )
    check_alike(found, asked.threads, len(split.train))
    about = {
        "machine": machine(asked.device),
        "threads": asked.threads,
        "settings": f"batch {asked.batch}, d={asked.dim}, {asked.layers} layers",
        "pairs": f"{len(split.train):,} an epoch, {split.n_users:,} users, {split.n_items:,} items; the same for all",
        "timing": f"median of {asked.epochs} epochs after one, training only",
        "versions": versions(found),
        "command": f"python benchmarks/peers.py {' '.join(sys.argv[1:])}",
    }
    print(table(field, found), "", *(f"{name}: {value}" for name, value in about.items()), sep="\n")
    for key, why in (absent | failed).items():
        print(f"{key}: {'failed' if key in failed else 'absent'}, {why}")
    if asked.json:
        everything = {
            **about,
            "fingerprint": split.fingerprint,
            "contestants": found,
            "absent": absent,
            "failed": failed,
        }
        asked.json.write_text(json.dumps(everything, indent=1) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
