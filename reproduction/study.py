"""The study at work: what of it is wanted, where its sets are, and each of its parts run, as far as it is missing."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import sahcns
from reproduction.design import EMBEDDED, EMBEDDED_CORE, STUDY, Design
from reproduction.evidence import TUNING, Evidence
from reproduction.experiments import ALL, GRIDS, TITLES, jobs, of_all, parts_named
from reproduction.measurements import Measurement, aged_models, baselines, build, looks, timings
from reproduction.methods import ALL_TUNED, OWN, RIVALS, as_printed
from sahcns import lab

Say = Callable[[str], None]
TUNING_SEED = 0  # none of those that tables are made with


@dataclass(frozen=True)
class Study:
    """A design, the sets that there are of it, and the folder of its results."""

    design: Design
    folders: dict[str, Path]  # folder name of a set → where it is
    out: Path
    parts: Sequence[str] = tuple(TITLES)
    seeds: int | None = None  # at most so many of each row
    workers: int | None = None
    on: str = "here"
    device: str = "auto"
    until: float | None = None  # no run is begun after it; seconds as time.time() counts them

    @classmethod
    def of(cls, design: Design, prepared: Path, out: Path, only: Iterable[str] = (), **options: Any) -> "Study":
        """On the sets of the design that are in the folder `prepared`; some parts, or all. `options` are fields."""
        parts = parts_named(list(only))
        names = [one.folder for one in design.sets]
        folders = {name: prepared / name for name in names if (prepared / name).is_dir()}
        if not folders:
            words = f"{prepared} holds none of the prepared sets {', '.join(names)}; `sahcns data prepare` makes them"
            raise lab.DataError(words)
        study = cls(design, folders, out, parts, **options)
        study._refuse_other()
        return study

    @property
    def late(self) -> bool:
        return self.until is not None and time.time() >= self.until

    def run(self, say: Say) -> "Sequence[lab.Failure]":
        """Part after part; what failed is returned."""
        for one in self.design.sets:
            if one.folder not in self.folders:
                say(f"{one.folder} is not there: what needs it is left out")
        self.design.save(self.out)
        self.make_splits()
        self.tune_all(say)
        at_once: dict[str, Any] = {"workers": self.workers, "on": self.on, "device": self.device, "until": self.until}
        outcome = lab.run_grid(self.jobs, self.out, on_event=_progress(len(self.jobs), say), **at_once)
        chosen = Evidence.of(self.out).chosen
        if "mechanisms" in self.parts:
            self.measure([*looks(self.design, chosen), *aged_models(self.design)], say)
        if "efficiency" in self.parts:
            self.measure(timings(self.design, chosen), say)
        if "baselines" in self.parts:
            self.measure(baselines(self.design), say)
        return outcome.failures

    def make_splits(self) -> None:
        """The random splits of the single set, beside it, if they are wanted and not there."""
        home = self.folders.get(self.design.single)
        if home is not None and "splits" in self.parts:
            for seed, one in enumerate(self.design.resplits, 1):
                self.folders[one.folder] = resplit_folder(home, home.parent / one.folder, seed)

    def tune_all(self, say: Say) -> None:
        """SAHC-NS first, for which most tables wait; then all with everything."""
        searches: list[tuple[Sequence[str], Callable[[str, Sequence[str]], None]]]
        searches = [(names, self.tune) for names in (OWN, RIVALS) if TUNING in self.parts]
        searches += [(tuple(ALL_TUNED.values()), self.tune_everything)] * (ALL in self.parts)
        try:
            for samplers, search in searches:
                for data in (one for one in self.design.sets if one.folder in self.folders):
                    if self.late:
                        say("time is up: tuning goes on next time")
                        return
                    say(f"tuning {', '.join(samplers)} on {data.name}")
                    search(data.folder, samplers)
        except sahcns.SahcnsError as error:
            if {*self.parts} <= {TUNING, ALL}:
                raise
            say(f"{error}; SAHC-NS goes on with the values that there are")

    def tune(self, data: str, samplers: Sequence[str]) -> None:
        """Samplers on one set, on validation, each with equal trials and one pool; needs Optuna.

        Each begins with the paper's settings for the set, as far as they are searched: pool, L2 and step size are not.
        """
        self._search(
            data,
            samplers,
            f"{TUNING}/{data}",
            protocol=sahcns.Protocol.from_dict(self.design.protocol),
            trials=self.design.trials,
            pool=[self.design.pool],
            search={"protocol": {"l2": (), "learning_rate": ()}, **self._grids(samplers)},
            first={name: as_printed(self.design.data(data).like, name) for name in samplers},
        )

    def tune_everything(self, data: str, samplers: Sequence[str]) -> None:
        """The same over L2, step size, pool and own settings; each has equal trials and epochs, whichever end first.

        Each begins with the paper's settings, or what is nearest to them.
        """
        design, like = self.design, self.design.data(data).like
        first = {name: as_printed(like, name) for name in samplers}
        ends: dict[str, Any] = {
            name: sahcns.Between(*ends, log=True)
            for name, ends in (("l2", design.all_l2), ("learning_rate", design.all_rates))
        }
        self._search(
            data,
            samplers,
            of_all(data),
            protocol=sahcns.Protocol.from_dict(design.short),
            trials=design.all_trials,
            epoch_budget=design.all_epochs,
            pool=design.all_pools,
            search={"protocol": ends, **self._grids(samplers)},
            first={name: {**own, "pool": min(own["pool"], design.all_pools[-1])} for name, own in first.items()},
        )

    def _grids(self, samplers: Sequence[str]) -> dict[str, Any]:
        """The paper's for SAHC-NS."""
        grid = {"alpha": self.design.grid, "lambda_max": self.design.grid}
        return {name: grid for name in OWN if name in samplers}

    def _search(self, data: str, samplers: Sequence[str], out: str, **terms: Any) -> None:
        at_once: dict[str, Any] = {"workers": self.workers, "on": self.on, "device": self.device, "until": self.until}
        backbone = build(sahcns.Backbone, self.design.backbone())
        sahcns.tune(
            self.folders[data], samplers, self.out / out, backbone=backbone, seed=TUNING_SEED, **terms, **at_once
        )

    @cached_property
    def jobs(self) -> list[lab.Job]:
        """The runs of all wanted grids, each once, with what tuning has chosen by now."""
        chosen = Evidence.of(self.out).chosen
        parts = [part for name, part in GRIDS.items() if name in self.parts]
        return jobs(parts, self.design, self.folders, chosen, self.seeds)

    def measure(self, wanted: Iterable[Measurement], say: Say) -> None:
        """Models looked into, and samplers timed, on the sets that there are."""
        for one in wanted:
            folder, name = self.folders.get(one.data), self.design.data(one.data).name
            if folder is None or self.late:
                continue
            if one.make(self.out, folder, name, self.device, lab.read_manifest(folder)["fingerprint"]):
                say(f"{name}: {one.kind}" + (f", {one.about}" if one.about else ""))

    def _refuse_other(self) -> None:
        """Another study, or results on other data under the same name, would end up in one report."""
        if (self.out / STUDY).exists() and (there := Design.load(self.out)).sets != self.design.sets:
            raise lab.DataError(f"{self.out} holds another study ({there.title}); choose another --out")
        known = Evidence.of(self.out).prints
        for data, folder in self.folders.items():
            name, mark = self.design.data(data).name, lab.read_manifest(folder)["fingerprint"]
            if known.get(name, mark) != mark:
                raise lab.DataError(
                    f"{folder} is other data (fingerprint {mark[:10]}…) than the results on {name} in {self.out} "
                    f"({known[name][:10]}…); choose another --out"
                )


