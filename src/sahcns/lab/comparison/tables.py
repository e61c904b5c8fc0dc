"""A comparison as tables, and as a whole report: every method with its spread, each against a reference, every run."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sahcns.errors import SettingError
from sahcns.lab.comparison.boards import Board, boards_of, refuse_unknown
from sahcns.lab.comparison.figures import comparison_figures, differences
from sahcns.lab.comparison.naming import chance, listed, long_name, number, ranked, scale, short_name
from sahcns.lab.comparison.prose import cautions, facts, findings, heading, main_caption, pairwise_caption
from sahcns.lab.comparison.statistics import (
    ALPHA,
    TESTS,
    Contrast,
    Lead,
    Summary,
    adjusted,
    leads,
    leads_with_users,
    pairs,
    ranking,
    reference_of,
    summary,
    with_users,
)
from sahcns.lab.grid.result import Result
from sahcns.lab.report.parts import Cell, Figure, Mark, Report, Section, Table
from sahcns.ranking.effect_size import seeds_needed

METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
READINGS = ("best", "last", "both")
LEFT_OUT = ("format", "format_version", "history")  # of the table of runs


def comparison_tables(
    results: Sequence[Result],
    *,
    metrics: Sequence[str] = METRICS,
    baseline: str | None = None,
    against: str | None = None,
    reading: str = "best",
    test: str = "t",
    pairwise: bool = True,
) -> list[Table]:
    """For each protocol and kernels a table of all methods, as the paper's Table II, and one of pairs.

    metrics    columns, for each data set
    baseline   the one method that the best must beat for its *; every other one by default
    against    the method that each other one is tested against in the table of pairs; by default the baseline, else
               sahc, else the first: in any case fixed before the numbers are seen
    reading    "best" validation epoch, "last" epoch, or "both", one table after the other
    test       behind the *: "t" over seeds, or "wilcoxon" or "bootstrap" over users, which take the trainings as given
    """
    if reading not in READINGS:
        raise SettingError(f"reading={reading!r} is not known; choose one of {', '.join(READINGS)}")
    if test not in TESTS:
        raise SettingError(f"test={test!r} is not known; choose one of {', '.join(TESTS)}")
    if not metrics:
        raise SettingError("metrics is empty; give at least one, such as recall@20")
    boards = boards_of(results)
    refuse_unknown(boards, "baseline", baseline)
    refuse_unknown(boards, "against", against)
    tables = []
    for at, board in enumerate(boards):
        for which in ("best", "last") if reading == "both" else (reading,):
            ending = (f"-{at + 1}" if at else "") + ("-last" if which == "last" else "")
            over = heading(boards, at, which)
            tables.append(main_table(board, metrics, baseline, which, test, f"comparison{ending}", over))
            if pairwise:
                pair_table = pairwise_table(board, metrics, against or baseline, which, f"pairwise{ending}", over)
                tables += [pair_table] if pair_table else []
    return tables


def main_table(
    board: Board,
    metrics: Sequence[str],
    baseline: str | None = None,
    reading: str = "best",
    test: str = "t",
    name: str = "comparison",
    title: str = "",
) -> Table:
    """Rows are backbone × method; columns the metrics of each set; best bold, second underlined, * for a tested lead."""
    gains = leads(board, metrics, baseline, reading)
    if test != "t" and reading == "best":
        gains = leads_with_users(board, gains, test)
    keys = ((one.second.data, one.second.first, one.second.metric) for one in gains)
    stars = dict(zip(keys, zip(gains, adjusted(gains, test), strict=True), strict=True))
    firsts = {
        (data, backbone, metric): _first_two(board, data, backbone, metric, reading)
        for data, backbone in board.places
        for metric in filter(ranked, metrics)
    }
    uneven = len({tuple(sorted(board.seeds(data, row))) for data, row in board.runs}) > 1
    several = len(board.backbones) > 1
    rows = []
    for row in board.rows:
        cells: list[Cell | str] = [*([row.backbone] if several else []), row.method]
        if uneven:
            counts = sorted({len(board.seeds(data, row)) for data in board.data})
            cells.append("–".join(map(str, dict.fromkeys((counts[0], counts[-1])))))
        for data in board.data:
            for metric in metrics:
                one = summary(board, data, row, metric, reading)
                two = firsts.get((data, row.backbone, metric), [])
                cells.append(_cell(one, two, stars.get((data, row, metric)), test))
        rows.append(cells)
    columns = [*(["Backbone"] if several else []), "Method", *([">Seeds"] if uneven else [])]
    heads = {data: f"{data} · " if len(board.data) > 1 else "" for data in board.data}
    columns += [f">{heads[data]}{short_name(metric)}" for data in board.data for metric in metrics]
    return Table(name, title, columns, rows, main_caption(board, metrics, gains, baseline, reading, test))


def _first_two(board: Board, data: str, backbone: str, metric: str, reading: str) -> list[float]:
    """The highest mean and the next lower one, which methods may share; nothing where one method stands alone."""
    order = ranking(board, data, backbone, metric, reading)
    means = dict.fromkeys(summary(board, data, row, metric, reading).mean for row in order)
    return list(means)[:2] if len(order) > 1 else []


def _cell(one: Summary, two: Sequence[float], star: tuple[Lead, float] | None, test: str) -> Cell:
    if not one.n:
        return Cell("–", hint="not run")
    broken = [seed for seed, value in zip(one.seeds, one.values, strict=True) if not math.isfinite(value)]
    if broken:
        return Cell("–", hint=f"not a number with seed {listed(broken)}")
    factor = scale(one.metric)
    text = number(factor * one.mean) + (f" ± {number(factor * one.std)}" if one.n > 1 else "")
    marks: dict[float, Mark] = dict(zip(two, ("best", "second"), strict=False))
    hint = f"seeds {listed(one.seeds)}: {', '.join(number(factor * value, 3) for value in one.values)}"
    note = ""
    if star is not None:
        lead, p = star
        second = lead.second
        hint += f"; {number(factor * second.paired.difference, 3, sign=True)} over {second.second.method}, "
        hint += f"largest {test} p {chance(lead.p(test))}, after Holm {chance(p)}" if p == p else "not tested"
        note = "*" if lead.significant(p) else ""
    return Cell(text, marks.get(one.mean, ""), note, hint)


def pairwise_table(
    board: Board,
    metrics: Sequence[str],
    against: str | None = None,
    reading: str = "best",
    name: str = "pairwise",
    title: str = "",
) -> Table | None:
    """Each method against one that was fixed beforehand; None where there is nothing to pair."""
    reference = against or reference_of(board)
    contrasts = pairs(board, metrics, reference, reading)
    if not contrasts:
        return None
    if reading == "best":
        contrasts = with_users(board, contrasts)
    users = any(one.signed_rank is not None for one in contrasts)
    several = [len(board.data) > 1, len(board.backbones) > 1]
    columns = [label for label, shown in zip(("Data", "Backbone"), several, strict=True) if shown]
    columns += ["Metric", "Method", ">Difference", ">95 % low", ">95 % high", ">p", ">Holm", ">d_z", ">Seeds needed"]
    columns += [">Wilcoxon", ">Bootstrap"] if users else []
    ps = zip(*(adjusted(contrasts, test) for test in TESTS), strict=True)
    rows = []
    for one, (holm, *by_users) in zip(contrasts, ps, strict=True):
        row: list[Cell | str] = [text for text, shown in zip(one.place, several, strict=True) if shown]
        row += [long_name(one.metric), one.first.method, *_seed_cells(one, holm)]
        rows.append(row + (_user_cells(one, *by_users) if users else []))
    caption = pairwise_caption(board, metrics, reference, contrasts, users, reading)
    return Table(name, f"Each method against {reference}: {title}".removesuffix(": "), columns, rows, caption)


def _seed_cells(one: Contrast, holm: float) -> list[Cell | str]:
    """Difference, its interval, p, Holm's p, d_z, seeds needed."""
    paired, factor = one.paired, scale(one.metric)
    seeds = f"seeds {listed(one.seeds)}" if one.seeds else ""
    known = paired.effect == paired.effect
    spread = "95 % from {} to {}".format(*(number(end, sign=True) for end in paired.effect_interval))
    needed = "> 100,000" if paired.seeds is None else f"{paired.seeds:,}"
    return [
        Cell(number(factor * paired.difference, sign=True), hint="; ".join(filter(None, [seeds, paired.why]))),
        number(factor * paired.low, sign=True),
        number(factor * paired.high, sign=True),
        Cell(chance(paired.p), hint=paired.why),
        Cell(chance(holm), note="*" if holm < ALPHA else "", hint="" if holm == holm else one.why_not("t")),
        Cell(number(paired.effect, sign=True), hint=spread if known else paired.why),
        Cell(needed if known and paired.effect else "–", hint=_seeds_range(one) if known else paired.why),
    ]


