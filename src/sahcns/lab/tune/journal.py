"""The trials of a search in Optuna's journal, which any number of processes may share.

FOLDER/journal.log     one Optuna study a sampler, each with the terms it was made under
FOLDER/claims/         a lock file for each process at work
FOLDER/trials.json     every trial, for people and reports, and tuned.json, the values chosen; see `search.py`

Optuna stores, proposes (TPE) and prunes. The locks are ours: Optuna's lock file outlives a process that is killed, and
its heartbeat and retry need a database. Whoever takes or counts trials does it alone, so the budget is kept exactly. A
trial whose process died is marked failed, does not count and is made again; so is a pruned one, once the search goes on
without pruning.
"""

import contextlib
import json
import secrets
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.errors import DataError
from sahcns.lab.grid.locks import LOCKS, lock, sweep, wait_for_lock
from sahcns.lab.grid.result import RUNS
from sahcns.lab.tune.propose import distribution, import_optuna, propose
from sahcns.lab.tune.search import Search, Trial
from sahcns.lab.tune.space import Point, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import JournalStorage
    from optuna.trial import FrozenTrial
    from optuna.trial import Trial as OptunaTrial

JOURNAL = "journal.log"
TERMS, SPACE, CODE, BUDGET = "terms", "space", "code", "budget"  # attributes of a study
WORKER, RECORD = "worker", "record"  # attributes of a trial
ENDS = {"complete": "COMPLETE", "pruned": "PRUNED", "failed": "FAIL", "lost": "FAIL"}  # in Optuna's words
COUNTED = ("running", "complete", "pruned", "failed")
AFTER_TRIALS = 5  # complete trials before one is pruned


@dataclass(frozen=True)
class RunningTrial:
    """A trial that this process is at."""

    space: Space
    point: Point
    _trial: "OptunaTrial" = field(repr=False)
    _study: "Study" = field(repr=False)

    @property
    def number(self) -> int:
        return int(self._trial.number)

    def report(self, epoch: int, value: float) -> bool:
        """Note the value of a validation; true if the trial is to be pruned."""
        self._trial.report(value, epoch)
        return self._trial.should_prune() and bool(self._study.user_attrs[TERMS]["pruning"]["on"])

    def finish(self, state: str, record: Mapping[str, Any] | None = None, value: float | None = None) -> None:
        """Note its end: "complete" with a value, "pruned", "failed", or "lost", which leaves it to another."""
        if state != "lost":
            point = self.space.counting(self.point)
            self._trial.set_user_attr(RECORD, {"state": state, "point": point, **(record or {})})
        self._study.tell(self._trial, value, state=import_optuna().trial.TrialState[ENDS[state]])


