"""What real runs with thirty seeds say about the tests: whether their assumptions hold, and what fewer seeds find of it.

The tables of docs/statistics.md; printed by `python benchmarks/false_alarms.py --results results`.
"""

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median, stdev

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

from sahcns.counter import bits, stream_key
from sahcns.lab.comparison import boards_of, summaries
from sahcns.lab.comparison.naming import long_name
from sahcns.lab.comparison.statistics import ALPHA
from sahcns.lab.grid.result import Result, results_in
from sahcns.lab.report.parts import Table
from sahcns.ranking.significance import against_published, holm, paired_t, power, wilcoxon_users

METRICS = ("recall@20", "ndcg@20")
MANY, FEW, SIZES = 30, 5, (3, 5, 10, 30)
CELLS = 12  # of the paper's Table II: the first step of Holm's correction over them asks for p < 0.05 / 12
SUBSETS, DRAWS = 1000, 100
FAR = 2.0  # points: a method this far from the others is told apart by any test, and says nothing about tests

Values = npt.NDArray[np.float64]
Methods = Mapping[str, Values]  # name → [30] in points, by seed


def share(values: Iterable[float]) -> str:
    """`5.2 ± 0.7`: percent with its standard error."""
    own = [float(value) for value in values]
    return f"{100 * fmean(own):.1f} ± {100 * stdev(own) / math.sqrt(len(own)):.1f}"


def ranged(numbers: Sequence[float]) -> str:
    return f"{median(numbers):.2f} ({min(numbers):.2f} to {max(numbers):.2f})"


def plain(name: str) -> str:
    """`DNS (pool=10)` without its settings."""
    return name.partition(" (")[0]


def paired(a: Values, b: Values) -> float:
    return paired_t(a.tolist(), b.tolist()).p


def welch(a: Values, b: Values) -> float:
    """The test that knows nothing of pairs."""
    return against_published(a.tolist(), float(b.mean()), float(b.std(ddof=1)), len(b)).p


def near(results: Sequence[Result], data: str, metric: str) -> Methods:
    """Every method with thirty seeds on the set, but those far from the others."""
    found = {}
    for board in boards_of([one for one in results if one.data.get("name") == data]):
        for (_, row, _), one in summaries(board, [metric]).items():
            if one.n >= MANY:
                found[row.method] = 100 * np.array(one.values[:MANY])
    middle = median(float(own.mean()) for own in found.values())
    return {name: own for name, own in found.items() if abs(own.mean() - middle) < FAR}


def couples(methods: Methods) -> list[tuple[Values, Values]]:
    return list(itertools.combinations(methods.values(), 2))


def spread(methods: Methods) -> dict[str, str]:
    """Are differences normal, and is pairing worth the degrees of freedom that it costs?"""
    pairs = couples(methods)
    left = [float((a - b).var(ddof=1) / (a.var(ddof=1) + b.var(ddof=1))) for a, b in pairs]
    normal = [float(stats.shapiro(a - b).pvalue) for a, b in pairs]
    names = itertools.combinations(map(plain, methods), 2)
    odd = [" and ".join(two) for two, p in zip(names, holm(normal), strict=True) if p < ALPHA]
    disagreed = [1 for a, b in pairs if (paired(a, b) < ALPHA) != (wilcoxon_users(a, b).p < ALPHA)]

    def helped(n: int) -> str:
        """Where the interval is narrower with pairs: t has n − 1 degrees of freedom then, else 2n − 2."""
        cost = special.stdtrit(n - 1, 1 - ALPHA / 2) / special.stdtrit(2 * n - 2, 1 - ALPHA / 2)
        return f"{sum(one * cost**2 < 1 for one in left)} of {len(pairs)}"

    return {
        "methods": str(len(methods)),
        "std of a method over seeds, points": ranged([float(own.std(ddof=1)) for own in methods.values()]),
        "std of the difference of two, points": ranged([float((a - b).std(ddof=1)) for a, b in pairs]),
        "correlation of two over seeds": ranged([float(np.corrcoef(a, b)[0, 1]) for a, b in pairs]),
        "variance of the difference, paired / not paired": ranged(left),
        f"pairs whose interval is narrower paired, {FEW} seeds": helped(FEW),
        f"pairs whose interval is narrower paired, {MANY} seeds": helped(MANY),
        "pairs whose differences are not normal (Shapiro, p below 0.05)": f"{sum(p < ALPHA for p in normal)} of {len(pairs)}",
        "the same after Holm": f"{len(odd)} of {len(pairs)}{': ' * bool(odd)}{', '.join(odd)}",
        "pairs on which t and Wilcoxon over the seeds disagree (p below 0.05)": f"{len(disagreed)} of {len(pairs)}",
    }


def calls(methods: Methods, seeds: Sequence[int]) -> Values:
    """[2, pairs] the sign of each difference that the paired t-test over these seeds resolves, else 0; then with Holm."""
    found = [paired_t(a[seeds].tolist(), b[seeds].tolist()) for a, b in couples(methods)]
    signs = np.sign([one.difference for one in found])
    ps = [one.p for one in found]
    return np.stack([signs * (np.array(own) < ALPHA) for own in (ps, holm(ps))])


