"""sahcns through its public `fit`, as a user runs it; variants are a sampler and a path, such as "rns auto".

`fit` times each training epoch apart from evaluation. The validation part is cut to one pair, so that the looks at it,
which are not timed, do not keep anyone waiting.
"""

from dataclasses import dataclass

import torch
from terms import L2, LEARNING_RATE, Terms, answer, digest

from sahcns.backbones import LightGCN
from sahcns.data import Pairs, Split, load_split
from sahcns.model import fit
from sahcns.rng import Rng
from sahcns.samplers import RNS, SAHC
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.training import Protocol


def protocol(terms: Terms, epochs: int) -> Protocol:
    """Every pair counts, as in the peers: the last, smaller batch is not left out."""
    return Protocol(
        batch=terms.batch,
        learning_rate=LEARNING_RATE,
        l2=L2,
        epochs=epochs,
        evaluate_every=epochs,
        drop_last=False,
    )


def pairs_of_an_epoch(terms: Terms, split: Split, backbone: LightGCN) -> int:
    """Counted where a sampler meets them, in an epoch of its own (without a captured graph, which would hide them)."""
    met: list[int] = []

    @dataclass(frozen=True)
    class Counting(RNS):
        def choose(self, match: Matching, rng: Rng) -> Mixture:
            met.append(len(match.users))
            return super().choose(match, rng)

    path = "auto" if terms.device == "cpu" else "reference"
    fit(split, backbone, Counting(), protocol=protocol(terms, 1), device=terms.device, kernels=path)
    return sum(met)


def main() -> None:
    terms = Terms.read()
    torch.set_num_threads(terms.threads)
    whole = load_split(terms.folder)
    one, none = (Pairs(whole.train.users[:size], whole.train.items[:size]) for size in (1, 0))
    split = Split(whole.train, one, none, whole.user_ids, whole.item_ids)
    backbone = LightGCN(dim=terms.dim, depth=terms.layers)
    sampler, path = terms.variant.split()
    pairs = pairs_of_an_epoch(terms, split, backbone)
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    run = fit(
        split,
        backbone,
        RNS() if sampler == "rns" else SAHC(pool=terms.pool),
        protocol=protocol(terms, 1 + terms.epochs),
        device=terms.device,
        kernels=path,
    )
    history = run.record.history
    answer(
        [entry["seconds"] for entry in history],
        [entry["loss"] for entry in history],
        pairs,
        digest(*terms.part("train"), terms.n_items),
        ["sahcns", "numpy"],
    )


if __name__ == "__main__":
    main()