@contextlib.contextmanager
def open_journal(folder: Path, terms: Mapping[str, Any]) -> "Iterator[Journal]":
    """The journal of a folder, as one process at work sees it; one of something else is refused.

    terms  what all trials of the folder have in common: data, backbone, protocol, seed, kernels, pruning
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file, not a folder; choose another place for the search")
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    foreign = [name for name in names if name != LOCKS and not name.startswith(".")]
    if foreign and not {JOURNAL, RUNS} & set(names):  # a search may stand beside a comparison
        raise DataError(f"{folder} holds {foreign[0]!r} and no search; choose another folder")
    sweep(folder)
    worker = f"worker-{secrets.token_hex(8)}"
    with lock(folder, worker):
        yield Journal(folder, json.loads(json.dumps(terms)), worker, _storage(folder / JOURNAL))


@dataclass(frozen=True)
class Journal:
    """Takes trials for this process, `worker`; made by `open_journal`."""

    folder: Path
    terms: dict[str, Any]
    worker: str
    _storage: "JournalStorage" = field(repr=False)
    _spaces: dict[str, Space] = field(default_factory=dict, repr=False)
    _studies: "dict[str, Study]" = field(default_factory=dict, repr=False)

    def enrol(self, space: Space, budget: int, code: str | None = None) -> None:
        """Begin or take up a sampler's search; a folder with trials made under other terms is refused.

        `code` is a digest of the user's own file that the sampler comes from.
        """
        optuna, points = import_optuna(), space.points()
        size = None if points is None else len(points)
        about = {"searched": space.to_plain(), "rest": dict(space.rest), "fixed": dict(space.fixed), "size": size}
        notes = {TERMS: self.terms, SPACE: json.loads(json.dumps(about)), CODE: code, BUDGET: budget}
        pruner, rule = optuna.pruners.NopPruner(), self.terms["pruning"]
        if rule["on"]:
            complete, epochs = rule["after_trials"], rule["after_epochs"]
            pruner = optuna.pruners.MedianPruner(complete, epochs, n_min_trials=complete)
        with self._alone():
            for name, other in self._all_studies().items():
                difference = _difference(other.user_attrs, notes, space.name if name == space.name else "")
                if difference:
                    self._free(other)
                    if any(state in COUNTED for state, _ in _states(other)):
                        raise DataError(f"{self.folder} holds trials {difference}; choose another folder")
                    optuna.delete_study(study_name=name, storage=self._storage)  # nothing came of it
            study = optuna.create_study(
                study_name=space.name,
                storage=self._storage,
                direction="maximize",
                load_if_exists=True,
                sampler=optuna.samplers.RandomSampler(seed=0),  # never asked: points come from `propose`
                pruner=pruner,
            )
            for key, value in notes.items():
                if study.user_attrs.get(key) != value:
                    study.set_user_attr(key, value)
        self._spaces[space.name], self._studies[space.name] = space, study

    def take(self, name: str) -> RunningTrial | None:
        """The next trial, ours from now on; None when all of the budget are done or being done."""
        optuna, study, space = import_optuna(), self._studies[name], self._spaces[name]
        with self._alone():
            self._free(study)
            trials = _states(study)
            counted = [trial for state, trial in trials if state in COUNTED]
            if len(counted) >= study.user_attrs[BUDGET]:
                return None
            known = {space.key(trial.params) for trial in counted}
            again = [trial.params for state, trial in trials if state not in COUNTED]
            again = [point for point in again if space.key(point) not in known]
            point = again[0] if again else propose(space, counted, self.terms["seed"])
            if point is None:
                return None
            study.add_trial(  # taken and signed in one line of the journal
                optuna.trial.create_trial(
                    state=optuna.trial.TrialState.RUNNING,
                    params=point,
                    distributions={one.name: distribution(one) for one in space.dimensions},
                    user_attrs={WORKER: self.worker},
                )
            )
            trial = optuna.trial.Trial(study, study.get_trials(deepcopy=False)[-1]._trial_id)
        return RunningTrial(space, dict(trial.params), trial, study)

    def busy(self) -> bool:
        """Whether another process is at a trial of the samplers enrolled here."""
        with self._alone():
            for study in self._studies.values():
                self._free(study)
            states = {state for study in self._studies.values() for state, _ in _states(study)}
            return "running" in states

    def save(self) -> Search:
        """Everything so far, of this process and all others, as it is then in `trials.json` and `tuned.json`."""
        with self._alone():
            studies = self._all_studies()
            notes = {name: study.user_attrs for name, study in studies.items()}
            return Search(
                **self.terms,
                budget={name: own[BUDGET] for name, own in notes.items()},
                sizes={name: own[SPACE]["size"] for name, own in notes.items()},
                fixed={name: own[SPACE]["fixed"] for name, own in notes.items()},
                spaces={name: own[SPACE]["searched"] for name, own in notes.items()},
                trials=[trial for name, study in studies.items() for trial in _trials(name, study)],
                code={name: own[CODE] for name, own in notes.items() if own.get(CODE)},
                folder=self.folder,
            ).save()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process takes, counts or saves meanwhile; Optuna's log and its warnings of what is new are held back."""
        optuna = import_optuna()
        before = optuna.logging.get_verbosity()
        with wait_for_lock(self.folder, "search"), warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            optuna.logging.set_verbosity(optuna.logging.ERROR)
            try:
                yield
            finally:
                optuna.logging.set_verbosity(before)

    def _all_studies(self) -> "dict[str, Study]":
        """Also those of samplers that others enrolled; without those whose process died in enrolling them."""
        optuna = import_optuna()
        names = optuna.study.get_all_study_names(self._storage)
        studies = {name: optuna.load_study(study_name=name, storage=self._storage) for name in names}
        return {name: study for name, study in studies.items() if BUDGET in study.user_attrs}  # the last note

    def _free(self, study: "Study") -> None:
        """Mark the trials of dead processes."""
        for state, trial in _states(study):
            worker = trial.user_attrs.get(WORKER, "nobody")
            if state == "running" and worker != self.worker:
                with lock(self.folder, worker) as dead:
                    if dead:
                        study.tell(trial.number, state=import_optuna().trial.TrialState.FAIL)


