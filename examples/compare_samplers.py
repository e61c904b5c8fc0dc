"""Which sampler is better here? Each over the same seeds, and what the differences are worth.

python examples/compare_samplers.py
"""

from pathlib import Path

import sahcns
from sahcns.lab import paired_t

METRIC = "recall@20"


def main(split: sahcns.Split, out: Path, seeds: int = 3, epochs: int = 20) -> None:
    """Killed and started again, it goes on: what is in the folder `out` is not run again."""
    samplers = {
        "random": sahcns.RNS(),
        "hardest of 5": sahcns.DNS(pool=5),
        "hardest of 20": sahcns.DNS(pool=20),
        "SAHC-NS of 20": sahcns.SAHC(pool=20),
    }
    protocol = sahcns.Protocol(epochs=epochs, batch=1024, learning_rate=0.01, evaluate_every=2)
    outcome = sahcns.compare(split, samplers, sahcns.LightGCN(dim=32), out=out, seeds=seeds, protocol=protocol)

    # One seed gives all samplers the same start, order and pools, so their results can be taken in pairs.
    values = {label: [one.metric(METRIC) for one in outcome.results if one.label == label] for label in samplers}
    best = max(values, key=lambda label: sum(values[label]))
    for label, found in values.items():
        line = f"{label:14} {METRIC} {sum(found) / len(found):.2%}"
        if label != best and seeds > 1:
            test = paired_t(values[best], found)
            line += f", {test.difference:.2%} behind {best!r} (p = {test.p:.3f} over {seeds} seeds)"
        print(line)
    print(f"the whole page: sahcns report {out}")


if __name__ == "__main__":
    main(sahcns.prepare_named("ml-latest-small"), Path("runs/study"))
