"""From a CSV file of ten million rows to a prepared set: sahcns beside a straightforward pandas script.

Both read the same file, keep the years 2012–2018, drop repeated pairs, take the 10-core, give dense ids, split 8:1:1
at random and write arrays. Each runs in a process of its own on two cores; the script checks that both kept the same
pairs and prints wall time (imports included), peak memory and the ratios.

    python benchmarks/prepare_10m.py                  # 10 million rows, ids are numbers
    python benchmarks/prepare_10m.py --ids text       # ids such as AKD8X2M0PQ
    python benchmarks/prepare_10m.py --rows 1000000 --repeat 3
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

YEARS = (2012, 2018)
CORE = 10


def generate(path: Path, rows: int, ids: str) -> None:
    """Interactions as they are met: a few users and items hold most rows, some pairs come again, times are unsorted."""
    import polars as pl

    rng = np.random.default_rng(7)
    n_users, n_items = max(rows // 25, 50), max(rows // 50, 50)
    user_share = np.cumsum(rng.lognormal(0, 1.4, n_users))
    item_share = np.cumsum((np.arange(n_items) + 30.0) ** -1.0)
    user_names, item_names = (np.sort(rng.choice(10 * n, n, replace=False)) + 10**6 for n in (n_users, n_items))
    rng.shuffle(item_names)
    start, end = (int(np.datetime64(f"{year}-01-01", "s").astype(np.int64)) for year in (2010, 2020))
    with open(path, "wb") as out:
        for first in range(0, rows, 1_000_000):
            count = min(1_000_000, rows - first)
            users = np.searchsorted(user_share, rng.random(count) * user_share[-1])
            items = np.searchsorted(item_share, rng.random(count) * item_share[-1])
            frame = pl.DataFrame(
                {
                    "user": user_names[users],
                    "item": item_names[items],
                    "rating": rng.integers(1, 11, count) / 2,
                    "timestamp": rng.integers(start, end, count),
                }
            )
            if ids == "text":
                frame = frame.with_columns(
                    pl.format("A{}XQ", pl.col("user") * 7919).alias("user"),
                    pl.format("B{}", pl.col("item") * 104729).alias("item"),
                )
            frame.write_csv(out, include_header=first == 0)


def with_sahcns(path: Path, folder: Path) -> None:
    from sahcns.data import Recipe, prepare, save_split
    from sahcns.data.readers import read

    save_split(prepare(read(path), Recipe(years=YEARS, core=CORE)), folder)


def with_pandas(path: Path, folder: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(path)
    years = pd.to_datetime(frame["timestamp"], unit="s").dt.year
    frame = frame[years.between(*YEARS)]
    frame = frame.drop_duplicates(["user", "item"])
    while True:
        before = len(frame)
        for side in ("user", "item"):
            counts = frame[side].value_counts()
            frame = frame[frame[side].isin(counts.index[counts >= CORE])]
        if len(frame) == before:
            break
    users, user_ids = pd.factorize(frame["user"], sort=True)
    items, item_ids = pd.factorize(frame["item"], sort=True)
    order = np.random.default_rng(0).permutation(len(frame))
    cuts = [int(0.8 * len(frame)), int(0.9 * len(frame))]
    folder.mkdir()
    for name, part in zip(("train", "valid", "test"), np.split(order, cuts), strict=True):
        pd.DataFrame({"user": users[part], "item": items[part]}).to_parquet(folder / f"{name}.parquet")
    pd.DataFrame({"id": user_ids}).to_parquet(folder / "user_ids.parquet")
    pd.DataFrame({"id": item_ids}).to_parquet(folder / "item_ids.parquet")


RUNS: dict[str, Callable[[Path, Path], None]] = {"sahcns": with_sahcns, "pandas": with_pandas}


def peak_mib() -> float:
    """The most memory this process has held; the kernel's own mark, which unlike ru_maxrss starts anew at exec."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(name: str, path: Path, folder: Path) -> tuple[float, float, float]:
    """Seconds on the clock, peak MiB and CPU seconds of one run in its own process."""
    began = time.perf_counter()
    command = [sys.executable, __file__, "--run", name, "--file", str(path), "--folder", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    seconds, used = time.perf_counter() - began, json.loads(done.stdout)
    return seconds, used["peak_mib"], used["cpu_seconds"]


def same_pairs(ours: Path, theirs: Path) -> int:
    """How many pairs were kept, after making sure that both kept the same ones, by their original ids."""
    import polars as pl

    from sahcns.data import load_split

    split = load_split(ours)
    columns = [
        np.concatenate([getattr(pairs, side) for pairs in split.parts().values()]) for side in ("users", "items")
    ]
    keys = np.sort(columns[0].astype(np.int64) * split.n_items + columns[1])
    other = pl.concat([pl.read_parquet(theirs / f"{part}.parquet") for part in ("train", "valid", "test")])
    assert keys.tolist() == np.sort(other["user"].to_numpy() * split.n_items + other["item"].to_numpy()).tolist()
    for ids, stem in ((split.user_ids, "user_ids"), (split.item_ids, "item_ids")):
        assert ids.decode(range(len(ids))) == pl.read_parquet(theirs / f"{stem}.parquet")["id"].to_list()
    return len(keys)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--ids", choices=["int", "text"], default="int")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the fastest time and its memory count")
    for hidden in ("--run", "--file", "--folder"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        RUNS[asked.run](Path(asked.file), Path(asked.folder))
        print(json.dumps({"peak_mib": peak_mib(), "cpu_seconds": cpu_seconds()}))
        return

    cores = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, cores)
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "interactions.csv"
        generate(path, asked.rows, asked.ids)
        print(f"{asked.rows:,} rows, {path.stat().st_size / 2**20:,.0f} MiB of CSV, {len(cores)} cores")
        taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in RUNS}
        for turn in range(asked.repeat):  # in turns, so that whatever else the machine does meets both alike
            for name in RUNS:
                taken[name].append(measure(name, path, Path(home) / f"{name}-{turn}"))
        kept = same_pairs(Path(home) / "sahcns-0", Path(home) / "pandas-0")
        print(f"both keep the same {kept:,} pairs")
        for name, runs in taken.items():
            seconds, mib, cpu = min(runs)
            print(f"{name:8} {seconds:7.2f} s {mib:9,.0f} MiB peak {cpu:9.2f} s of CPU")
        (our_time, our_memory, our_cpu), (their_time, their_memory, their_cpu) = (min(taken[name]) for name in RUNS)
        speed, memory, work = their_time / our_time, our_memory / their_memory, their_cpu / our_cpu
        print(f"sahcns is {speed:.1f} times as fast, with {memory:.2f} of the memory; {work:.1f} times less CPU time")


if __name__ == "__main__":
    main()
