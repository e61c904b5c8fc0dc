"""A comparison as figures, and as a whole report: a verdict, what to beware of, how it was made.

No sentence claims more than a test.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sahcns.lab.comparison.boards import READINGS, Board, Row, boards_of, own_versions
from sahcns.lab.comparison.naming import chance, frozen, joined, listed, long_name, number, ranked, scale
from sahcns.lab.comparison.statistics import (
    MARGIN,
    MIN_SEEDS,
    Contrast,
    Summary,
    Verdict,
    adjusted,
    leads,
    pairs,
    reference_of,
    summary,
    verdicts,
)
from sahcns.lab.comparison.tables import METRICS, comparison_tables
from sahcns.lab.grid.result import Result
from sahcns.lab.report.parts import Figure, Report, Section, Series, Table

HEADLINE = "recall@20"
DRAWN = ("recall@20", "ndcg@20")
VERSIONS = ("sahcns", "torch", "numpy", "python", "system")
TUNING = (
    "The tests know the luck of training, not that of tuning: a method with more tuned settings has an advantage that "
    "no test here corrects. They speak of this split and these users."
)


def comparison_report(
    results: Sequence[Result],
    *,
    metrics: Sequence[str] = METRICS,
    baseline: str | None = None,
    margin: float = MARGIN,
) -> Report:
    """A verdict, the main table and the metrics of each method first; then pairs, pool sizes, training and how it was made.

    The arguments are those of `comparison_tables`.
    """
    tables = comparison_tables(results, metrics=metrics, baseline=baseline, margin=margin)
    boards, gaps, held = boards_of(results), list[Figure](), list[str]()
    for board in boards:
        contrasts = pairs(board, metrics, baseline or reference_of(board))
        said = [verdict for verdict, _ in verdicts(contrasts, margin)]
        held += standings(list(zip(contrasts, said, strict=True)), metrics, margin)
        tested = list(zip(contrasts, adjusted(contrasts), strict=True))
        for place in board.places:
            gaps += differences([one for one in tested if one[0].place == place], ", ".join(place))
    at_20 = [metric for metric in metrics if metric.endswith("@20")] or metrics
    blocks: list[Table | Figure] = [*tables, *comparison_figures(results, metrics=at_20), *gaps]

    def named(*kinds: str) -> list[Table | Figure]:
        return [one for kind in kinds for one in blocks if one.name.startswith(kind)]

    sections = [
        Section("Results", named("comparison", "metrics")),
        Section("Pairs", named("pairwise", "differences")),
        Section("Pool size", named("pool")),
        Section("Training", named("epochs", "seconds")),
    ]
    says = [*filter(None, (verdict(board, metrics, baseline) for board in boards)), *held, *cautions(boards)]
    shown = [section for section in sections if section.blocks]
    return Report("A comparison of samplers", says, shown, facts(boards))


def verdict(board: Board, metrics: Sequence[str], baseline: str | None) -> str:
    """`sahc is better than every other method in Recall@20 on toys with lightgcn (p at most 0.003 after Holm).`"""
    headline = headline_of(metrics)
    gains = leads(board, metrics, baseline)
    winners: dict[str, list[tuple[str, float]]] = {}
    open_places = []
    for lead, p in zip(gains, adjusted(gains), strict=True):
        method, hardest, where = lead.second.first.method, lead.hardest, "{} with {}".format(*lead.second.place)
        if lead.second.metric == headline and lead.significant(p):
            winners.setdefault(method, []).append((where, p))
        elif lead.second.metric == headline:
            gap, why = hardest.paired.difference, hardest.tested("t").why
            if gap <= 0:  # more seeds of one than of the other can make its mean the higher one
                why = "no better on the seeds that both have"
            elif p == p:
                why = f"{number(100 * gap, sign=True)} points, p {chance(p)} after Holm"
            ahead = f"{method} leads in {long_name(headline)} on {where}, but is not shown to be better than"
            open_places.append(f"{ahead} {hardest.second.method} ({why})")
    clauses = [
        f"{method} is better than {baseline or 'every other method'} in {long_name(headline)} on "
        f"{joined([where for where, _ in on])} (p at most {chance(max(p for _, p in on))} after Holm)"
        for method, on in winners.items()
    ]
    return "; ".join([*clauses, *open_places]) + "." * bool(clauses or open_places)


def headline_of(metrics: Sequence[str]) -> str:
    """The metric that sentences speak of."""
    return HEADLINE if HEADLINE in metrics else next(filter(ranked, metrics), "")


def standings(said: Sequence[tuple[Contrast, Verdict]], metrics: Sequence[str], margin: float) -> list[str]:
    """`Held against sahc in Recall@20 on toys with lightgcn: dns is better, rns is worse, bns is not resolved.`"""
    headline, clauses = headline_of(metrics), dict[tuple[str, str, str], list[str]]()
    for one, verdict in said:
        if one.metric == headline and len(one.seeds) >= MIN_SEEDS:
            words = f"equivalent, within {margin:g} points" if verdict == "equivalent" else verdict
            clauses.setdefault((one.second.method, *one.place), []).append(f"{one.first.method} is {words}")
    return [
        f"Held against {method} in {long_name(headline)} on {data} with {backbone}: {', '.join(own)}."
        for (method, data, backbone), own in clauses.items()
    ]


def cautions(boards: Sequence[Board]) -> list[str]:
    """What a reader must know before believing any of it."""
    says = []
    if len(boards) > 1:
        says.append(f"These results were made under {len(boards)} different terms; do not compare across their tables.")
    if any(max(map(len, board.seeds)) == 1 for board in boards):
        says.append("With one seed a method cannot be told from the luck of its seed: these numbers rank nothing.")
    if any(len(board.seeds) > 1 for board in boards):
        says.append("Not all methods have the same seeds. Tests use those that both sides have.")
    results = [result for board in boards for result in board.results]
    for (label, _), codes in own_versions(results).items():
        if len(codes) > 1:
            rows = joined([f"code={code}" if code else "without" for code in codes])
            says.append(
                f"{label} was run with {len(codes)} versions of its own code, which are methods of their own here ({rows}). "
                "`sahcns report --samplers` shows the rows that it names, and leaves the others out."
            )
    if len({result.commit for result in results}) > 1:
        says.append("The results were not all made by the same sources; the commits are listed below.")
    return [*says, TUNING]


def facts(boards: Sequence[Board]) -> list[tuple[str, str]]:
    """Runs, data, protocol, versions, device, sources, and a command with all settings that makes it all again."""
    results = [result for board in boards for result in board.results]
    rows = [("Runs", f"{len(results)}, seeds {listed({result.seed for result in results})}")]
    for name, fingerprint in {name: mark for board in boards for name, mark in board.data.items()}.items():
        about = next(one.data for one in results if one.data["fingerprint"] == fingerprint)
        counts = [f"{about[key]:,} {key}" for key in ("users", "items", "train", "valid", "test") if key in about]
        rows.append((f"Data {name}", f"{', '.join(counts)}; fingerprint {fingerprint}"))
    for at, board in enumerate(boards, 1):
        name = f"Protocol {at}" if len(boards) > 1 else "Protocol"
        rows.append((name, f"{board.trained.removeprefix('protocol: ')}; kernels {board.terms.kernels}"))
    versions = (", ".join(f"{key} {one.machine[key]}" for key in VERSIONS if key in one.machine) for one in results)
    rows += [
        ("Versions", _counted(versions)),
        ("Device", _counted(str(one.machine.get("device", "unknown")) for one in results)),
        ("Commit", _counted(one.commit or "unknown" for one in results)),
        ("Training time", f"{sum(one.seconds.get('total', 0.0) for one in results):,.0f} seconds in all"),
    ]
    own = sorted({path for one in results for path in one.imports})
    rows += [("Own files", ", ".join(own))] if own else []
    return rows + [("To repeat it", repeat(board)) for board in boards]


def repeat(board: Board) -> str:
    """A command with the file that it reads, which says everything; one for each set where settings differ by set."""
    import yaml

    whole = _plan(board, list(board.data))
    labels = [part.get("label", part["name"]) for part in whole["samplers"]]
    tuned = len(set(labels)) < len(labels)
    plans = [_plan(board, [name]) for name in board.data] if tuned else [whole]
    texts = []
    for at, plan in enumerate(plans, 1):
        file = f"study-{at}.yaml" if len(plans) > 1 else "study.yaml"
        text = yaml.safe_dump(plan, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
        texts.append(f"sahcns compare --config {file} --out study\n\nwith {file}:\n\n{text}")
    return "\n".join(texts)


def _plan(board: Board, sets: list[str]) -> dict[str, Any]:
    """What `sahcns compare --config` reads."""
    runs = [(row, one) for (data, row), seeds in board.runs.items() if data in sets for one in seeds.values()]
    backbones: dict[str, Any] = {}
    for row, one in runs:
        backbones.setdefault(row.backbone, one.backbone)
    samplers = [
        {**({"label": row.method} if row.method != row.sampler else {}), **one.sampler, **_own_parts(board, one)}
        for row, one in runs
    ]
    plan: dict[str, Any] = {
        "data": sets,
        "seeds": sorted({one.seed for _, one in runs}),
        "backbones": list(backbones.values()),
        "samplers": list({frozen(sampler): sampler for sampler in samplers}.values()),
        "protocol": board.protocol,
    }
    if board.common.get("objective", "bpr") != "bpr":
        plan["objective"] = runs[0][1].objective
    if imports := sorted({path for _, one in runs for path in one.imports}):
        plan["import"] = imports
    if board.terms.kernels == "reference" or "-" in board.terms.kernels:  # `auto` finds the others on the machine
        plan["kernels"] = board.terms.kernels
    return plan


def _own_parts(board: Board, one: Result) -> dict[str, Any]:
    """What a run was trained with that not all have in common, as a row of such a file has it."""
    parts: dict[str, Any] = {}
    for name in (name for name in board.differing if name in one.around):
        word, _, argument = name.rpartition(".")
        if word in ("backbone", "protocol"):
            parts.setdefault(word, {})[argument] = one.around[name]
        else:
            parts["objective"] = one.objective
    return parts


def _counted(values: Iterable[str]) -> str:
    """The value, or each with the number of runs that have it."""
    counts = Counter(values)
    return next(iter(counts)) if len(counts) == 1 else "; ".join(f"{one} ({n} runs)" for one, n in counts.items())


def comparison_figures(results: Sequence[Result], *, metrics: Sequence[str] = DRAWN) -> list[Figure]:
    """For each protocol, set and backbone: learning curves, the metrics of each method, and pool sizes where they vary.

    `metrics` are those of the test part, for the bars and the pool sizes.
    """
    figures, boards = list[Figure](), boards_of(results)
    for at, board in enumerate(boards):
        for data, backbone in board.places:
            where = f"{data}, {backbone}" + (f", table {at + 1}" if len(boards) > 1 else "")
            figures += _curves(board, data, backbone, where)
            figures.append(_bars(board, data, backbone, where, metrics))
            figures += _pool_sizes(board, data, backbone, where, metrics)
    return figures


def _curves(board: Board, data: str, backbone: str, where: str) -> list[Figure]:
    """What epochs are picked by, over epochs and over seconds of training: mean over seeds, a band of one std.

    A curve ends where the first of its seeds stopped: beyond, the mean would be one of other seeds. Of all runs on the
    set, only those give seconds that shared the machine with the fewest.
    """
    by_epoch, by_second, timed = list[Series](), list[Series](), list[Result]()
    monitor = str(dict(board.terms.judged).get("monitor", "recall@20"))
    sharing = min(run.processes for (name, _), runs in board.runs.items() if name == data for run in runs.values())
    for row in board.of(data, backbone):
        runs = [run for run in board.seeds_of(data, row).values() if run.history.get("looks")]
        looks = [run.history["looks"] for run in runs]
        length = min((len(one.get(monitor, ())) for one in looks), default=0)
        if not length:
            continue
        values = scale(monitor) * np.array([one[monitor][:length] for one in looks])  # [seeds, looks]
        mean, spread = values.mean(0), values.std(0, ddof=1) if len(looks) > 1 else np.empty(0)
        low, high = ((mean + side * spread).tolist() if len(spread) else [] for side in (-1, 1))
        epochs = [float(epoch) for epoch in looks[0]["epoch"][:length]]
        curve = Series(row.method, epochs, mean.tolist(), low, high, row.sampler, variant=row.variant)
        by_epoch.append(curve)
        own = [run for run in runs if run.processes == sharing]
        if own:
            timed += own
            seconds = np.mean([run.look_seconds[:length] for run in own], 0).tolist()
            hints = [f"epoch {epoch:.0f}" for epoch in epochs]
            by_second.append(replace(curve, x=seconds, hints=hints))
    if not by_epoch:
        return []
    label = f"validation {long_name(monitor)}, %"
    caption = "Mean over seeds; the band is one standard deviation. A curve ends where the first of its seeds stopped."
    devices = " and ".join(sorted({str(run.machine.get("device", "?")) for run in timed}))
    shared = f", shared by {sharing} processes" if sharing > 1 else ""
    clock = f"{caption} Seconds are those of training alone, on {devices}{shared}: epochs times the median one."
    return [
        Figure(f"epochs {where}", f"Training over epochs: {where}", "epoch", label, by_epoch, caption=caption),
        Figure(f"seconds {where}", f"Training over time: {where}", "seconds", label, by_second, caption=clock),
    ]


def _bars(board: Board, data: str, backbone: str, where: str, metrics: Sequence[str]) -> Figure:
    """Each method's test metrics."""
    shown = [metric for metric in metrics if scale(metric) == 100] or list(metrics)
    cells = {row: [summary(board, data, row, metric) for metric in shown] for row in board.of(data, backbone)}
    names = [long_name(one) for one in shown]
    series = [_series(row.method, names, own, row.sampler, row.variant) for row, own in cells.items()]
    caption = (
        f"Mean over seeds {READINGS[board.reading]}. Whiskers are one standard deviation over seeds: they show the spread "
        "of single trainings and are no test of a difference; the tables have those."
    )
    unit = "%" if scale(shown[0]) == 100 else ""
    return Figure(f"metrics {where}", f"Test metrics: {where}", "", unit, series, kind="bar", caption=caption)


