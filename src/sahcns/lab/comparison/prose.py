"""A comparison in words: captions of its tables, what it shows, and how it was made. No sentence claims more than a test."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sahcns.lab.comparison.boards import Board, own_versions
from sahcns.lab.comparison.naming import chance, frozen, joined, listed, long_name, number, ranked, scale, short_name
from sahcns.lab.comparison.statistics import (
    ALPHA,
    MIN_SEEDS,
    Contrast,
    Lead,
    adjusted,
    leads,
    pairs,
    reference_of,
    summary,
)
from sahcns.lab.grid.result import Result, Terms, terms_differ

HEADLINE = "recall@20"
READ = {"best": "at the best validation epoch", "last": "at the last epoch, where training stopped"}
HOW = {
    "t": "two-sided paired t-test over the seeds that both have",
    "wilcoxon": "two-sided Wilcoxon signed-rank test over users, each user's value averaged over the seeds that both have",
    "bootstrap": "two-sided paired bootstrap over users, each user's value averaged over the seeds that both have",
}
GIVEN = (
    "A test over users takes these very trainings as given: it says whether they serve the users differently, not whether "
    "other trainings would. Whatever luck of a training all users share it takes for a difference of the methods, the more "
    "surely the more users there are."
)
VERSIONS = ("sahcns", "torch", "numpy", "python", "system")


# Captions


def heading(boards: Sequence[Board], at: int, reading: str) -> str:
    """Of one board's tables: its sets and backbones, how it was read, and how it differs from the first board."""
    board = boards[at]
    parts = [", ".join(board.data), *([board.backbones[0]] if len(board.backbones) == 1 else [])]
    parts += ["last epoch"] if reading == "last" else []
    parts += ["; ".join(terms_differ(_terms(boards[0]), _terms(board)))] if at else []
    return ", ".join(parts)


def main_caption(
    board: Board,
    metrics: Sequence[str],
    gains: Sequence[Lead],
    baseline: str | None,
    reading: str,
    test: str,
) -> str:
    """How to read the cells, the marks and the stars, and under which terms they were made."""
    says = [f"{_over_seeds(board)}, {_unit(metrics, 'percent')}on the test part {READ[reading]}."]
    if any(map(ranked, metrics)) and len(board.methods) > 1:
        says.append("Best bold, second underlined" + (", for each backbone." if len(board.backbones) > 1 else "."))
    tested = sum(one.p(test) == one.p(test) for one in gains)
    if tested:
        rival = baseline or "every other method"
        each = "" if baseline else ", against each of them"
        counted = f" after Holm's correction over the {tested} columns tested" if tested > 1 else ""
        says.append(
            f"* the best is better than {rival}: {HOW[test]}{each}, p < 0.05{counted}, {MIN_SEEDS} seeds or more."
        )
        says += [GIVEN] if test != "t" else []
    elif gains:
        reasons = {one.why_not(test) for lead in gains for one in lead.contrasts if one.p(test) != one.p(test)}
        says.append("Nothing was tested: " + joined(sorted(reasons)) + ".")
    short = {short_name(metric).partition("@")[0]: long_name(metric).partition("@")[0] for metric in metrics}
    if explained := ", ".join(f"{one} is {other}" for one, other in short.items() if one != other):
        says.append(explained + ".")
    return " ".join([*says, f"Terms: {board}."])


def pairwise_caption(
    board: Board, metrics: Sequence[str], reference: str, contrasts: Sequence[Contrast], users: bool, reading: str
) -> str:
    """What each column of the table of pairs says."""
    says = [f"Difference: the method minus {reference}, {_unit(metrics, 'percentage points')}{READ[reading]}"]
    tests = sum(one.p("t") == one.p("t") for one in contrasts)
    if tests:
        counted = f"corrected over the {tests} tests of this table" if tests > 1 else "the same, as there is one test"
        says[0] += (
            f"; its 95 % interval and p are those of the {HOW['t']}. Holm: p {counted}, where there are {MIN_SEEDS} seeds or "
            "more; * below 0.05. d_z: the difference divided by its standard deviation over seeds. Seeds needed: how many it "
            "takes to find a difference of this size with a chance of 0.8 at p < 0.05, if it is as large as it looks."
        )
    else:
        says[0] += f". Nothing was tested over seeds: {joined(sorted({one.why_not('t') for one in contrasts}))}."
    if unshared := sorted({seed for one in contrasts for seed in one.unshared}):
        says.append(f"Seeds that only one of a pair has are left out: {listed(unshared)}.")
    if users:
        says.append(
            "Wilcoxon, Bootstrap: p of these tests over users, each corrected by Holm over its column. " + GIVEN
        )
    return " ".join([*says, f"Terms: {board}."])


def _unit(metrics: Sequence[str], unit: str) -> str:
    """`in percent but for Popularity, `; nothing where nothing is in percent."""
    counts = list(dict.fromkeys(long_name(metric).partition("@")[0] for metric in metrics if scale(metric) != 100))
    if all(scale(metric) != 100 for metric in metrics):
        return ""
    return f"in {unit}{f' but for {joined(counts)}' if counts else ''}, "


