"""How often each test finds a difference where there is none: the tables of docs/statistics.md.

    python benchmarks/false_alarms.py --results results --trainings alike

Studies of equal methods are simulated, so every difference that is found is a false alarm. `--results` adds what real runs
with thirty seeds say about the tests, and how often they find a difference that is there (thirty_seeds.py); alone with
`--skip-simulations`. `--trainings` adds false alarms among real trainings of one method, a folder made by

    sahcns compare ml-latest-small --samplers dns --set pool=5 --set backbone.dim=16 --set backbone.depth=2
        --learning-rate 0.01 --seeds 30 --device cpu --out alike

Shares are percent, and ± is the standard error of the simulation. The same numbers come out every time.
"""

import argparse
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special
from thirty_seeds import SIZES, Values, paired, share, tables, welch

from sahcns.lab.comparison import boards_of, contrast, leads
from sahcns.lab.comparison.naming import long_name
from sahcns.lab.comparison.statistics import ALPHA, TESTS, adjusted, leads_with_users, pairs, ranking
from sahcns.lab.grid.result import Result, results_in
from sahcns.lab.report.parts import Table
from sahcns.lab.report.tables import to_markdown
from sahcns.ranking.significance import wilcoxon_users

METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
METHODS = ("sahc", "rns", "dns", "dns-mn", "mixgcf", "dens", "bns", "ahns", "divns")
ANY, HOLM = "any of four metrics", "any of four, after Holm"
NAMES = {"t": "t over seeds", "wilcoxon": "Wilcoxon over users", "bootstrap": "bootstrap over users"}
USERS, OWN = 400, 0.10  # a training moves each user alone by 10 points
SHARED = (0.0, 0.0025, 0.005, 0.01)  # and all of them together by this much
STUDIES, BOOTSTRAPPED = 1000, 200  # a bootstrap takes as long as all the rest of a study ten times over
Flags = dict[tuple[str, str], bool]  # (test, what is counted) → whether a difference was found


def result(method: str, seed: int, per_user: dict[str, npt.NDArray[Any]]) -> Result:
    """A run of which only the metrics matter."""
    return Result(
        key=f"{method}-s{seed}",
        label=method,
        seed=seed,
        backbone={"name": "lightgcn"},
        sampler={"name": method},
        protocol={},
        data={"name": "simulated", "fingerprint": "simulated"},
        machine={},
        best_epoch=0,
        epochs_run=0,
        stopped="epochs",
        valid={},
        test={"best": {name: float(per_user[name].mean()) for name in METRICS}},
        seconds={},
        history={},
        per_user=per_user,
    )


def equals(methods: Sequence[str], rng: np.random.Generator, shared: float) -> list[Result]:
    """Five seeds of one method under several names.

    A user's metric is the user's own level, what the training did for all users, and what it did for this one. The four
    metrics of a run have most of that luck in common, as they do.
    """
    level = rng.beta(1, 4, USERS)
    found = []
    for method in methods:
        for seed in range(5):
            luck = rng.normal(0, shared) + rng.normal(0, OWN, USERS)  # [U]
            kept = {name: level + luck + rng.normal(0, 0.3 * OWN, USERS) for name in METRICS}
            found.append(result(method, seed, {"user": np.arange(USERS), **kept}))
    return found


def flags(results: Sequence[Result], tests: Sequence[str]) -> Flags:
    """Whether the best method is called better than every other."""
    [board] = boards_of(results)
    gains = leads(board, METRICS)
    for test in tests:
        gains = leads_with_users(board, gains, test) if test != "t" else gains
    found: Flags = {}
    for test in tests:
        found |= {(test, one.second.metric): one.p(test) < ALPHA for one in gains}
        found[test, ANY] = any(one.p(test) < ALPHA for one in gains)
        found[test, HOLM] = any(p < ALPHA for p in adjusted(gains, test))
    return found


def rates(studies: Iterable[Sequence[Result]]) -> dict[tuple[str, str], str]:
    """The share of studies with each flag; the bootstrap sees the first of them only."""
    found: dict[tuple[str, str], list[bool]] = {}
    for at, study in enumerate(studies):
        for name, flag in flags(study, TESTS if at < BOOTSTRAPPED else TESTS[:2]).items():
            found.setdefault(name, []).append(flag)
    return {name: share(own) for name, own in found.items()}


def simulated(methods: Sequence[str]) -> Table:
    """Each test, with luck of several sizes that all users of a training share."""
    columns = []
    for shared in SHARED:
        rng = np.random.default_rng([len(methods), round(1e4 * shared)])
        columns.append(rates(equals(methods, rng, shared) for _ in range(STUDIES)))
    rows = [
        [f"{name}, {long_name(count)}", *(column[test, count] for column in columns)]
        for test, name in NAMES.items()
        for count in ("recall@20", ANY, HOLM)
    ]
    title = f"{len(methods)} equal methods, 5 seeds, {USERS} users; by the luck that all users share, in points"
    return Table("simulated", title, ["", *(f">{100 * shared:g}" for shared in SHARED)], rows)


