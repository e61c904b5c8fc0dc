"""A comparison as tables: every method with its spread, each against a reference, and every run in a row."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress, product
from typing import Any

from sahcns.errors import SettingError, nearest
from sahcns.lab.comparison.boards import READINGS, Board, boards_of
from sahcns.lab.comparison.naming import chance, joined, listed, long_name, number, ranked, scale, short_name
from sahcns.lab.comparison.statistics import (
    ALPHA,
    MARGIN,
    MIN_SEEDS,
    TESTS,
    Contrast,
    Lead,
    Summary,
    Verdict,
    adjusted,
    leads,
    leads_with_users,
    pairs,
    reference_of,
    summaries,
    verdicts,
    with_users,
)
from sahcns.lab.grid.result import Result, terms_differ
from sahcns.lab.report.parts import Cell, Mark, Table
from sahcns.ranking.significance import SignedRank, seeds_needed

METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
MISSING = Cell("–", hint="not run")
LEFT_OUT = ("format", "format_version", "history", "users_sha256")  # of the table of runs
OVER_USERS = "over users, each user's value averaged over the seeds that both have"
HOW = {
    "t": "two-sided paired t-test over the seeds that both have",
    "wilcoxon": f"two-sided Wilcoxon signed-rank test {OVER_USERS}",
    "bootstrap": f"two-sided paired bootstrap {OVER_USERS}",
}
GIVEN = (
    "A test over users takes these very trainings as given: it says whether they serve the users differently, not whether "
    "other trainings would. Whatever luck of a training all users share it takes for a difference of the methods, the more "
    "surely the more users there are."
)
PAIRS = (
    f"95 % low, high and p: by the {HOW['t']}. Holm: p corrected over the tests of this table, where there are {MIN_SEEDS} "
    "seeds or more; * below 0.05. d_z: the difference divided by its standard deviation over seeds. Seeds needed: how many "
    "it takes to find a difference of this size with a chance of 0.8 at p < 0.05, if it is as large as it looks."
)
EQUIVALENT = (
    "Verdict: better or worse by Holm's p below 0.05; equivalent where two one-sided t-tests, corrected alike, show a "
    "difference of less than {margin:g} points either way; otherwise not resolved."
)
USERS = f"Wilcoxon, Bootstrap: p of these tests over users, each corrected by Holm over its column. {GIVEN}"


def comparison_tables(
    results: Sequence[Result],
    *,
    metrics: Sequence[str] = METRICS,
    baseline: str | None = None,
    against: str | None = None,
    reading: str = "best",
    test: str = "t",
    margin: float = MARGIN,
    pairwise: bool = True,
) -> list[Table]:
    """For each protocol and kernels a table of all methods, as the paper's Table II, and one of pairs.

    metrics    columns, for each data set
    baseline   the one method that the best must beat for its *; every other one by default
    against    the method that each other one is tested against in the table of pairs; by default the baseline, else
               sahc, else the first: in any case fixed before the numbers are seen
    reading    "best" validation epoch, "last" epoch, or "both", one table after the other
    test       behind the *: "t" over seeds, or "wilcoxon" or "bootstrap" over users, which take the trainings as given
    margin     in points: two methods that are shown to differ by less are equivalent
    """
    for name, value, known in (("reading", reading, (*READINGS, "both")), ("test", test, TESTS)):
        if value not in known:
            raise SettingError(f"{name}={value!r} is not known; choose one of {', '.join(known)}")
    boards = {which: boards_of(results, which) for which in READINGS if reading in (which, "both")}
    methods = {row.method for board in boards_of(results) for row in board.rows}
    for argument, method in (("baseline", baseline), ("against", against)):
        if method is not None and method not in methods:
            raise SettingError(f"{argument}={method!r} is not among the methods; {nearest(method, methods)}")
    tables = []
    for at, of_terms in enumerate(zip(*boards.values(), strict=True)):
        for board in of_terms:
            ending = (f"-{at + 1}" if at else "") + ("-last" if board.reading == "last" else "")
            title = [", ".join(board.data), *(board.backbones if len(board.backbones) == 1 else [])]
            title += ["last epoch"] if board.reading == "last" else []
            title += ["; ".join(terms_differ(boards[board.reading][0].terms, board.terms))] if at else []
            more = pairwise_table(board, metrics, against or baseline, margin) if pairwise else []
            for one in (main_table(board, metrics, baseline, test), *more):
                words = f"{one.title}: {', '.join(title)}".removeprefix(": ")
                tables.append(replace(one, name=one.name + ending, title=words))
    return tables


def main_table(board: Board, metrics: Sequence[str], baseline: str | None, test: str) -> Table:
    """Rows are backbone × method; columns the metrics of each set; best bold, second underlined, * for a tested lead."""
    gains = leads(board, metrics, baseline)
    if test != "t":
        gains = leads_with_users(board, gains, test)
    stars = {
        (lead.second.data, lead.second.first, lead.second.metric): (lead, p)
        for lead, p in zip(gains, adjusted(gains, test), strict=True)
    }
    summed = summaries(board, metrics)
    means: dict[tuple[str, str, str], list[float]] = {}
    for (data, row, metric), one in summed.items():
        if ranked(metric) and not math.isnan(one.mean):
            means.setdefault((data, row.backbone, metric), []).append(one.mean)
    two = {place: sorted(set(own), reverse=True)[:2] for place, own in means.items() if len(own) > 1}
    uneven, several = len(board.seeds) > 1, len(board.backbones) > 1
    rows = []
    for row in board.rows:
        cells: list[Cell | str] = [*([row.backbone] if several else []), row.method]
        cells += [board.own(row)] if board.differing else []
        if uneven:
            counts = [len(board.seeds_of(data, row)) for data in board.data]
            cells.append("–".join(map(str, sorted({min(counts), max(counts)}))))
        for data, metric in product(board.data, metrics):
            place, best = (data, row, metric), two.get((data, row.backbone, metric), [])
            cells.append(_cell(summed[place], best, stars.get(place), test) if place in summed else MISSING)
        rows.append(cells)
    columns = [*(["Backbone"] if several else []), "Method", *(["Trained with"] if board.differing else [])]
    columns += [">Seeds"] if uneven else []
    heads = {data: f"{data} · " if len(board.data) > 1 else "" for data in board.data}
    columns += [f">{heads[data]}{short_name(metric)}" for data in board.data for metric in metrics]
    seeds = {seed for own in board.seeds for seed in own}
    kinds = dict.fromkeys(metric.partition("@")[0] for metric in metrics)
    names = ", ".join(f"{short_name(kind)} is {long_name(kind)}" for kind in kinds)
    star = f"* better than {baseline or 'every other method'}: {HOW[test]}, p < 0.05 after Holm's correction over the columns"
    caption = [
        f"Mean ± standard deviation over {'the seeds that were run: ' if uneven else 'seeds '}{listed(seeds)}, "
        f"{_unit(metrics, 'percent')}on the test part {READINGS[board.reading]}. Best bold, second underlined.",
        _untested(gains, test) or f"{star}, {MIN_SEEDS} seeds or more.{f' {GIVEN}' * (test != 't')}",
        f"{names}.",
        f"Terms: {board}.",
    ]
    return Table("comparison", "", columns, rows, " ".join(caption))


def _cell(one: Summary, two: Sequence[float], star: tuple[Lead, float] | None, test: str) -> Cell:
    broken = [seed for seed, value in zip(one.seeds, one.values, strict=True) if not math.isfinite(value)]
    if broken:
        return Cell("–", hint=f"not a number with seed {listed(broken)}")
    factor, note = scale(one.metric), ""
    text = number(factor * one.mean) + (f" ± {number(factor * one.std)}" if one.n > 1 else "")
    marks: dict[float, Mark] = dict(zip(two, ("best", "second"), strict=False))
    hint = f"seeds {listed(one.seeds)}: {', '.join(number(factor * value, 3) for value in one.values)}"
    if star is not None:
        lead, p = star
        second = lead.second
        hint += f"; {number(factor * second.paired.difference, 3, sign=True)} over {second.second.method}, "
        hint += f"largest {test} p {chance(lead.p(test))}, after Holm {chance(p)}" if p == p else "not tested"
        note = "*" if lead.significant(p) else ""
    return Cell(text, marks.get(one.mean, ""), note, hint)


def pairwise_table(board: Board, metrics: Sequence[str], against: str | None, margin: float = MARGIN) -> list[Table]:
    """Each method against one that was fixed beforehand; none where there is nothing to pair."""
    reference = against or reference_of(board)
    contrasts = with_users(board, pairs(board, metrics, reference))
    if not contrasts:
        return []
    users = any(one.over_users for one in contrasts)
    several = [len(board.data) > 1, len(board.backbones) > 1]
    columns = [*compress(("Data", "Backbone"), several)]
    columns += ["Metric", "Method", "Verdict", ">Difference", ">95 % low", ">95 % high", ">p", ">Holm", ">d_z"]
    columns += [">Seeds needed"]
    columns += [">Wilcoxon", ">Bootstrap"] if users else []
    ps = zip(*(adjusted(contrasts, test) for test in TESTS), strict=True)
    rows = []
    for one, said, (holm, *by_users) in zip(contrasts, verdicts(contrasts, margin), ps, strict=True):
        row: list[Cell | str] = [*compress(one.place, several)]
        row += [long_name(one.metric), one.first.method, _verdict_cell(one, *said, margin), *_seed_cells(one, holm)]
        rows.append(row + [_user_cell(one, test, p) for test, p in zip(TESTS[1:], by_users, strict=True) if users])
    unshared = listed({seed for one in contrasts for seed in one.unshared})
    caption = [
        f"Difference: the method minus {reference}, {_unit(metrics, 'percentage points')}{READINGS[board.reading]}.",
        _untested(contrasts, "t") or f"{PAIRS} {EQUIVALENT.format(margin=margin)}",
        f"Seeds that only one of a pair has are left out: {unshared}." if unshared else "",
        USERS if users else "",
        f"Terms: {board}.",
    ]
    return [Table("pairwise", f"Each method against {reference}", columns, rows, " ".join(filter(None, caption)))]


def _verdict_cell(one: Contrast, verdict: Verdict, p: float, margin: float) -> Cell | str:
    """The verdict, with what the two one-sided tests say; a dash where more of the metric is not better."""
    if not ranked(one.metric):
        return "–"
    return Cell(verdict, hint=f"within {margin:g} points: p {chance(p)} after Holm" if p == p else one.tested("t").why)


def _seed_cells(one: Contrast, holm: float) -> list[Cell | str]:
    """Difference, its interval, p, Holm's p, d_z, seeds needed."""
    paired, factor = one.paired, scale(one.metric)
    known = paired.effect == paired.effect
    spread = "95 % from {} to {}".format(*(number(end, sign=True) for end in paired.effect_interval))
    needed = "> 100,000" if paired.seeds is None else f"{paired.seeds:,}"
    seeds = f"seeds {listed(one.seeds)}" if one.seeds else ""
    return [
        Cell(number(factor * paired.difference, sign=True), hint="; ".join(filter(None, [seeds, paired.why]))),
        number(factor * paired.low, sign=True),
        number(factor * paired.high, sign=True),
        Cell(chance(paired.p), hint=paired.why),
        Cell(chance(holm), note="*" if holm < ALPHA else "", hint="" if holm == holm else one.tested("t").why),
        Cell(number(paired.effect, sign=True), hint=spread if known else paired.why),
        Cell(needed if known and paired.effect else "–", hint=_seeds_range(one) if known else paired.why),
    ]