def agreement(methods: Methods) -> dict[str, str]:
    """Five of the thirty seeds, drawn again and again, against all thirty: what they find, and whom they name first."""
    drawn = [bits(stream_key(0, "seeds", at), MANY).argsort()[:FEW].tolist() for at in range(SUBSETS)]
    whole = calls(methods, range(MANY))[1]
    shares = {f"pairs that {MANY} seeds resolve, after Holm": f"{np.count_nonzero(whole)} of {len(whole)}"}
    every = np.stack(list(methods.values()))  # [methods, 30]
    order = np.argsort(-every.mean(1))
    first = list(methods)[order[0]]
    beaten = sum(
        bool(sign) for sign, two in zip(whole, itertools.combinations(methods, 2), strict=True) if first in two
    )
    shares[f"winner with {MANY} seeds, and from how many it is told"] = (
        f"{plain(first)}, {beaten} of {len(methods) - 1}"
    )
    found = np.stack([calls(methods, seeds) for seeds in drawn], 1)  # [2, subsets, pairs]
    for name, few in zip(("p below 0.05", "after Holm"), found, strict=True):
        said = np.count_nonzero(few)
        shares[f"{name}: {FEW} seeds find a pair that {MANY} resolve"] = share((few == whole)[:, whole != 0].mean(1))
        shares[f"{name}: {FEW} seeds find a pair that {MANY} do not"] = share((few != 0)[:, whole == 0].mean(1))
        shares[f"{name}: of what {FEW} seeds find, {MANY} confirm"] = f"{100 * (few * whole > 0).sum() / said:.1f}"
        shares[f"{name}: of what {FEW} seeds find, {MANY} say the reverse"] = (
            f"{100 * (few * whole < 0).sum() / said:.1f}"
        )
    shares[f"{FEW} seeds name another winner than {MANY}"] = share(
        every[:, seeds].mean(1).argmax() != order[0] for seeds in drawn
    )
    rest = every[order[1:]]
    shares["without the winner: another second"] = share(rest[:, seeds].mean(1).argmax() != 0 for seeds in drawn)
    shares["without the winner: the second is better than the third, p below 0.05"] = share(
        paired(*rest[np.argsort(-rest[:, seeds].mean(1))[:2]][:, seeds]) < ALPHA for seeds in drawn
    )
    return shares


def detected(methods: Methods) -> Table:
    """How often a difference of some points is found: real differences, centred, drawn anew, and moved by so much."""
    tests = {"paired t": (paired, ALPHA), f"paired t, p below 0.05 / {CELLS}": (paired, ALPHA / CELLS)}
    tests["Welch's t, not paired"] = (welch, ALPHA)
    scale = math.sqrt(MANY / (MANY - 1))  # centring takes that much of the spread away
    centred = [((a - a.mean()) * scale, (b - b.mean()) * scale) for a, b in couples(methods)]
    rows = []
    for points in (0.0, 0.1, 0.2, 0.3):
        found: dict[tuple[str, int], list[bool]] = {}
        for n, (at, (a, b)), draw in itertools.product(SIZES, enumerate(centred), range(DRAWS)):
            seeds = (bits(stream_key(0, "drawn", n, at, draw), n) % np.uint64(MANY)).astype(np.int64)
            for name, (test, alpha) in tests.items():
                found.setdefault((name, n), []).append(test(a[seeds] + points, b[seeds]) < alpha)
        rows += [[f"{points:.1f} points, {name}", *(share(found[name, n]) for n in SIZES)] for name in tests]
    return Table("detected", "Found, Recall@20", ["true difference", *(f">{n} seeds" for n in SIZES)], rows)


def resolvable(each: Sequence[Methods]) -> Table:
    """The difference that is found with a chance of 0.8, for the median spread of the differences."""
    rows = []
    for metric, methods in zip(METRICS, each, strict=True):
        std = median(float((a - b).std(ddof=1)) for a, b in couples(methods))
        for name, alpha in (("p below 0.05", ALPHA), (f"p below 0.05 / {CELLS}", ALPHA / CELLS)):
            effects = [effect_found(n, alpha) for n in SIZES]
            rows.append([f"{long_name(metric)}, {name}", *(f"{std * effect:.2f}" for effect in effects)])
    return Table("resolvable", "Points found with a chance of 0.8", ["", *(f">{n} seeds" for n in SIZES)], rows)


def effect_found(n: int, alpha: float, target: float = 0.8) -> float:
    """The d_z that n seeds find with this chance."""
    return float(optimize.brentq(lambda effect: power(effect, n, alpha) - target, 0.01, 50))


def tables(folder: str | os.PathLike[str], data: str) -> list[Table]:
    results = results_in(folder)
    each = [near(results, data, metric) for metric in METRICS]
    heads = ["", *(f">{long_name(metric)}" for metric in METRICS)]
    found = []
    for name, measured in (("spread", [spread(own) for own in each]), ("agreement", [agreement(own) for own in each])):
        rows = [[line, *(column[line] for column in measured)] for line in measured[0]]
        found.append(Table(name, f"{data}, {MANY} seeds: {name}", heads, rows))
    return [*found, detected(each[0]), resolvable(each)]
