"""Training anew on more pairs, for as many epochs as were best where some of them were held out to look at."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from sahcns.data.split import Pairs, Split
from sahcns.data.splitting import hold_out
from sahcns.training.protocol import Protocol
from sahcns.training.train import OnEpoch, Trained, check_kinds, train


def train_and_refit(
    split: Split,
    *parts: Any,
    protocol: Protocol,
    checkpoint: Path | None,
    on_epoch: OnEpoch | None,
    log: Any,
    **how: Any,
) -> Trained:
    """The epoch is picked on the validation part, or on a tenth of the training pairs where there is none; then all these
    pairs are trained on, and the test part, of which nothing was known until then, is ranked.

    What is recorded is how the epoch was found; the data, the machine and the test numbers are those of the second training.
    """
    check_kinds(split=(split, Split))
    held = split if len(split.valid) else hold_out(split)
    place = checkpoint and checkpoint / "found"
    blind = replace(held, test=Pairs.none())
    found = train(blind, *parts, protocol=protocol, checkpoint=place, on_epoch=on_epoch, log=log, **how)
    epochs = found.record.best_epoch + 1

    def tell(entry: dict[str, Any]) -> None:
        if on_epoch is not None:
            on_epoch({**entry, "refit": epochs})

    every = held.with_valid()
    made = train_again(found, every, *parts, protocol=protocol, checkpoint=checkpoint, on_epoch=tell, **how)
    record, again = found.record, made.record
    told = {"of": split.fingerprint, "epochs": epochs, "monitor": protocol.monitor, "held_out": len(held.valid)}
    record.data, record.machine = {**again.data, "refit": told}, again.machine
    record.test = {"best": again.test["best"]} if again.test else {}
    parts_of = dict.fromkeys((*record.seconds, *again.seconds))
    record.seconds = {name: round(record.seconds.get(name, 0) + again.seconds.get(name, 0), 6) for name in parts_of}
    return replace(made, record=record)


def train_again(
    found: Trained, split: Split, *parts: Any, protocol: Protocol, checkpoint: Path | None, **how: Any
) -> Trained:
    """On `split`, for as many epochs as `found` had at its best; nothing is looked at."""
    epochs = found.record.best_epoch + 1
    # Of a run that was stopped while it was judged, and goes on, another epoch may be the best.
    place = checkpoint and checkpoint / f"again-{epochs}"
    return train(split, *parts, protocol=replace(protocol, epochs=epochs), looks=False, checkpoint=place, **how)