def _pool_sizes(board: Board, data: str, backbone: str, where: str, metrics: Sequence[str]) -> list[Figure]:
    """Each metric against the number of candidates, for samplers that were run with several and alike in all else."""
    families: dict[tuple[str, str], dict[int, Row]] = {}
    for row in board.of(data, backbone):
        settings = {**next(iter(board.seeds_of(data, row).values())).sampler, **board.around(data, row)}
        pool = settings.pop("pool", None)
        if isinstance(pool, int):
            families.setdefault((row.sampler, frozen(settings)), {})[pool] = row
    lines = [(sampler, dict(sorted(pools.items()))) for (sampler, _), pools in families.items() if len(pools) > 1]
    count = Counter(sampler for sampler, _ in lines)
    figures = []
    for metric in metrics if lines else ():
        series = []
        for sampler, pools in lines:
            name = sampler if count[sampler] == 1 else next(iter(pools.values())).method
            cells = [summary(board, data, row, metric) for row in pools.values()]
            series.append(_series(name, [float(pool) for pool in pools], cells, sampler))
        title, unit = f"{long_name(metric)} against the pool's size: {where}", ", %" if scale(metric) == 100 else ""
        x_label, y_label = "candidates in the pool", f"test {long_name(metric)}{unit}"
        caption = f"Mean over seeds {READINGS[board.reading]}; the band is one standard deviation."
        figures.append(Figure(f"pool {metric} {where}", title, x_label, y_label, series, caption=caption, x_log=True))
    return figures


