"""The study at work: what of it is wanted, where its sets are, and each of its parts run, as far as it is missing."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.design import STUDY, DataSet, Design
from reproduction.evidence import DIAGNOSTICS, EFFICIENCY, READINGS, TUNING, Evidence
from reproduction.experiments import GRIDS, jobs, part_named
from reproduction.looks import aged, costs_key, looks
from reproduction.methods import OWN, RIVALS, TUNABLE, as_printed
from reproduction.once import once
from sahcns.lab import DataError, Job, SettingError, late, nearest, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from sahcns.lab import SearchProgress

PARTS = ("tuning", *(part.name for part in GRIDS), "mechanisms", "efficiency")
TUNING_SEED = 0  # none of those that tables are made with

Say = Callable[[str], None]


class OutOfTime(Exception):
    """Raised between two trials when no more may be begun."""


@dataclass(frozen=True)
class Study:
    """A design, the sets that there are of it, and the folder of its results."""

    design: Design
    folders: dict[str, Path]  # folder name of a set → where it is
    out: Path
    parts: Sequence[str] = PARTS
    seeds: int | None = None  # at most so many of each row
    workers: int = 1
    device: str = "auto"
    until: float | None = None  # no run is begun after it; seconds as time.time() counts them

    @classmethod
    def of(
        cls,
        design: Design,
        prepared: Path,
        out: Path,
        only: Iterable[str] = (),
        *,
        seeds: int | None = None,
        workers: int = 1,
        device: str = "auto",
        until: float | None = None,
    ) -> "Study":
        """On the sets of the design that are in the folder `prepared`; some parts, or all."""
        wanted = list(only) or list(PARTS)
        for name in wanted:
            if name not in PARTS:
                raise SettingError(f"the study has no part {name!r}; {nearest(name, PARTS)}")
        names = [one.folder for one in design.sets]
        folders = {name: prepared / name for name in names if (prepared / name).is_dir()}
        if not folders:
            raise DataError(
                f"{prepared} holds none of the prepared sets {', '.join(names)}; `sahcns data prepare` makes them"
            )
        parts = [name for name in PARTS if name in wanted]
        found = cls(design, folders, out, parts, seeds, workers, device, until)
        found._refuse_other()
        return found

    @property
    def sets(self) -> list[DataSet]:
        """Those of the design that are there."""
        return [one for one in self.design.sets if one.folder in self.folders]

    @property
    def grids(self) -> list[str]:
        """The wanted parts that are grids of runs."""
        return [part.name for part in GRIDS if part.name in self.parts]

    @property
    def absent(self) -> list[str]:
        """Sets of the design that are not there."""
        return [one.folder for one in self.design.sets if one.folder not in self.folders]

    def split_anew(self) -> None:
        """The random splits of the single set, beside it, if they are wanted and not there."""
        from reproduction.resplit import resplit_folder

        home = self.folders.get(self.design.single)
        if home is not None and "splits" in self.parts:
            for seed, one in enumerate(self.design.resplits, 1):
                self.folders[one.folder] = resplit_folder(home, home.parent / one.folder, seed)

    @property
    def searches(self) -> list[tuple[DataSet, Sequence[str]]]:
        """What is tuned after what: SAHC-NS on every set, since most tables wait for it alone, then the others."""
        return [(one, samplers) for samplers in (OWN, RIVALS) for one in self.sets]

    def tune(
        self, data: str, samplers: Sequence[str] = TUNABLE, watch: "Callable[[SearchProgress], None] | None" = None
    ) -> None:
        """Samplers on one set, on validation, each with equal trials and one pool; needs Optuna.

        Each begins with the paper's settings for the set, as far as they are searched: the pool is not.
        """
        from reproduction.measuring import backbone
        from sahcns import Protocol, tune

        def between(progress: "SearchProgress") -> None:
            if watch is not None:
                watch(progress)
            if (progress.ended is not None or not progress.sampler) and late(self.until):
                raise OutOfTime

        grid = {"alpha": self.design.grid, "lambda_max": self.design.grid}
        tune(
            self.folders[data],
            samplers,
            self.out / TUNING / data,
            backbone=backbone(self.design.backbone()),
            protocol=Protocol.from_dict(self.design.protocol),
            trials=self.design.trials,
            seed=TUNING_SEED,
            pool=[self.design.pool],
            search={name: grid for name in OWN if name in samplers},
            first={name: as_printed(self.design.data(data).like, name) for name in samplers},
            workers=self.workers,
            device=self.device,
            watch=between,
        )

    @cached_property
    def jobs(self) -> list[Job]:
        """The runs of all wanted grids, each once, with what tuning has chosen by now."""
        chosen = Evidence.of(self.out).chosen
        found: dict[str, Job] = {}
        for name in self.grids:
            for job in jobs(part_named(name), self.design, self.folders, chosen, self.seeds):
                found.setdefault(job.key, job)
        return list(found.values())

    def look(self, say: Say) -> None:
        """Models for Figs 1 and 5, trained and looked into; then those of several ages, read in several ways."""
        from reproduction.measuring import look_into, read_otherwise

        for one in looks(self.design, Evidence.of(self.out).chosen):
            folder, name = self.folders.get(one.data), self.design.data(one.data).name
            if folder is None or late(self.until):
                continue
            key = one.key(read_manifest(folder)["fingerprint"])
            if once(self.out, DIAGNOSTICS, key, partial(look_into, one, folder, name, self.device)):
                say(f"{name}, a model trained with {one.trained['name']}: looked into with {', '.join(one.samplers)}")

        for model in aged(self.design):
            folder, name = self.folders.get(model.data), self.design.data(model.data).name
            if folder is None or late(self.until):
                continue
            key = model.key(read_manifest(folder)["fingerprint"])
            if once(self.out, READINGS, key, partial(read_otherwise, model, folder, name, self.device)):
                say(f"{name}, a model of {model.age} epoch{'s' * (model.age != 1)}: Figs 1 and 5 read in several ways")

    def clock(self, say: Say) -> None:
        """What SA and HC cost on each set."""
        from reproduction.measuring import time_samplers

        chosen = Evidence.of(self.out).chosen
        for one in self.sets:
            folder = self.folders[one.folder]
            if late(self.until):
                continue
            key = costs_key(self.design, chosen, one.folder, read_manifest(folder)["fingerprint"])
            make = partial(time_samplers, self.design, chosen, one.folder, key, folder, self.device)
            if once(self.out, EFFICIENCY, key, make):
                say(f"{one.name}: DNS, SA-only and SAHC-NS timed")

    def _refuse_other(self) -> None:
        """Another study, or results on other data under the same name, would end up in one report."""
        if (self.out / STUDY).exists():
            there = Design.load(self.out)
            if there.sets != self.design.sets:
                raise DataError(f"{self.out} holds another study ({there.title}); choose another --out")
        known = Evidence.of(self.out).prints
        for name, folder in self.folders.items():
            shown, mark = self.design.data(name).name, read_manifest(folder)["fingerprint"]
            if known.get(shown, mark) != mark:
                raise DataError(
                    f"{folder} is other data (fingerprint {mark[:10]}…) than the results on {shown} in {self.out} "
                    f"({known[shown][:10]}…); choose another --out"
                )
