"""How large the study is: its sets, seeds and grids. The paper's own size, and a miniature of all of it."""

import json
import os
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from reproduction.methods import BACKBONES, ML1M, PROTOCOL, TOYS, YELP, Settings
from sahcns.lab import DataError, write_whole

STUDY, FORMAT = "study.json", {"format": "sahcns-study", "format_version": 1}
FIRST_SEED = 2020
GRID = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class DataSet:
    """A set of the study. `same` tells the paper's own data from a stand-in, whose numbers are others by nature."""

    folder: str  # among the prepared sets
    name: str  # in tables
    like: str  # whose settings of the paper its methods take, and whose printed numbers stand beside ours
    printed: bool = True  # whether they do
    same: bool = True


@dataclass(frozen=True)
class Design:
    """All that decides which runs there are, besides the settings that tuning chooses."""

    title: str
    sets: tuple[DataSet, ...]  # of Table II, tuning and efficiency
    pair: tuple[str, ...]  # folders of the sets of Tables III and IV and Figs 1, 4 and 5
    single: str  # folder of the set on which pools, choices and splits are varied
    powered: tuple[str, ...]  # folders of the sets that are run with many seeds
    seeds: int = 5
    few: int = 3  # seeds where the paper's own number was not worth the time
    many: int = 30
    grid: tuple[float, ...] = GRID  # of α and of λmax
    pools: tuple[int, ...] = (5, 10, 20, 30, 50)
    wide_pools: tuple[int, ...] = (5, 10, 20, 50, 100, 200)
    splits: int = 5
    ages: tuple[int, ...] = (1, 5, 20, 50, 100, 200)  # epochs of the models in which Figs 1 and 5 are read otherwise
    alike: int = 10  # seeds of what was chosen where everything was searched
    more: tuple[str, ...] = ()  # which of those have `many`, as `ml-1m/SAHC-NS`
    trials: int = 49  # for each sampler: as many as SAHC-NS has points in the paper's grid
    pool: int = 10  # for all in the comparison of equals
    # Where everything is searched: what each of the nine may spend on a set, whichever is spent first, and what is tried.
    all_trials: int = 24
    all_epochs: int = 3000
    longest: int = 400  # epochs of a trial, and of the runs that follow
    all_pools: tuple[int, ...] = (5, 10, 20, 50)
    all_l2: tuple[float, float] = (1e-5, 1e-1)
    all_rates: tuple[float, float] = (1e-4, 1e-2)
    dim: int = 64
    depth: int = 3
    protocol: dict[str, Any] = field(default_factory=lambda: dict(PROTOCOL))

    def backbone(self, name: str = "lightgcn") -> Settings:
        return {"name": name, **BACKBONES[name], "dim": self.dim, "depth": self.depth}

    @property
    def short(self) -> dict[str, Any]:
        """The protocol where everything is searched."""
        return {**self.protocol, "epochs": min(self.longest, self.protocol["epochs"])}

    def data(self, folder: str) -> DataSet:
        """By its folder; the random splits of the single set are sets too."""
        return next(one for one in (*self.sets, *self.resplits) if one.folder == folder)

    @property
    def pair_sets(self) -> list[DataSet]:
        return [self.data(folder) for folder in self.pair]

    @cached_property
    def resplits(self) -> list[DataSet]:
        """The random splits of the single set, numbered from 1."""
        own = next(one for one in self.sets if one.folder == self.single)
        return [
            replace(own, folder=f"{own.folder}-split-{k}", name=f"{own.name}, split {k}", printed=False, same=False)
            for k in range(1, self.splits + 1)
        ]

    def first(self, seeds: int) -> tuple[int, ...]:
        return tuple(range(FIRST_SEED, FIRST_SEED + seeds))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Into FOLDER/study.json, which tells the report what belongs to the study."""
        text = json.dumps({**FORMAT, **asdict(self)}, indent=2, ensure_ascii=False) + "\n"
        return write_whole(Path(folder) / STUDY, text, "study")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Design":
        path = Path(folder) / STUDY
        try:
            values = json.loads(path.read_text("utf-8"))
            sets = tuple(DataSet(**one) for one in values["sets"])
            own: dict[str, Any] = {
                name: tuple(one) if isinstance(one, list) else one for name, one in values.items() if name not in FORMAT
            }
            return cls(**{**own, "sets": sets})
        except (OSError, ValueError, KeyError, TypeError) as error:
            words = f"{path} is not the description of a study ({error!r}); `make reproduce` writes one"
            raise DataError(words) from error


PAPER = Design(
    "The study of SAHC-NS",
    (DataSet(TOYS, "Amazon-toys", TOYS), DataSet(YELP, "Yelp-like", YELP, same=False), DataSet(ML1M, "ML-1m", ML1M)),
    (TOYS, YELP),
    TOYS,
    (TOYS, ML1M),
)

EMBEDDED = "ml-latest-small"
EMBEDDED_CORE = 30  # of its users and items, so that methods that rank all items for each pair stay quick
QUICK = Design(
    "A miniature of the study of SAHC-NS",
    (DataSet(EMBEDDED, "MovieLens small, 30-core", ML1M, printed=False, same=False),),
    (EMBEDDED,),
    EMBEDDED,
    (EMBEDDED,),
    seeds=2,
    few=2,
    many=3,
    grid=(0.0, 0.3, 1.0),
    pools=(5, 10, 20),
    wide_pools=(5, 10, 50),
    splits=2,
    ages=(1, 3),
    alike=2,
    trials=3,
    all_trials=2,
    dim=16,
    protocol={**PROTOCOL, "batch": 512, "learning_rate": 0.005, "epochs": 3, "evaluate_every": 1},
)
