"""Tune samplers: the same number of trials for each, judged on validation, with the test part out of reach.

search = tune("films", [SAHC, DNS], "tuned", trials=20)
search.chosen["sahc"]                     {"alpha": 0.5, "lambda_max": 0.3, "pool": 10}
"""

import dataclasses
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.data.prepared import load_split
from sahcns.data.split import Pairs, Split
from sahcns.errors import DataError, SettingError, nearest
from sahcns.lab.grid.set_name import data_name
from sahcns.lab.grid.sources import own_code
from sahcns.lab.tuning.journal import Journal
from sahcns.lab.tuning.proposing import optuna_module
from sahcns.lab.tuning.space import Search as Searched
from sahcns.lab.tuning.space import Space
from sahcns.lab.tuning.terms import Pruning, SearchTerms
from sahcns.lab.tuning.trials import Search
from sahcns.lab.tuning.trying import Standing as Standing
from sahcns.lab.tuning.trying import Trainer, attempt
from sahcns.lab.tuning.trying import Watch as Watch
from sahcns.lab.tuning.worker import helpers
from sahcns.settings import Between

if TYPE_CHECKING:
    from sahcns.backbones import Backbone
    from sahcns.samplers import Sampler
    from sahcns.training import Protocol

PATIENCE = 0.2  # seconds between looks at trials that another process is at


