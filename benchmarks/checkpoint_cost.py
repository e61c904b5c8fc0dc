"""What checkpoints cost a run: the same training without them, with the default, and with one as often as is allowed.

python benchmarks/checkpoint_cost.py PREPARED [PREPARED …] [--epochs 400] [--rounds 5]
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from sahcns import load_split
from sahcns.model import fit
from sahcns.training import Protocol

CASES: dict[str, float | None] = {"none": None, "every 30 s": 30.0, "every 1 s": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path, nargs="+")
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    for folder in chosen.prepared:
        split = load_split(folder)
        protocol = Protocol(epochs=chosen.epochs, evaluate_every=50, patience=1000)
        seconds: dict[str, list[float]] = {case: [] for case in CASES}
        for _ in range(chosen.rounds + 1):  # the first of all compiles, and does not count
            for case, every in CASES.items():
                with tempfile.TemporaryDirectory() as kept:
                    place = None if every is None else Path(kept) / "run"
                    run = fit(split, protocol=protocol, checkpoint=place, checkpoint_every=every or 0.0)
                seconds[case].append(run.record.seconds["total"])
        rows = {case: statistics.median(times[1:]) for case, times in seconds.items()}
        without = rows["none"]
        cells = (f"{case}: {one:7.3f} s ({100 * (one / without - 1):+.2f} %)" for case, one in rows.items())
        print(f"{folder.name:14} {chosen.epochs} epochs  " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
