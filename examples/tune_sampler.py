"""The settings of a sampler, searched on validation alone and judged once on the test part.

python examples/tune_sampler.py
"""

from dataclasses import replace
from pathlib import Path

import sahcns
from sahcns.settings import by_name


def main(split: sahcns.Split, out: Path, trials: int = 8, epochs: int = 15) -> None:
    """Killed and started again, the search goes on in the folder `out`."""
    protocol = sahcns.Protocol(epochs=epochs, batch=1024, learning_rate=0.01, evaluate_every=2)
    found = sahcns.tune(
        split,
        ("dns", "sahc"),
        out,
        backbone=sahcns.LightGCN(dim=32),
        protocol=protocol,
        trials=trials,
        pool=(5, 20),
        search={"backbone.depth": (2, 3)},
    )
    for name in found.samplers:
        best = found.best(name)
        if best is None:
            print(f"{name}: no trial came to an end")
            continue
        print(f"{name}: best of {len(found.of(name))} trials {best.value:.2%} on validation, with {best.point}")

    # The test part was not looked at so far. Each is built again from what was chosen, and trained from another seed.
    for name, settings in found.chosen.items():
        depth, terms = settings.pop("backbone.depth"), [one for one in settings if one.startswith("protocol.")]
        chosen = replace(protocol, **{one.removeprefix("protocol."): settings.pop(one) for one in terms})
        sampler = by_name(sahcns.Sampler, name, settings)
        run = sahcns.fit(split, sahcns.LightGCN(dim=32, depth=depth), sampler, protocol=chosen, seed=1)
        print(f"{name}: recall@20 {run.test['recall@20']:.2%} on the test part")


if __name__ == "__main__":
    main(sahcns.prepare_named("ml-latest-small"), Path("runs/search"))
