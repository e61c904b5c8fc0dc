"""How cost grows with the number of interactions: time and memory of LightGCN + SAHC-NS from 10⁵ to 10⁸ pairs.

The interactions are drawn with the skew that real ones have: item popularity falls as (rank + 10)^-0.9, user activity is
log-normal, three users to an item, 40 neighbours a node on average. Each size runs in a process of its own.

    python benchmarks/growth.py --sizes 1e5 3e5 1e6 3e6 1e7 --json growth.json --plot growth.svg
    python benchmarks/growth.py --device cuda --sizes 1e5 3e5 1e6 3e6 1e7 3e7 1e8 --json growth.json
    python benchmarks/growth.py --from growth.json --plot growth.svg        # draw what another machine measured

A step propagates over the whole graph, so its cost follows the number of pairs, and an epoch with a batch of fixed size
follows its square: that is LightGCN, whoever runs it. The batch that grows with the data (the same number of steps for
every size from a million pairs on) keeps an epoch linear. Both are measured. Where an epoch has more steps than --steps,
that many are timed and the rest is reckoned from them; the shuffle of all pairs is always done in full.

For a billion pairs: billion.py.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
NODES_TO_PAIRS = 20  # a mean degree of 40
CHUNK = 4_000_000  # pairs drawn at a time: all of a user's pairs fall into one chunk, so repeats are found within it
FALL, HEAD = 0.9, 10.0  # popularity of the r-th item ∝ (r + HEAD)^-FALL
SPREAD = 1.0  # of the logarithm of user activity
FIXED, FROM = 2048, 1_000_000  # the batch, and the size from which the growing batch grows


def activity(rng: np.random.Generator, n_users: int, n_items: int, pairs: int) -> Int64:
    """Pairs of each user: log-normal, at least one, at most a quarter of the items, `pairs` in all (nearly)."""
    raw = rng.lognormal(0.0, SPREAD, n_users)
    counts: Int64 = np.rint(raw * (pairs / raw.sum())).astype(np.int64)
    return np.clip(counts, 1, max(n_items // 4, 1))


def popular(rng: np.random.Generator, count: int, n_items: int) -> Int64:
    """Ranks drawn by inverting the integral of (r + HEAD)^-FALL: no table, no search."""
    power = 1.0 - FALL
    low, high = HEAD**power, (n_items + HEAD) ** power
    ranks = rng.random(count)
    ranks *= high - low
    ranks += low
    np.power(ranks, 1.0 / power, out=ranks)
    return np.minimum((ranks - HEAD).astype(np.int64), n_items - 1)


def draw_chunk(rng: np.random.Generator, first: int, wanted: Int64, name: Int64) -> Int64:
    """Sorted keys user · n_items + item of some users; what repeats took away is drawn again, a few times."""
    keys, n_items = np.empty(0, np.int64), len(name)
    missing = wanted
    for _ in range(4):
        users = np.repeat(np.arange(first, first + len(wanted)), missing)
        keys = np.concatenate([keys, users * n_items + name[popular(rng, len(users), n_items)]])
        keys.sort()
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        missing = wanted - np.bincount(keys // n_items - first, minlength=len(wanted))
    return keys


def interactions(pairs: int, seed: int = 0) -> tuple[Int32, Int32, int, int]:
    """Users and items of the pairs, sorted and none twice, as in a prepared set; the number of users and of items."""
    rng = np.random.default_rng(seed)
    nodes = max(pairs // NODES_TO_PAIRS, 40)
    n_items = nodes // 4
    n_users = nodes - n_items
    wanted = activity(rng, n_users, n_items, pairs)
    name = rng.permutation(n_items)  # so that a popular item's number says nothing
    cuts = np.searchsorted(np.cumsum(wanted), np.arange(CHUNK, int(wanted.sum()), CHUNK))
    users, items = [], []
    for begin, end in zip([0, *cuts], [*cuts, n_users], strict=True):
        keys = draw_chunk(rng, int(begin), wanted[begin:end], name)
        owner = keys // n_items
        users.append(owner.astype(np.int32))
        items.append((keys - owner * n_items).astype(np.int32))
    return np.concatenate(users), np.concatenate(items), n_users, n_items


def measure(pairs: int, device_name: str, threads: int, most: int) -> dict[str, Any]:
    """Everything about one size, in this process."""
    import torch

    from sahcns.backbones import LightGCN
    from sahcns.data import IdMap, Pairs, Split
    from sahcns.kernels import build_graph
    from sahcns.objectives import BPR
    from sahcns.samplers import SAHC
    from sahcns.training import Protocol
    from sahcns.training.epochs import WARM_UP, Epochs
    from sahcns.training.profiler import Profiler
    from sahcns.training.step import Streams, TrainingStep

    torch.set_num_threads(threads)
    device = torch.device(device_name)

    def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
        began = time.perf_counter()
        made = work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began, made

    def peak() -> float:
        """MiB held at most since the last call: of the GPU, or of this process."""
        if device.type == "cuda":
            held = torch.cuda.max_memory_allocated() / 2**20
            torch.cuda.reset_peak_memory_stats()
            return held
        return host_peak()

    def run(runner: Epochs, batches: torch.Tensor, epoch: int, steps: int) -> float:
        """Shuffle all pairs, then take that many steps."""
        runner.steps, runner.batches = steps, batches[:, :steps]
        return seconds(lambda: runner.run(epoch)[:1].tolist())[0]

    if device.type == "cuda":
        torch.zeros(1, device=device)  # the device's own start is not the graph's
        torch.cuda.reset_peak_memory_stats()
    drawing, (users, items, n_users, n_items) = seconds(lambda: interactions(pairs))
    nothing = Pairs(users[:0], items[:0])
    split = Split(Pairs(users, items), nothing, nothing, IdMap(np.arange(n_users)), IdMap(np.arange(n_items)))
    host_peak()
    held = host_peak()
    building, graph = seconds(lambda: build_graph(split, device))
    found: dict[str, Any] = {
        "pairs": len(users),
        "users": n_users,
        "items": n_items,
        "largest user": int(np.bincount(users).max()),
        "largest item": int(np.bincount(items).max()),
        "draw s": drawing,
        "graph s": building,
        "graph host MiB": (highest := host_peak()),
        "graph host bytes a pair": (highest - held) * 2**20 / len(users),
        "graph device MiB": peak() if device.type == "cuda" else 0.0,
    }
    backbone, sampler, grown = LightGCN(dim=64, depth=3), SAHC(pool=10), FIXED * max(1, round(pairs / FROM))
    least = WARM_UP + 2 if device.type == "cuda" else 1  # enough to reach the captured step
    for name, batch in (("fixed", FIXED), ("growing", grown)):
        if name == "growing" and batch == FIXED:
            found[name] = found["fixed"]
            continue
        streams = Streams.of(0, device)
        parameters = {key: value.requires_grad_() for key, value in backbone.initial(graph, streams.start).items()}
        clock = Profiler(device, enabled=False)
        step = TrainingStep(graph, backbone, sampler, BPR(), Protocol(batch=batch), parameters, streams, clock)
        runner = Epochs(step, capture=True)
        batches, whole = runner.batches, runner.steps
        steps = min(whole, max(round(most * max(1, FROM / pairs)), least))
        run(runner, batches, 0, steps)  # kernels are compiled and the step is captured here
        shuffle = statistics.median(run(runner, batches, 1 + turn, 0) for turn in range(3))
        taken = statistics.median(run(runner, batches, 4 + turn, steps) for turn in range(3 if steps == whole else 1))
        one = max(taken - shuffle, 0.0) / steps
        found[name] = {
            "batch": batch,
            "steps": whole,
            "steps timed": steps,
            "mode": runner.mode,
            "shuffle s": shuffle,
            "step s": one,
            "epoch s": taken if steps == whole else shuffle + one * whole,
            "MiB": peak(),
        }
        del step, runner, batches, parameters, streams
    found["versions"] = {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": np.__version__}
    found["machine"] = torch.cuda.get_device_name() if device.type == "cuda" else cpu_model()
    return found


def host_peak() -> float:
    """MiB this process has held at most since the last call (since its start, where Linux does not let the mark go)."""
    with open("/proc/self/status") as status:
        mark = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return mark


def cpu_model() -> str:
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")


SERIES: dict[str, Callable[[dict[str, Any]], float]] = {
    "make the graph, s": lambda one: one["graph s"],
    "shuffle, s": lambda one: one["fixed"]["shuffle s"],
    "step, s": lambda one: one["fixed"]["step s"],
    "epoch, growing batch, s": lambda one: one["growing"]["epoch s"],
    "epoch, batch 2048, s": lambda one: one["fixed"]["epoch s"],
    "memory, MiB": lambda one: one["fixed"]["MiB"],
    "memory, growing batch, MiB": lambda one: one["growing"]["MiB"],
    "host memory to make the graph, MiB": lambda one: one["graph host MiB"],
}


def exponents(found: list[dict[str, Any]]) -> dict[str, float]:
    """The power of the number of pairs that each series follows, from a million pairs on (1 is linear, 2 quadratic)."""
    large = [one for one in found if one["pairs"] > 0.9 * FROM]
    large = large if len(large) > 1 else found
    if len(large) < 2:
        return {}
    x = np.log([one["pairs"] for one in large])
    return {
        name: float(np.polyfit(x, np.log([max(of(one), 1e-9) for one in large]), 1)[0]) for name, of in SERIES.items()
    }


def table(found: list[dict[str, Any]]) -> str:
    """Markdown; a star marks an epoch that was reckoned from some of its steps."""
    lines = [
        f"| pairs | users | items | largest item | {' | '.join(SERIES)} |",
        "|---:" * (4 + len(SERIES)) + "|",
    ]
    for one in found:
        cells = []
        for name, of in SERIES.items():
            kind = one["growing"] if "growing" in name else one["fixed"]
            star = "*" if name.startswith("epoch") and kind["steps timed"] < kind["steps"] else ""
            cells.append(f"{of(one):,.0f}" if "MiB" in name else f"{of(one):.3g}{star}")
        counts = [f"{one[key]:,}" for key in ("pairs", "users", "items", "largest item")]
        lines.append(f"| {' | '.join([*counts, *cells])} |")
    powers = exponents(found)
    if powers:
        lines.append(f"| exponent | | | | {' | '.join(f'{power:.2f}' for power in powers.values())} |")
    return "\n".join(lines)


def plot(found: list[dict[str, Any]], path: Path, title: str) -> None:
    """Two panels over the number of pairs, both logarithmic; the dotted line is linear growth."""
    import altair as alt

    powers = exponents(found)
    colours = (
        "#000000",
        "#0072B2",
        "#999999",
        "#009E73",
        "#E69F00",
        "#D55E00",
    )  # told apart by colour-blind readers too
    panels = []
    for unit, label in ((", s", "seconds"), (", MiB", "MiB")):
        last = SERIES["step, s" if unit == ", s" else "memory, MiB"](found[-1]) / found[-1]["pairs"]
        rows = [{"pairs": one["pairs"], "y": last * one["pairs"], "line": "linear growth"} for one in found]
        for name in (name for name in SERIES if name.endswith(unit)):
            power = f"  ∝ pairs^{powers[name]:.2f}" if name in powers else ""
            line = name.removesuffix(unit) + power
            rows += [{"pairs": one["pairs"], "y": SERIES[name](one), "line": line} for one in found]
        names = list(dict.fromkeys(row["line"] for row in rows))
        dashes = [[1, 3] if name == "linear growth" else [6, 4] if "growing" in name else [1, 0] for name in names]
        chart = alt.Chart(alt.InlineData(values=rows)).mark_line(point=True).encode(
            x=alt.X("pairs:Q", scale=alt.Scale(type="log"), title="training pairs"),
            y=alt.Y("y:Q", scale=alt.Scale(type="log"), title=label),
            color=alt.Color("line:N", scale=alt.Scale(domain=names, range=colours[: len(names)])),
            strokeDash=alt.StrokeDash("line:N", scale=alt.Scale(domain=names, range=dashes)),
        )  # fmt: skip
        panels.append(chart.properties(width=400, height=320))
    whole = alt.hconcat(*panels, title=title).resolve_scale(color="independent", strokeDash="independent")
    whole.configure_legend(title=None, orient="bottom", columns=2, labelLimit=260).save(path)


def run_each(sizes: list[int], device: str, threads: int, steps: int) -> list[dict[str, Any]]:
    """Each size in a process of its own, so that one's memory is not another's."""
    found = []
    for size in sizes:
        command = [sys.executable, __file__, "--one", str(size), "--device", device]
        command += ["--threads", str(threads), "--steps", str(steps)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)}
        )
        if done.returncode:
            print(f"{size:,} pairs: ended with status {done.returncode} (-9 is out of memory)", file=sys.stderr)
            continue
        found.append(json.loads(done.stdout.splitlines()[-1]))
        print(f"{size:,} pairs: {found[-1]['fixed']['step s']:.3g} s a step", file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e5, 3e5, 1e6, 3e6, 1e7])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--steps", type=int, help="timed at most from a million pairs on (6 on a CPU, 50 on a GPU)")
    parser.add_argument("--json", type=Path, help="write everything that was measured")
    parser.add_argument("--plot", type=Path, help="draw it: a name ending in .svg or .png")
    parser.add_argument("--from", type=Path, dest="source", help="draw what --json wrote before; nothing is run")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    steps = asked.steps or (50 if asked.device == "cuda" else 6)
    if asked.one:
        print(json.dumps(measure(asked.one, asked.device, asked.threads, steps)))
        return
    if asked.source:
        told = json.loads(asked.source.read_text())
    else:
        found = run_each([int(size) for size in asked.sizes], asked.device, asked.threads, steps)
        if not found:
            raise SystemExit("no size could be run")
        told = {
            "machine": found[0]["machine"],
            "threads": asked.threads,
            "versions": found[0]["versions"],
            "command": f"python benchmarks/growth.py {' '.join(sys.argv[1:])}",
            "sizes": found,
        }
    print(table(told["sizes"]), "", sep="\n")
    print(
        "LightGCN, 3 layers, d=64, SAHC-NS with 10 candidates; training memory is the GPU's, or the process's on a CPU."
    )
    print("* reckoned: the shuffle of all pairs plus the steps of an epoch at the pace of those timed.")
    print(
        "exponent: of the number of pairs, from 10^6 on; 1 is linear. A step propagates over the whole graph, so an epoch"
    )
    print("of equal batches is quadratic by LightGCN's definition, and linear where the batch grows with the data.")
    print(*(f"{name}: {told[name]}" for name in ("machine", "threads", "versions", "command")), sep="\n")
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=1) + "\n")
    if asked.plot:
        plot(told["sizes"], asked.plot, f"LightGCN + SAHC-NS (3 layers, d=64, N=10) on {told['machine']}")


if __name__ == "__main__":
    main()
