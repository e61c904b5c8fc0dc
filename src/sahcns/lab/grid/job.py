"""One run of a grid before it is run: everything that decides its result, and a name made from that."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.data.catalogue import CATALOGUE, NamedSet
from sahcns.data.prepared import load_split, read_manifest
from sahcns.data.split import Split
from sahcns.errors import DataError
from sahcns.importing import import_once
from sahcns.lab.grid.result import Result, columns
from sahcns.lab.parts import OBJECTIVE, rebuilt
from sahcns.sources import own_code, source_commit

if TYPE_CHECKING:  # results are read, and their keys made, without torch
    from sahcns.backbones import Backbone
    from sahcns.model import Run
    from sahcns.objectives import Objective
    from sahcns.samplers import Sampler
    from sahcns.training import Protocol

OnEpoch = Callable[[dict[str, Any]], None]
OF_RECORD = (  # what a result takes over as it is
    *("backbone", "sampler", "objective", "protocol", "machine", "best_epoch", "epochs_run", "stopped"),
    *("valid", "test", "seconds"),
)
KS, PER_USER = (10, 20), ("recall", "ndcg")  # kept for each user


@dataclass(frozen=True)
class Job:
    """A run to be done: plain data, so that any process can do it."""

    data: str  # the prepared folder
    fingerprint: str
    data_name: str
    backbone: dict[str, Any]  # {"name": "lightgcn", "dim": 64, …}, all arguments
    sampler: dict[str, Any]
    protocol: dict[str, Any]
    seed: int = 0
    kernels: str = "auto"
    label: str = ""  # the row's name in a table; the sampler's name unless given
    imports: tuple[str, ...] = ()  # the user's own files
    code: str | None = None  # digest of those among them that the sampler, backbone or objective comes from
    objective: dict[str, Any] = field(default_factory=OBJECTIVE.copy)

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.sampler["name"])
        object.__setattr__(self, "imports", tuple(self.imports))

    @classmethod
    def of(
        cls,
        folder: str | os.PathLike[str],
        backbone: "Backbone",
        sampler: "Sampler",
        protocol: "Protocol",
        seed: int = 0,
        *,
        objective: "Objective | None" = None,
        kernels: str = "auto",
        label: str = "",
        imports: Iterable[str | os.PathLike[str]] = (),
    ) -> "Job":
        """From the parts themselves, on the set in a prepared folder."""
        from sahcns.objectives import BPR
        from sahcns.training.record import described

        objective = objective or BPR()
        for part in (backbone, sampler, objective):
            part.check_plain()  # as text in the key two large tensors would be one, and a function never the same
        manifest, code = read_manifest(folder), own_code(type(backbone), type(sampler), type(objective))
        data = (str(folder), manifest["fingerprint"], data_name(manifest, folder))
        parts = (described(backbone), described(sampler), protocol.to_dict())
        return cls(*data, *parts, int(seed), kernels, label, tuple(map(str, imports)), code, described(objective))

    @property
    def key(self) -> str:
        """`lightgcn-sahc-s2020-1f3a9c04de`, a file name; its last part is a hash of all that decides the result."""
        names = ["fingerprint", "backbone", "sampler", "protocol", "seed"]
        names += ["kernels"] * (self.kernels != "auto") + ["code"] * bool(self.code)
        names += ["objective"] * (self.objective != OBJECTIVE)  # so that runs from before there were others keep theirs
        identity = {name: getattr(self, name) for name in names}
        text = json.dumps(_canonical(identity), sort_keys=True)
        short = hashlib.sha256(text.encode()).hexdigest()[:10]
        return f"{_slug(self.backbone['name'])}-{_slug(self.sampler['name'])}-s{self.seed}-{short}"

    def build(self) -> dict[str, Any]:
        """The parts, from their descriptions; the user's own files are imported first."""
        import_once(self.imports)
        return rebuilt(vars(self))

    def load(self) -> Split:
        """The split, which must be the one that the job was made for."""
        return load_same(self.data, self.fingerprint)

    def run(
        self,
        device: str = "auto",
        on_epoch: OnEpoch | None = None,
        split: Split | None = None,
        checkpoint: Path | None = None,
    ) -> Result:
        """Train and judge; `split` is that of the folder where it is at hand. Ctrl-C leaves no result."""
        from sahcns.model import fit

        split = self.load() if split is None else split
        terms: dict[str, Any] = {"seed": self.seed, "device": device, "kernels": self.kernels}
        run = fit(split, **self.build(), **terms, on_epoch=on_epoch, checkpoint=checkpoint)
        if run.record.stopped == "interrupted":  # half a run is no result
            raise KeyboardInterrupt
        record = run.record
        return Result(
            key=self.key,
            label=self.label,
            seed=self.seed,
            data={"name": self.data_name, **record.data},
            history=columns(record.history),
            commit=source_commit(),
            code=self.code,
            imports=list(self.imports),
            per_user=_per_user(run, split, device) if len(split.test) else None,
            **{name: getattr(record, name) for name in OF_RECORD},
        )