def _progress(wanted: int, say: Say) -> "Callable[[lab.Event], None]":
    """A line for each run that ends."""
    ended = 0

    def on_event(event: "lab.Event") -> None:
        nonlocal ended
        ended += event.kind in ("skipped", "finished", "failed")
        if event.kind in ("finished", "failed"):
            job, result = event.job, event.result
            reached = f" {result.metric('recall@20'):.2%}" if result is not None else ""
            words = f"{job.data_name}, {job.backbone['name']}, {job.label}, seed {job.seed} {event.kind}{reached}"
            say(f"{ended} of {wanted} runs: {words}")

    return on_event


def resplit(split: "sahcns.Split", seed: int) -> "sahcns.Split":
    """All pairs of a split, parted anew 8:1:1 at random; the same seed gives the same parts on every machine."""
    parts = split.parts().values()
    pairs = lab.Interactions(
        np.concatenate([part.users for part in parts]),
        np.concatenate([part.items for part in parts]),
        split.user_ids,
        split.item_ids,
        titles=split.titles,
        source={"pairs of": split.fingerprint, "split seed": seed},
    )
    return sahcns.prepare(pairs, sahcns.Recipe(split="random", ratios=(0.8, 0.1, 0.1), seed=seed))


def resplit_folder(source: Path, folder: Path, seed: int) -> Path:
    """A random split of the prepared set in `source`, stored in `folder`, once."""
    return folder if folder.exists() else sahcns.save_split(resplit(sahcns.load_split(source), seed), folder)


def embedded_set(out: Path) -> Path:
    """A folder in `out` with the set that ships inside, prepared once; its random splits go beside it."""
    home, recipe = out / "data", sahcns.Recipe(min_rating=3, core=EMBEDDED_CORE)
    if not (home / EMBEDDED / "manifest.json").exists():
        sahcns.save_split(sahcns.prepare_named(EMBEDDED, recipe=recipe), home / EMBEDDED)
    return home