def _user_cell(one: Contrast, test: str, holm: float) -> Cell:
    """Holm's p of a test over users; its own p as a hint."""
    made = one.tested(test)
    low, high = (number(scale(one.metric) * end, sign=True) for end in (made.low, made.high))
    told = f"95 % from {low} to {high}"
    if isinstance(made, SignedRank):
        told = f"better for {made.better:.1%} and worse for {made.worse:.1%} of {made.n} users"
    return Cell(chance(holm), hint=made.why or f"p {chance(made.p)}; {told}")


def _seeds_range(one: Contrast) -> str:
    """Seeds needed at both ends of what the effect may be: an effect seen in five seeds is hardly known."""
    ends = one.paired.effect_interval
    if one.paired.why:
        return one.paired.why
    if ends[0] <= 0 <= ends[1]:
        fewest = seeds_needed(max(map(abs, ends)))
        return f"at least {fewest:,}; the effect's interval holds 0, for which no number is enough"
    few, many = sorted(seeds_needed(end) or 100_001 for end in ends)
    return f"{few:,} to {f'{many:,}' if many <= 100_000 else '> 100,000'} over the effect's interval"


def _untested(tests: Sequence[Contrast | Lead], test: str) -> str:
    """Why there is no p at all; nothing where there is one."""
    if any(not math.isnan(one.p(test)) for one in tests):
        return ""
    contrasts = [each for one in tests for each in (one.contrasts if isinstance(one, Lead) else [one])]
    return f"Nothing was tested: {joined(sorted({one.tested(test).why for one in contrasts})) or 'there is no pair'}."