def _over_seeds(board: Board) -> str:
    seeds = {tuple(sorted(runs)) for runs in board.runs.values()}
    if max(map(len, seeds)) == 1:
        return "One seed"
    if len(seeds) == 1:
        (own,) = seeds
        return f"Mean ± standard deviation over {len(own)} seeds ({listed(own)})"
    several = " (Seeds: how many, from the set with the fewest to the one with the most)" * (len(board.data) > 1)
    return f"Mean ± standard deviation over the seeds that were run, which are not the same for all{several}"


def _terms(board: Board) -> Terms:
    name, fingerprint = next(iter(board.data.items()))
    return Terms(fingerprint, board.protocol, board.kernels, name)


# What it shows


def findings(
    board: Board, metrics: Sequence[str], baseline: str | None = None, against: str | None = None, reading: str = "best"
) -> tuple[str, list[str]]:
    """The verdict in one sentence; then for each set and backbone who leads, and each method against the reference."""
    headline = HEADLINE if HEADLINE in metrics else next(filter(ranked, metrics), None)
    gains = leads(board, metrics, baseline, reading) if headline else []
    if headline is None or not gains:
        return "", []
    first = [(one, p) for one, p in zip(gains, adjusted(gains), strict=True) if one.second.metric == headline]
    details = [f"{', '.join(lead.second.place)}: {_lead(board, lead, p, reading)}" for lead, p in first]
    details += _against_reference(board, metrics, headline, against or baseline, reading)
    return _verdict(first, headline, baseline), details


def _verdict(first: Sequence[tuple[Lead, float]], headline: str, baseline: str | None) -> str:
    """`sahc is best in Recall@20: better than every other method on toys with lightgcn (largest p 0.003 after Holm).`"""
    winners: dict[str, list[str]] = {}
    open_places = []
    for lead, p in first:
        where = "{} with {}".format(*lead.second.place)
        if lead.significant(p):
            winners.setdefault(lead.second.first.method, []).append(where)
        else:
            open_places.append((where, lead, p))
    rival = baseline or "every other method"
    says = [
        f"{method} is better than {rival} in {long_name(headline)} on {joined(on)}" for method, on in winners.items()
    ]
    if winners and not open_places:
        largest = max(p for _, p in first)
        return f"{joined(says)} (p at most {chance(largest)} after Holm)."
    for where, lead, p in open_places:
        one = lead.hardest
        reason = one.why_not("t") if p != p else _behind(one) or f"p {chance(p)} after Holm"
        ahead = f"{one.first.method} leads in {long_name(headline)} on {where}, but is not shown to be better than"
        says.append(f"{ahead} {one.second.method} ({reason})")
    return "; ".join(says) + "."


def _lead(board: Board, lead: Lead, p: float, reading: str) -> str:
    second, hardest = lead.second, lead.hardest
    best, factor = summary(board, second.data, second.first, second.metric, reading), scale(second.metric)
    spread = f" ± {number(factor * best.std)} % over {best.n} seeds" if best.n > 1 else " % with one seed"
    text = f"{second.first.method} has the highest {long_name(second.metric)}, {number(factor * best.mean)}{spread}."
    paired = second.paired
    interval = f" (95 % from {number(factor * paired.low, sign=True)} to {number(factor * paired.high, sign=True)})"
    known = interval if paired.low == paired.low else ""
    text += f" Its lead over {second.second.method} is {number(factor * paired.difference, sign=True)} points{known}."
    if p != p:
        return f"{text} Against {hardest.second.method} it was not tested: {hardest.why_not('t')}."
    others = f"all {len(lead.contrasts)} others" if len(lead.contrasts) > 1 else second.second.method
    if lead.significant(p):
        return f"{text} It is significant against {others}: p at most {chance(lead.p('t'))}, after Holm {chance(p)}."
    reason = _behind(hardest) or f"p {chance(hardest.p('t'))}, after Holm {chance(p)}"
    return f"{text} It is not significant against {hardest.second.method}: {reason}."


def _behind(one: Contrast) -> str:
    """More seeds of one method than of the other can make its mean the higher one."""
    return "no better on the seeds that both have" if one.paired.difference <= 0 else ""


def _against_reference(
    board: Board, metrics: Sequence[str], headline: str, against: str | None, reading: str
) -> list[str]:
    """One sentence for each set and backbone: which methods are shown to differ from the reference, and which are not."""
    reference = against or reference_of(board)
    contrasts = pairs(board, metrics, reference, reading)
    ps = adjusted(contrasts)
    sentences = []
    for place in board.places:
        groups: dict[str, list[str]] = {"shown to be better": [], "shown to be worse": [], "not shown to differ": []}
        for one, p in zip(contrasts, ps, strict=True):
            if one.place == place and one.metric == headline:
                sign = "better" if one.paired.difference > 0 else "worse"
                groups[f"shown to be {sign}" if p < ALPHA else "not shown to differ"].append(one.first.method)
        words = [f"{joined(own)} {'is' if len(own) == 1 else 'are'} {what}" for what, own in groups.items() if own]
        if words:
            counted = f"Holm over {sum(p == p for p in ps)} tests"
            sentences.append(
                f"{', '.join(place)}: against {reference} in {long_name(headline)}, {joined(words)} ({counted})."
            )
    return sentences