def references() -> Table:
    """What it does to a test over seeds that its pair was chosen after looking."""
    rng = np.random.default_rng(9)
    found: dict[str, list[bool]] = {}
    for _ in range(STUDIES):
        [board] = boards_of(equals(METHODS, rng, 0.005))
        order = ranking(board, "simulated", "lightgcn", "recall@20")
        ends = contrast(board, "simulated", order[0], order[-1], "recall@20")
        found.setdefault("the best against the worst", []).append(ends.paired.p < ALPHA)
        for name, reference in (("the best", order[0].method), ("one fixed before", "sahc")):
            ps = adjusted(pairs(board, ["recall@20"], reference))
            found.setdefault(f"{name} against any other, after Holm", []).append(min(ps) < ALPHA)
    title = f"{len(METHODS)} equal methods, 5 seeds, t over seeds of Recall@20"
    return Table("references", title, ["", ">found"], [[name, share(own)] for name, own in found.items()])


def over_seeds(studies: int = 2000) -> Table:
    """One comparison of two equal methods of which only a value for each seed is known."""
    tests: dict[str, Callable[[Values, Values], float]] = {
        "paired t": paired,
        "Wilcoxon": lambda a, b: wilcoxon_users(a, b).p,
        "Welch's t, not paired": welch,
    }

    def drawn(luck: str, n: int) -> Iterator[Values]:  # [2, n]
        rng = np.random.default_rng(n)
        for _ in range(studies):
            if luck == "normal luck, half of it the seed's":
                yield (rng.normal(size=(2, n)) + rng.normal(size=n)) * math.sqrt(0.5)
            else:
                yield rng.standard_t(3, (2, n)) if luck == "luck with heavy tails" else rng.normal(size=(2, n))

    rows = []
    for luck in ("normal luck", "normal luck, half of it the seed's", "luck with heavy tails"):
        for name, test in tests.items():
            shares = [share(test(*both) < ALPHA for both in drawn(luck, n)) for n in SIZES]
            rows.append([f"{name}, {luck}", *shares])
    return Table("over-seeds", "2 equal methods, over seeds", ["", *(f">{n} seeds" for n in SIZES)], rows)


def trainings(folder: Path) -> Table:
    """Ten trainings of one method, drawn at random and parted into two methods of five, again and again."""
    kept = [(one, users) for one in results_in(folder) if (users := one.users()) is not None]
    runs = [dataclasses.replace(one, per_user=users) for one, users in kept]
    rng = np.random.default_rng(10)

    def parted() -> list[Result]:
        drawn = [runs[at] for at in rng.permutation(len(runs))[:10]]
        return [dataclasses.replace(one, label="ab"[at // 5], seed=at % 5) for at, one in enumerate(drawn)]

    found = rates(parted() for _ in range(STUDIES))
    counts = (*METRICS, ANY, HOLM)
    rows = [[name, *(found[test, count] for count in counts)] for test, name in NAMES.items()]
    caption = shared_luck(np.stack([100 * users["recall@20"] for _, users in kept]))
    title = f"{len(runs)} trainings of one method, parted into two of 5 seeds"
    return Table("trainings", title, ["", *(f">{long_name(count)}" for count in counts)], rows, caption)


def shared_luck(values: Values) -> str:
    """How far a training moves all users together, and each alone, from [trainings, users] by the analysis of variance.

    A test over U users takes its mean difference to have the variance own² / U, where it has shared² + own² / U.
    """
    count, users = values.shape
    means = values.mean(1, keepdims=True)  # [trainings, 1]
    own = ((values - means - values.mean(0) + means.mean()) ** 2).sum() / ((count - 1) * (users - 1))
    shared = max(0.0, float(means.var(ddof=1)) - own / users)
    alarms = [2 * special.ndtr(special.ndtri(ALPHA / 2) / math.sqrt(1 + n * shared / own)) for n in (users, 10_000)]
    return (
        f"A training moves Recall@20 of all users together by {math.sqrt(shared):.2f} points and of each alone by "
        f"{math.sqrt(own):.1f}; so a test over users has false alarms of about {100 * alarms[0]:.0f} % with {users} users, "
        f"and of {100 * alarms[1]:.0f} % with 10,000."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="a folder of runs in which several methods have thirty seeds")
    parser.add_argument("--data", default="Amazon-toys", help="the set of --results that is looked at")
    parser.add_argument("--trainings", type=Path, help="a folder of many trainings of one method")
    parser.add_argument("--skip-simulations", action="store_true")
    asked = parser.parse_args()
    parts: list[Callable[[], Table]] = []
    if not asked.skip_simulations:
        parts += [over_seeds, lambda: simulated(METHODS[:2]), lambda: simulated(METHODS), references]
    if asked.trainings:
        parts.append(lambda: trainings(asked.trainings))
    for part in parts:
        print(to_markdown(part()), flush=True)
    for one in tables(asked.results, asked.data) if asked.results else ():
        print(to_markdown(one), flush=True)


if __name__ == "__main__":
    main()
