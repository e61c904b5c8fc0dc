"""The trials of a search in a folder that any number of processes may share.

FOLDER/journal.log     Optuna's journal: one study a sampler, each with the terms it was made under
FOLDER/claims/         a locked file for each process at work, which the system frees when the process dies; its name says
                       whether that process cuts trials off
FOLDER/trials.json     every trial, for people and reports; made from the journal whenever a trial ends
FOLDER/tuned.json      the values chosen for the samplers whose search is finished

Whoever takes or counts trials does it alone, so the budget is kept exactly. A trial whose process has died is marked
failed and does not count: the next process takes its place, and tries the same point. Nor does one that was cut off count
once its sampler's search goes on without pruning: it is made again, to its end.
"""

import contextlib
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sahcns.errors import DataError
from sahcns.lab.grid.locks import LOCKS, lock, sweep, wait_for_lock
from sahcns.lab.tuning.journal_file import open_journal, refuse_foreign
from sahcns.lab.tuning.proposing import Tried, optuna_module, propose, quiet_optuna
from sahcns.lab.tuning.space import Point, Space
from sahcns.lab.tuning.terms import SearchTerms, refuse_other
from sahcns.lab.tuning.trials import Search, Trial

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial
    from optuna.trial import Trial as OptunaTrial

# what is noted on a study, and on a trial
TERMS, SPACE, CODE, BUDGET = "terms", "space", "code", "budget"
WORKER, RECORD = "worker", "record"
COUNTED = ("running", "complete", "pruned", "failed")
REPLACED = "replaced"
AT_WORK, CUTTING = "worker-", "worker-pruning-"  # how claims of processes begin


@dataclass(frozen=True)
class Taken:
    """A trial that this process is at."""

    space: Space
    point: Point
    _trial: "OptunaTrial" = field(repr=False)
    _study: "Study" = field(repr=False)

    @property
    def number(self) -> int:
        return int(self._trial.number)

    def look(self, epoch: int, value: float) -> bool:
        """Take note of a look at the validation part; true if the trial is not worth going on with."""
        with quiet_optuna():
            self._trial.report(value, epoch)
            return bool(self._trial.should_prune())

    def end(self, state: str, record: Mapping[str, Any], value: float | None = None) -> None:
        """It came to an end: "complete" with a value, "pruned" or "failed"."""
        states = optuna_module().trial.TrialState
        told = {"complete": states.COMPLETE, "pruned": states.PRUNED, "failed": states.FAIL}[state]
        point = {"point": self.space.counting(self.point)}
        with quiet_optuna():
            self._trial.set_user_attr(RECORD, {"state": state, **point, **record})
            self._study.tell(self._trial, value, state=told)

    def give_back(self) -> None:
        """It did not come to an end; another will take its place."""
        with quiet_optuna():
            self._study.tell(self._trial, state=optuna_module().trial.TrialState.FAIL)