def _user_cells(one: Contrast, wilcoxon: float, bootstrap: float) -> list[Cell | str]:
    """Holm's p of each test over users, its own p and the rest as a hint."""
    ranks, draws, factor = one.signed_rank, one.bootstrap, scale(one.metric)
    if ranks is None or draws is None:
        return [Cell("–", hint="no user's values were kept")] * 2
    shares = f"better for {ranks.better:.1%} and worse for {ranks.worse:.1%} of {ranks.users} users"
    ends = f"95 % from {number(factor * draws.low, sign=True)} to {number(factor * draws.high, sign=True)}"
    return [
        Cell(chance(wilcoxon), hint=ranks.why or f"p {chance(ranks.p)}; {shares}"),
        Cell(chance(bootstrap), hint=draws.why or f"p {chance(draws.p)}; {ends}"),
    ]


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


def comparison_report(
    results: Sequence[Result],
    title: str = "A comparison of samplers",
    *,
    metrics: Sequence[str] = METRICS,
    baseline: str | None = None,
    against: str | None = None,
    reading: str = "best",
    test: str = "t",
    command: str = "",
) -> Report:
    """A verdict, the main table and the metrics of each method first; then pairs, pool sizes, training and how it was made.

    The arguments are those of `comparison_tables`; `command` is the one that made the results, where it is known.
    """
    tables = comparison_tables(results, metrics=metrics, baseline=baseline, against=against, reading=reading, test=test)
    boards, which = boards_of(results), "last" if reading == "last" else "best"
    sentences = [findings(board, metrics, baseline, against, which) for board in boards]
    verdicts, details = (
        [verdict for verdict, _ in sentences if verdict],
        [text for _, texts in sentences for text in texts],
    )
    gaps: list[Figure] = []
    for board in boards:
        contrasts = pairs(board, metrics, against or baseline, which)
        ps = adjusted(contrasts)
        for place in board.places:
            here = [at for at, one in enumerate(contrasts) if one.place == place]
            gap = differences([contrasts[at] for at in here], [ps[at] for at in here], ", ".join(place))
            gaps += [gap] if gap else []
    at_20 = [metric for metric in metrics if metric.endswith("@20")] or metrics
    figures = comparison_figures(results, metrics=at_20, reading=which)

    def named(kind: str) -> list[Table | Figure]:
        blocks: list[Table | Figure] = [*tables, *figures]
        return [one for one in blocks if one.name.startswith(kind)]

    sections = [
        Section("Results", [*named("comparison"), *named("metrics")]),
        Section("Pairs", [*named("pairwise"), *gaps]),
        Section("Pool size", named("pool")),
        Section("Training", [*named("epochs"), *named("seconds")]),
    ]
    says = [*verdicts, *details, *cautions(boards)]
    return Report(title, says, [section for section in sections if section.blocks], facts(boards, command))


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
        if not under and name in LEFT_OUT:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", value


def _text(value: Any) -> str:
    """As in JSON; a list of words with semicolons between."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)
