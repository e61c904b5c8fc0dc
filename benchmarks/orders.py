"""What the quick preset for a file of orders costs and loses against the long default, on validation and in CPU seconds.

    python -m tests.orders orders.csv && python benchmarks/orders.py orders.csv

CPU seconds are user + system of this process, so that a busy machine does not count.
"""

import argparse
import time
from dataclasses import replace

import sahcns
from sahcns.model.orders import LONG, QUICK, read_orders

OTHERS = {"learning rate 0.01": replace(QUICK, learning_rate=0.01), "0.005": replace(QUICK, learning_rate=0.005)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--others", action="store_true", help="other settings too")
    chosen = parser.parse_args()
    split = read_orders(chosen.file).judged
    for name, protocol in {"quick": QUICK, "long": LONG, **(OTHERS if chosen.others else {})}.items():
        began = time.process_time()
        run = sahcns.fit(split, protocol=protocol, device="cpu")
        spent, epochs = time.process_time() - began, run.record.epochs_run
        valid, test = (part["best"]["recall@20"] for part in (run.record.valid, run.record.test))
        print(f"{name}: {epochs} epochs, {spent:.1f} s, {spent / epochs:.2f} s each", end="; ")
        print(f"Recall@20 {valid:.2%} on validation, {test:.2%} on test", flush=True)


if __name__ == "__main__":
    main()
