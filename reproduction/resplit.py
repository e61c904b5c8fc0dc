"""Random splits of a set's own pairs: the same users, items and pairs, other parts."""

from pathlib import Path

import numpy as np

from sahcns import Recipe, Split, load_split, prepare, save_split
from sahcns.lab import DataError, Interactions, read_manifest

RATIOS = (0.8, 0.1, 0.1)


def resplit(split: Split, seed: int) -> Split:
    """All pairs of a split, parted anew 8:1:1 at random; the same seed gives the same parts on every machine."""
    parts = split.parts().values()
    pairs = Interactions(
        np.concatenate([part.users for part in parts]),
        np.concatenate([part.items for part in parts]),
        split.user_ids,
        split.item_ids,
        titles=split.titles,
        source={"pairs of": split.fingerprint, "split seed": seed},
    )
    return prepare(pairs, Recipe(split="random", ratios=RATIOS, seed=seed))


def resplit_folder(source: Path, folder: Path, seed: int) -> Path:
    """A random split of the prepared set in `source`, stored in `folder`, once."""
    origin = {"pairs of": read_manifest(source)["fingerprint"], "split seed": seed}
    try:
        there = read_manifest(folder).get("source")
    except DataError:
        there = None
    if there == origin:
        return folder
    if there is not None:
        raise DataError(f"{folder} is another set than split {seed} of {source}; move it elsewhere")
    return save_split(resplit(load_split(source), seed), folder)
