"""Under which terms trials were made; those of one folder share them, or the best of them would mean nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sahcns.errors import DataError


@dataclass(frozen=True)
class Pruning:
    """A trial whose best look is below the median of the others at its epoch is cut off.

    That takes slow for bad: of MixGCF's trials on Amazon-toys, those that were behind at epoch 25 ended highest. So it is
    off unless asked for; a folder whose trials were cut off may go on without it, and makes those again, to their end.
    """

    on: bool = True
    after_trials: int = 5  # as many must be complete, and must have come to that epoch
    after_epochs: int = 0

    def to_plain(self) -> dict[str, Any]:
        return {"rule": "median", **self.__dict__} if self.on else {"on": False}


@dataclass(frozen=True)
class SearchTerms:
    """What all trials of a folder have in common."""

    data: Mapping[str, Any]  # name, fingerprint, users, items, pairs of each part
    backbone: Mapping[str, Any]
    protocol: Mapping[str, Any]
    seed: int
    kernels: str
    pruning: Pruning

    def to_plain(self) -> dict[str, Any]:
        """As it comes back from JSON."""
        plain: dict[str, Any] = json.loads(json.dumps({**self.__dict__, "pruning": self.pruning.to_plain()}))
        return plain


def refuse_other(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """An error that names the first thing in which a folder's trials differ from what is wanted now.

    Trials that ran to their end are what they would be without pruning: a search without it may take them over.
    """
    prints = [terms["data"]["fingerprint"][:12] for terms in (there, here)]
    if prints[0] != prints[1]:
        told = f"on other data (fingerprint {prints[0]}…, not {prints[1]}…)"
        raise DataError(f"{folder} holds trials {told}; choose another folder")
    for part in ("backbone", "protocol"):
        for name in sorted({*there[part], *here[part]}):
            _agree(folder, f"{part} {name}", *(terms[part].get(name, "none") for terms in (there, here)))
    if here["pruning"]["on"] and not there["pruning"]["on"]:
        raise DataError(
            f"{folder} was searched without pruning, every trial to its end, and now it is to be searched with pruning, which "
            "cuts trials off; leave out --pruning (prune=True), or choose another folder"
        )
    for name in sorted({*there["pruning"], *here["pruning"]} if here["pruning"]["on"] else ()):
        _agree(folder, f"pruning {name}", *(terms["pruning"].get(name, "none") for terms in (there, here)))
    for name in ("seed", "kernels"):
        _agree(folder, name, there[name], here[name])


def _agree(folder: Path, what: str, there: object, here: object) -> None:
    if there != here:
        raise DataError(f"{folder} holds trials with {what} = {there}, not {here}; choose another folder")