def differences(tested: Sequence[tuple[Contrast, float]], where: str) -> list[Figure]:
    """Each method minus the reference, with the 95 % interval over seeds, in metrics of which more is better.

    Beside each contrast its p-value after Holm. None where no such interval is known.
    """
    known = [(one, p) for one, p in tested if ranked(one.metric) and one.paired.low == one.paired.low]
    series = []
    for row in dict.fromkeys(one.first for one, _ in known):
        own = [(one, p) for one, p in known if one.first == row]
        y, low, high = ([100 * getattr(one.paired, end) for one, _ in own] for end in ("difference", "low", "high"))
        names, hints = [long_name(one.metric) for one, _ in own], [f"after Holm p {chance(p)}" for _, p in own]
        series.append(Series(row.method, names, y, low, high, row.sampler, hints=hints, variant=row.variant))
    caption = (
        "Whiskers are 95 % intervals of the paired difference over seeds, each for itself: one in twenty misses the true "
        "difference. The table of pairs corrects for their number."
    )
    title = f"Each method minus {known[0][0].second.method if known else ''}: {where}"
    made = Figure(f"differences {where}", title, "", "percentage points", series, kind="bar", caption=caption)
    return [made] if known else []


def _series(name: str, x: Sequence[float | str], cells: Sequence[Summary], role: str, variant: int = 0) -> Series:
    """Means with one standard deviation to either side, none where every cell is of one seed."""
    means = [scale(one.metric) * one.mean for one in cells]
    stds = [scale(one.metric) * one.std if one.n > 1 else 0.0 for one in cells]
    band = list(zip(means, stds, strict=True)) if any(one.n > 1 for one in cells) else []
    low, high = [mean - std for mean, std in band], [mean + std for mean, std in band]
    hints = [
        f"{one.n} seed{'s' * (one.n > 1)}, {listed(one.seeds)}" + (f"; std {number(std)}" if one.n > 1 else "")
        for one, std in zip(cells, stds, strict=True)
    ]
    return Series(name, x, means, low, high, role, hints=hints, variant=variant)
