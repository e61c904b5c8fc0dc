"""Time and peak memory of `sahcns data prepare` in memory (polars) and sorted on disk (duckdb), on a made-up log.

    python benchmarks/preparing.py --rows 1e8 --memory 8GB --scratch /scratch

Rows have a user and an item of skewed popularity, ids that are numbers (or texts: --texts), and a second of one year; pairs
come again --often. Each engine runs in a process of its own. Peak memory is what Linux counts as resident, mapped files
included; disk is the most that lay in the scratch folder, looked at four times a second. Both must make the same fingerprint.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sahcns.data import Recipe, prepare, save_split
from sahcns.data.readers import read, read_stored

PART = 5_000_000  # rows of a file
ENGINES = ("polars", "duckdb")


def write_log(folder: Path, rows: int, texts: bool, often: int) -> int:
    """Files of a log with so many rows, 25 pairs for each user and 75 for each item, `often` rows a pair; their bytes."""
    users, items = (max(10, rows // often // each) for each in (25, 75))
    for start in range(0, rows, PART):
        rng, count = np.random.default_rng(start), min(PART, rows - start)
        user, item = (rng.random(-(-count // often)) for _ in range(2))
        table = pl.DataFrame({
            "user": np.resize((users * user**2).astype(np.int64), count),
            "item": np.resize((items * item**3).astype(np.int64), count),
            "time": 1_700_000_000 + rng.integers(0, 365 * 86_400, count),
        })  # fmt: skip
        if texts:
            table = table.with_columns(pl.format("customer-{}", "user"), pl.format("article-{}", "item"))
        table.write_parquet(folder / f"{start:012}.parquet")
    return sum(path.stat().st_size for path in folder.iterdir())


def measure(engine: str, folder: Path, scratch: Path, recipe: Recipe, memory: str | None) -> dict[str, Any]:
    """One preparation in this process."""
    most, done = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.25):
            sizes = (path.stat().st_size for path in scratch.rglob("*") if path.exists())
            most = max(most, sum(sizes))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    start = time.perf_counter()
    rows = read(folder) if engine == "polars" else read_stored(folder, memory=memory, scratch=scratch)
    reading, total = time.perf_counter() - start, len(rows)
    made = prepare(rows, recipe)
    preparing = time.perf_counter() - start - reading
    done.set()
    watcher.join()
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        save_split(made, Path(place) / "set")
    return {
        "engine": engine,
        "rows": total,
        "pairs": sum(map(len, made.parts().values())),
        "read s": reading,
        "prepare s": preparing,
        "peak MiB": peak(),
        "disk MiB": most / 2**20,
        "fingerprint": made.fingerprint,
    }


def peak() -> float:
    """MiB that this process has held at most."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--texts", action="store_true", help="ids are texts")
    parser.add_argument("--often", type=int, default=1, help="rows of each pair, about")
    parser.add_argument("--core", type=int, default=5)
    parser.add_argument("--split", default="time")
    parser.add_argument("--memory", help="of duckdb, such as 8GB")
    parser.add_argument("--scratch", type=Path, help="a folder for the log and for duckdb")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--json", type=Path, help="write what was measured")
    parser.add_argument("--one", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        recipe = Recipe(core=asked.core, split=asked.split)
        print(json.dumps(measure(asked.one, asked.log, asked.scratch, recipe, asked.memory)))
        return
    with tempfile.TemporaryDirectory(dir=asked.scratch) as home:
        log, scratch = Path(home) / "log", Path(home) / "scratch"
        log.mkdir()
        scratch.mkdir()
        size = write_log(log, int(asked.rows), asked.texts, asked.often)
        print(
            f"{int(asked.rows):,} rows, {size / 2**20:,.0f} MiB of Parquet; {asked.core}-core, split by {asked.split}"
        )
        found = []
        for engine in asked.engines:
            command = [sys.executable, __file__, "--one", engine, "--log", str(log), "--scratch", str(scratch)]
            command += ["--core", str(asked.core), "--split", asked.split]
            command += ["--memory", asked.memory] if asked.memory else []
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            if done.returncode:
                print(f"{engine}: ended with status {done.returncode} (-9 is out of memory)", file=sys.stderr)
                continue
            found.append(json.loads(done.stdout))
    columns = ("engine", "pairs", "read s", "prepare s", "peak MiB", "disk MiB")
    print(f"| {' | '.join(columns)} | bytes a row |", "|---" * (len(columns) + 1) + "|", sep="\n")
    for one in found:
        cells = [one["engine"], f"{one['pairs']:,}", f"{one['read s']:.1f}", f"{one['prepare s']:.1f}"]
        cells += [f"{one[name]:,.0f}" for name in columns[4:]] + [f"{one['peak MiB'] * 2**20 / one['rows']:.0f}"]
        print(f"| {' | '.join(cells)} |")
    if len({one["fingerprint"] for one in found}) > 1:
        raise SystemExit("the fingerprints differ")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