def _unit(metrics: Sequence[str], unit: str) -> str:
    """`in percent but for Popularity, `."""
    counts = list(dict.fromkeys(long_name(metric).partition("@")[0] for metric in metrics if scale(metric) != 100))
    return f"in {unit}{f' but for {joined(counts)}' if counts else ''}, "


def runs_table(results: Sequence[Result]) -> Table:
    """Every run in one row, for whoever computes on in pandas or R.

    A column is named by the way to its value in the run's JSON file: `test.best.recall@20`, `sampler.alpha`. Values are
    those of the file, shares as shares; what a run does not have is empty. The course of training is left out.
    """
    flat = [dict(_leaves(result.to_dict())) for result in results]
    order = list(results[0].to_dict()) if results else []
    columns = sorted({name: None for one in flat for name in one}, key=lambda name: order.index(name.partition(".")[0]))
    return Table("runs", "Every run", columns, [[_text(one.get(name)) for name in columns] for one in flat])


def _leaves(values: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and name not in LEFT_OUT:
            yield from _leaves(value, f"{under}{name}.")
        elif under or name not in LEFT_OUT:
            yield f"{under}{name}", value


def _text(value: Any) -> str:
    """As in JSON; a list of words with semicolons between."""
    if isinstance(value, list):
        return "; ".join(map(_text, value))
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