class Journal:
    """The journal of a folder, as one process at work sees it: `with Journal(…) as journal`."""

    def __init__(self, folder: Path, terms: SearchTerms) -> None:
        self.folder, self.terms = folder, terms
        self.me = f"{CUTTING if terms.pruning.on else AT_WORK}{secrets.token_hex(8)}"
        self._spaces: dict[str, Space] = {}
        self._studies: dict[str, Study] = {}
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Self:
        refuse_foreign(self.folder)
        sweep(self.folder)
        with contextlib.ExitStack() as held:
            held.enter_context(lock(self.folder, self.me))
            self._storage = open_journal(self.folder)
            self._held = held.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._held.close()

    def enrol(self, space: Space, budget: int, code: str | None = None) -> None:
        """Begin or take up a sampler's search; a folder with trials made under other terms is refused.

        `code` is a digest of the user's own file that the sampler comes from.
        """
        points = space.points()
        size = None if points is None else len(points)
        about = {"searched": space.to_plain(), "rest": dict(space.rest), "fixed": dict(space.fixed), "size": size}
        notes = {TERMS: self.terms.to_plain(), SPACE: json.loads(json.dumps(about)), CODE: code, BUDGET: budget}
        with self._alone():
            for name, other in self._all().items():
                try:
                    self._refuse_other(name, other.user_attrs, notes, name == space.name)
                except DataError:
                    tried = any(state in COUNTED for state, _ in _states(other))
                    if tried or self._company():
                        raise
                    optuna_module().delete_study(study_name=name, storage=self._storage)  # nothing came of it
            study = optuna_module().create_study(
                study_name=space.name,
                storage=self._storage,
                direction="maximize",
                load_if_exists=True,
                sampler=optuna_module().samplers.RandomSampler(seed=0),  # never asked: points come from `propose`
                pruner=self._pruner(),
            )
            for key, value in notes.items():
                if study.user_attrs.get(key) != value:
                    study.set_user_attr(key, value)
        self._spaces[space.name], self._studies[space.name] = space, study

    def take(self, name: str) -> Taken | None:
        """The next trial, ours from now on; None when all of the budget are done or being done."""
        study, space = self._studies[name], self._spaces[name]
        with self._alone():
            self._reap(study)
            trials = _states(study)
            # One that waits was proposed by a process that died before it had taken it.
            if not any(state == "waiting" for state, _ in trials):
                tried = [
                    Tried(trial.params, state, trial.value, trial.intermediate_values)
                    for state, trial in trials
                    if state in COUNTED
                ]
                if len(tried) >= study.user_attrs[BUDGET]:
                    return None
                known = {space.key(one.point) for one in tried}
                again = [trial.params for state, trial in trials if state == REPLACED]
                unmade = (point for point in again if space.key(point) not in known)
                point = next(unmade, None) or propose(space, tried, self.terms.seed)
                if point is None:
                    return None
                study.enqueue_trial(point)
            taken = study.ask(_distributions(space))
            taken.set_user_attr(WORKER, self.me)
        return Taken(space, dict(taken.params), taken, study)

    def busy(self) -> bool:
        """Whether another process is at a trial of the samplers enrolled here; those of dead ones are marked first."""
        with self._alone():
            for study in self._studies.values():
                self._reap(study)
            states = [state for study in self._studies.values() for state, _ in _states(study)]
            return "running" in states or "waiting" in states

    def save(self) -> Search:
        """Everything so far, of this process and all others, as it is then in `trials.json` and `tuned.json`."""
        with self._alone():
            for half in self.folder.glob(".t*.json.*"):  # of a process that died while it wrote, alone as we are now
                half.unlink(missing_ok=True)
            notes = {name: study.user_attrs for name, study in self._all().items()}
            return Search(
                **self.terms.to_plain(),
                budget={name: told[BUDGET] for name, told in notes.items()},
                sizes={name: told[SPACE]["size"] for name, told in notes.items()},
                fixed={name: told[SPACE]["fixed"] for name, told in notes.items()},
                spaces={name: told[SPACE]["searched"] for name, told in notes.items()},
                trials=[trial for name, study in self._all().items() for trial in _trials(name, study)],
                code={name: told[CODE] for name, told in notes.items() if told.get(CODE)},
                folder=self.folder,
            ).save()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process takes, counts or writes meanwhile."""
        with wait_for_lock(self.folder, "search"), quiet_optuna():
            yield

    def _all(self) -> "dict[str, Study]":
        """Also of samplers that others have enrolled, in the order in which they were; not of whom died in enrolling."""
        module = optuna_module()
        names = module.study.get_all_study_names(self._storage)
        found = {name: module.load_study(study_name=name, storage=self._storage) for name in names}
        return {name: study for name, study in found.items() if BUDGET in study.user_attrs}  # the last note

    def _reap(self, study: "Study") -> None:
        """Mark the trials of dead processes. Nobody is between taking a trial and signing it: we are alone."""
        for state, trial in _states(study):
            if state == "running":
                worker = trial.user_attrs.get(WORKER)
                if worker != self.me and (worker is None or self._dead(worker)):
                    study.tell(trial.number, state=optuna_module().trial.TrialState.FAIL)

    def _company(self, kind: str = AT_WORK) -> bool:
        """Whether other processes are at work here."""
        workers = [path.name for path in (self.folder / LOCKS).glob(f"{kind}*")]
        return any(worker != self.me and not self._dead(worker) for worker in workers)

    def _dead(self, worker: str) -> bool:
        with lock(self.folder, worker) as free:
            return free

    def _pruner(self) -> Any:
        pruners, rule = optuna_module().pruners, self.terms.pruning
        if not rule.on:
            return pruners.NopPruner()
        return pruners.MedianPruner(rule.after_trials, rule.after_epochs, n_min_trials=rule.after_trials)

    def _refuse_other(self, name: str, told: Mapping[str, Any], notes: Mapping[str, Any], same: bool) -> None:
        if TERMS in told:
            refuse_other(self.folder, told[TERMS], notes[TERMS])
            if told[TERMS]["pruning"] != notes[TERMS]["pruning"] and self._company(CUTTING):
                raise DataError(
                    f"{self.folder} is being searched with pruning by other processes, and now it is to be searched without; "
                    "wait for their end, or join them with --pruning (prune=True)"
                )
        if same and told.get(SPACE, notes[SPACE]) != notes[SPACE]:
            raise DataError(f"{self.folder} holds trials of {name} in another search space; choose another folder")
        if same and told.get(CODE, notes[CODE]) != notes[CODE]:
            raise DataError(f"{self.folder} holds trials of {name} before its file was changed; choose another folder")


def _trials(name: str, study: "Study") -> Iterator[Trial]:
    for state, trial in _states(study):
        if state == "waiting":
            continue
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
    """Every trial with Optuna's word for it, but "lost" where its process died before it could say how it ended, and
    "replaced" where it was cut off, and the study has gone on without pruning since."""
    cut = "pruned" if study.user_attrs[TERMS]["pruning"]["on"] else REPLACED
    words = {"RUNNING": "running", "WAITING": "waiting", "COMPLETE": "complete", "PRUNED": cut, "FAIL": "lost"}
    found = []
    for trial in study.get_trials(deepcopy=False):
        failed = trial.state.name == "FAIL" and trial.user_attrs.get(RECORD, {}).get("state") == "failed"
        found.append(("failed" if failed else words[trial.state.name], trial))
    return found


def _distributions(space: Space) -> "dict[str, BaseDistribution]":
    """As the journal keeps them: the values themselves."""
    found = optuna_module().distributions
    return {
        d.name: found.CategoricalDistribution(d.values)
        if d.between is None
        else found.FloatDistribution(d.between.low, d.between.high, log=d.between.log)
        for d in space.dimensions
    }