def tune(
    data: Split | str | os.PathLike[str],
    samplers: "type[Sampler] | str | Iterable[type[Sampler] | str]",
    out: str | os.PathLike[str],
    *,
    backbone: "Backbone | None" = None,
    protocol: "Protocol | None" = None,
    trials: int = 20,
    seed: int = 0,
    pool: Sequence[int] = (),
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
    search: Mapping[str, Mapping[str, Searched]] | None = None,
    first: Mapping[str, Mapping[str, Any]] | None = None,
    prune: bool = False,
    workers: int = 1,
    imports: Iterable[str | os.PathLike[str]] = (),
    device: str = "auto",
    kernels: str = "auto",
    watch: Watch | None = None,
) -> Search:
    """Search each sampler's own settings by the best validation value of the protocol's `monitor`.

    Every sampler gets the same number of `trials`; one with fewer points to try is tried at each of them once, one with
    nothing to tune is trained once. Trials are kept in the folder `out`: a search that was killed goes on there, several
    processes may share it, more trials or samplers may be added, and a search on other terms is refused.

    data     one set: a prepared folder, or a split
    samplers names or classes; one or several
    backbone, protocol, device, kernels   as of `fit`, for every trial
    seed     of the trainings and of the search
    pool     one value sets the pool of all samplers, several are searched; none leaves each its default
    fixed    {"dens": {"schedule": "warmup"}}: settings held at a value
    search   {"sahc": {"alpha": (0.0, 0.5)}}: what to try instead of what the settings say of themselves
    first    {"dens": {"alpha": 0.0}}: the trial to begin with, where it is not the sampler's defaults
    prune    cut off trials that do worse than the median at their epoch: quick, but it takes slow for bad (see `Pruning`)
    workers  processes to share the work; `data` must then be a folder, and `imports` the user's own files
    watch    is called after each epoch and each trial of this process
    """
    from sahcns.backbones import LightGCN
    from sahcns.training import Protocol
    from sahcns.training.device import pick_device
    from sahcns.training.record import described

    optuna_module()
    if trials < 1:
        raise SettingError(f"trials={trials} must be 1 or more")
    if workers < 1 or (workers > 1 and isinstance(data, Split)):
        remedy = (
            "must be 1 or more" if workers < 1 else "needs the data as a prepared folder, which processes can share"
        )
        raise SettingError(f"workers={workers} {remedy}")
    pick_device(device)  # refused now rather than by every trial
    backbone, protocol = backbone or LightGCN(), protocol or Protocol()
    spaces = spaces_of(samplers, pool=pool, fixed=fixed, search=search, first=first)
    split = data if isinstance(data, Split) else load_split(data)
    if not len(split.valid):
        raise DataError("the split has no valid pairs to tune on; prepare the data with a valid share")
    about = {
        "name": data_name(split.manifest, "data" if isinstance(data, Split) else data),
        "fingerprint": split.fingerprint,
        "users": split.n_users,
        "items": split.n_items,
        **{name: len(pairs) for name, pairs in split.parts().items()},
    }
    looks = max(1, protocol.patience // 2)
    rule = Pruning(prune, after_epochs=looks * protocol.evaluate_every)
    terms = SearchTerms(about, described(backbone), protocol.to_dict(), seed, kernels, rule)
    trainer = Trainer(without_test(split), backbone, protocol, seed, device, kernels)
    tell = watch or (lambda standing: None)
    with Journal(Path(out), terms) as journal:
        for space in spaces:
            journal.enrol(space, trials, own_code(space.kind, type(backbone)))
        order = {
            "data": str(data),
            "samplers": [space.name for space in spaces],
            "out": str(out),
            "backbone": terms.backbone,
            "protocol": terms.protocol,
            "trials": trials,
            "seed": seed,
            "pool": list(pool),
            "fixed": {name: dict(values) for name, values in (fixed or {}).items()},
            "search": {
                name: {key: _plain(value) for key, value in own.items()} for name, own in (search or {}).items()
            },
            "first": {name: dict(values) for name, values in (first or {}).items()},
            "prune": prune,
            "imports": [str(path) for path in imports],
            "device": device,
            "kernels": kernels,
        }
        try:
            tell(Standing(journal.save()))
            with helpers(workers - 1, order):
                _work(spaces, trainer, journal, tell)
        finally:
            found = journal.save()
    return found


def _work(spaces: Sequence[Space], trainer: Trainer, journal: Journal, tell: Watch) -> None:
    """One trial after the other, until every sampler has its number, whoever made them."""
    while True:
        taken = next((one for space in spaces if (one := journal.take(space.name))), None)
        if taken is not None:
            attempt(taken, trainer, journal, tell)
        elif not journal.busy():
            return
        else:
            time.sleep(PATIENCE)


def spaces_of(
    samplers: "type[Sampler] | str | Iterable[type[Sampler] | str]",
    *,
    pool: Sequence[int] = (),
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
    search: Mapping[str, Mapping[str, Searched]] | None = None,
    first: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Space]:
    """The search space of each sampler, by class or by name."""
    from sahcns.samplers import Sampler
    from sahcns.settings import class_named

    given = [samplers] if isinstance(samplers, str | type | Sampler) else list(samplers)
    for one in given:
        if isinstance(one, Sampler):
            kind = type(one).__name__
            raise SettingError(
                f"{one} has its settings already; give the class, {kind}, and what to hold with fixed={{…}}"
            )
    kinds = list(dict.fromkeys(class_named(Sampler, one) if isinstance(one, str) else one for one in given))
    if not kinds:
        raise SettingError("no samplers to tune: name at least one, such as sahc")
    fixed, search, first = fixed or {}, search or {}, first or {}
    names = [kind.name or kind.__name__ for kind in kinds]
    for name in (*fixed, *search, *first):
        if name not in names:
            raise SettingError(f"{name!r} is set but not tuned; {nearest(name, names)}")
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"two samplers are called {name!r}; rename one")
    return [
        Space.of(kind, pool=pool, fixed=fixed.get(name), search=search.get(name), first=first.get(name))
        for kind, name in zip(kinds, names, strict=True)
    ]


def without_test(split: Split) -> Split:
    """The same split with an empty test part: what is not there cannot be looked at."""
    return dataclasses.replace(split, test=Pairs.none())


def _plain(search: Searched) -> Any:
    return dataclasses.asdict(search) if isinstance(search, Between) else list(search)