def cautions(boards: Sequence[Board]) -> list[str]:
    """What a reader must know before believing any of it."""
    says = []
    if len(boards) > 1:
        says.append(f"These results were made under {len(boards)} different terms; do not compare across their tables.")
    for board in boards:
        counts = {len(seeds) for seeds in board.runs.values()}
        if counts == {1}:
            says.append("With one seed a method cannot be told from the luck of its seed: these numbers rank nothing.")
        elif len({tuple(sorted(seeds)) for seeds in board.runs.values()}) > 1:
            lacking = [
                f"{row.method} on {data} ({listed(sorted(seeds))})"
                for (data, row), seeds in board.runs.items()
                if len(seeds) < max(counts)
            ]
            less = f"; fewer have {joined(lacking)}" if lacking else ""
            says.append(f"Not all methods have the same seeds{less}. Tests use those that both sides have.")
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
    says.append(
        "The tests know the luck of training, not that of tuning: a method with more tuned settings has an advantage that "
        "no test here corrects. They speak of this split and these users."
    )
    return says


# How it was made


def facts(boards: Sequence[Board], command: str = "") -> list[tuple[str, str]]:
    """Runs, data, protocol, settings, versions, device, sources, and a command that makes it all again."""
    results = [result for board in boards for result in board.results]
    rows = [("Runs", f"{len(results)}, seeds {listed(sorted({result.seed for result in results}))}")]
    for name, fingerprint in {name: mark for board in boards for name, mark in board.data.items()}.items():
        about = next(one.data for one in results if one.data["fingerprint"] == fingerprint)
        counts = [f"{about[key]:,} {key}" for key in ("users", "items", "train", "valid", "test") if key in about]
        rows.append((f"Data {name}", f"{', '.join(counts)}; fingerprint {fingerprint}"))
    for at, board in enumerate(boards, 1):
        protocol = ", ".join(f"{name} {value}" for name, value in board.protocol)
        rows.append((f"Protocol {at}" if len(boards) > 1 else "Protocol", f"{protocol}; kernels {board.kernels}"))
    rows += _settings("Backbone", [(one.backbone["name"], one.backbone) for one in results])
    rows += _settings("Sampler", [(one.label, one.sampler) for one in results])
    rows += [
        ("Versions", _counted(_versions(one) for one in results)),
        ("Device", _counted(str(one.machine.get("device", "unknown")) for one in results)),
        ("Commit", _counted(one.commit or "unknown" for one in results)),
        ("Training time", f"{sum(one.seconds.get('total', 0.0) for one in results):,.0f} seconds in all"),
    ]
    own = sorted({path for one in results for path in one.imports})
    rows += [("Own files", ", ".join(own))] if own else []
    return rows + [("To repeat it", text) for text in ([command] if command else map(repeat, boards))]


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
    labels = [{} if row.method == one.sampler["name"] else {"label": row.method} for row, one in runs]
    samplers = [{**label, **one.sampler} for label, (_, one) in zip(labels, runs, strict=True)]
    plan: dict[str, Any] = {
        "data": sets,
        "seeds": sorted({one.seed for _, one in runs}),
        "backbones": list({frozen(one.backbone): one.backbone for _, one in runs}.values()),
        "samplers": list({frozen(sampler): sampler for sampler in samplers}.values()),
        "protocol": dict(board.protocol),
    }
    if imports := sorted({path for _, one in runs for path in one.imports}):
        plan["import"] = imports
    if board.kernels == "reference" or "-" in board.kernels:  # the others are what `auto` finds on the machine
        plan["kernels"] = board.kernels
    return plan


def _settings(what: str, parts: Iterable[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, str]]:
    """`Sampler sahc`: `pool 5, 10, 20; alpha 0.3`, every value that some run has."""
    values: dict[str, dict[str, dict[str, None]]] = {}
    for label, part in parts:
        for key, value in part.items():
            if (key, value) != ("name", label):
                values.setdefault(label, {}).setdefault(key, {})[str(value)] = None
    return [
        (f"{what} {label}", "; ".join(f"{key} {', '.join(own)}" for key, own in settings.items()))
        for label, settings in values.items()
    ]


def _versions(result: Result) -> str:
    return ", ".join(f"{key} {result.machine[key]}" for key in VERSIONS if key in result.machine)


def _counted(values: Iterable[str]) -> str:
    """The value, or each with the number of runs that have it."""
    counts = Counter(values)
    return next(iter(counts)) if len(counts) == 1 else "; ".join(f"{one} ({n} runs)" for one, n in counts.items())