def load_same(folder: str, fingerprint: str) -> Split:
    """The split in a folder, which must be the one that something was planned for."""
    split = load_split(folder)
    if split.fingerprint != fingerprint:
        raise DataError(
            f"{folder} holds other data (fingerprint {split.fingerprint[:12]}…) than when this was planned "
            f"({fingerprint[:12]}…); start it again"
        )
    return split


def _per_user(run: "Run", split: Split, device: str) -> dict[str, Any]:
    """Test metrics of each user at the best epoch, ranked where the run ranked them."""
    import numpy as np

    from sahcns.ranking import Truth, evaluate
    from sahcns.training.device import answering, pick_device

    where, mask = pick_device(device), run.record.protocol["mask"]
    with answering(where):
        truth = Truth.of(split, "test", mask, where)
        vectors = (run.recommender.user_vectors.to(where), run.recommender.item_vectors.to(where))
        _, own = evaluate(*vectors, truth, KS, PER_USER, per_user=True)
        users = truth.users.cpu().numpy().astype(np.int32)
    return {"user": users, **{name: values.astype(np.float32) for name, values in own.items()}}


def _canonical(value: Any) -> Any:
    """1, 1.0 and numpy's 1 are one number, however they were typed."""
    if isinstance(value, Mapping):
        return {str(name): _canonical(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(part) for part in value]
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    return value if value is None or isinstance(value, bool) else str(value)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "x"


def data_name(manifest: Mapping[str, Any], folder: str | os.PathLike[str]) -> str:
    """`ml-1m`; `ml-1m (10-core)` where filters or split are not the catalogue's; for a set without a name its folder's.

    A set that was prepared as the catalogue says, but does not have its counts, is told by its fingerprint.
    """
    about = manifest.get("catalogue")
    name = about.get("name") if isinstance(about, Mapping) else None
    if not isinstance(about, Mapping) or not name:
        return Path(os.path.realpath(folder)).name
    recipe, wanted = manifest.get("recipe"), CATALOGUE.get(name)
    changed = list(_changes(wanted, recipe)) if wanted is not None and isinstance(recipe, Mapping) else []
    if not changed and about.get("differs_from_catalogue"):
        changed = [f"data {str(manifest.get('fingerprint', ''))[:10]}"]
    return f"{name} ({', '.join(changed)})" if changed else str(name)


def _changes(wanted: NamedSet, recipe: Mapping[str, Any]) -> Iterator[str]:
    """Each setting that is not the catalogue's, in a word or two."""
    own = wanted.recipe.to_dict()
    counts = list(own) if "all" in wanted.parts else ["unseen", *(["seed"] if "valid" not in wanted.parts else [])]
    alike: dict[str, Callable[[Any], Any]] = {
        "ratios": lambda ratios: [round(share / sum(ratios), 9) for share in ratios],  # 8:1:1 is 0.8:0.1:0.1
        "core": lambda core: max(core, 1),  # 0 and 1 are off
    }
    words: dict[str, Callable[[Any], str]] = {
        "events": lambda events: "all events" if events is None else "+".join(events),
        "min_rating": lambda least: "all ratings" if least is None else f"ratings ≥ {least:g}",
        "years": lambda years: "all years" if years is None else "{}–{}".format(*years),
        "core": lambda core: f"{core}-core" if core > 1 else "no core",
        "ratios": lambda ratios: ":".join(f"{share:g}" for share in ratios),
    }
    for setting in counts:
        value, same = recipe.get(setting, own[setting]), alike.get(setting, lambda value: value)
        if same(value) != same(own[setting]):
            yield words[setting](value) if setting in words else f"{setting} {value}"