def _trials(name: str, study: "Study") -> Iterator[Trial]:
    for state, trial in _states(study):
        looks = {int(epoch): float(value) for epoch, value in sorted(trial.intermediate_values.items())}
        yield Trial(
            sampler=name,
            number=trial.number,
            settings={**study.user_attrs[SPACE]["rest"], **trial.params},
            value=trial.value if state == "complete" else max(looks.values(), default=None),
            looks=looks,
            **{"point": dict(trial.params), **trial.user_attrs.get(RECORD, {}), "state": state},
        )


def _states(study: "Study") -> "list[tuple[str, FrozenTrial]]":
    """Every trial with its state, as `Trial` names it."""
    pruned = "pruned" if study.user_attrs[TERMS]["pruning"]["on"] else "replaced"
    names = {"RUNNING": "running", "COMPLETE": "complete", "PRUNED": pruned, "FAIL": "lost"}
    trials = []
    for trial in study.get_trials(deepcopy=False):
        failed = trial.state.name == "FAIL" and trial.user_attrs.get(RECORD, {}).get("state") == "failed"
        trials.append(("failed" if failed else names[trial.state.name], trial))
    return trials


def _difference(there: Mapping[str, Any], here: Mapping[str, Any], sampler: str) -> str | None:
    """In what a study differs from what is wanted now; of the same `sampler` also its space and its code."""
    old, new = there[TERMS], here[TERMS]
    if new["pruning"]["on"] and not old["pruning"]["on"]:
        return "that were made without pruning, so none can be cut off now (leave out --pruning, prune=True)"
    # settings that only one of them knows are newer than the other
    pairs = [("fingerprint of the data", *(terms["data"]["fingerprint"][:12] for terms in (old, new)))]
    for part in ("backbone", "protocol", *(["pruning"] if new["pruning"]["on"] else [])):
        pairs += [(f"{part} {name}", was, new[part][name]) for name, was in old[part].items() if name in new[part]]
    pairs += [(name, old[name], new[name]) for name in ("seed", "kernels")]
    for name, was, wanted in pairs:
        if was != wanted:
            return f"with {name} = {was}, not {wanted}"
    if sampler and there[SPACE] != here[SPACE]:
        return f"of {sampler} in another search space"
    if sampler and there.get(CODE) != here[CODE]:
        return f"of {sampler} before its file was changed"
    return None


def _storage(path: Path) -> "JournalStorage":
    journal = import_optuna().storages.journal
    try:
        backend = journal.JournalFileBackend(str(path), lock_obj=_Lock(path))
        storage: JournalStorage = journal.JournalStorage(backend)
        return storage
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise DataError(f"{path} is no journal that can be read ({error}); choose another folder") from error


class _Lock:
    """What Optuna holds while it writes a line; the system frees it when the process dies."""

    def __init__(self, path: Path) -> None:
        self._path, self._held = path, contextlib.ExitStack()

    def acquire(self) -> bool:
        self._held.enter_context(wait_for_lock(self._path.parent, JOURNAL))
        return True

    def release(self) -> None:
        self._held.close()
