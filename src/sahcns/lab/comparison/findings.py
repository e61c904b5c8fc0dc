"""What a comparison shows, in sentences that claim no more than the tests do."""

from collections.abc import Sequence

from sahcns.lab.comparison.boards import Board, own_versions
from sahcns.lab.comparison.contrasts import ALPHA, Contrast, adjusted, leads
from sahcns.lab.comparison.naming import chance, joined, listed, long_name, number, ranked, scale
from sahcns.lab.comparison.pairwise import pairs, reference_of
from sahcns.lab.comparison.summaries import summary

HEADLINE = "recall@20"


def findings(
    board: Board,
    metrics: Sequence[str],
    baseline: str | None = None,
    against: str | None = None,
    reading: str = "best",
) -> list[str]:
    """For each set and backbone who leads and whether that is resolved; then each method against the reference."""
    headline = HEADLINE if HEADLINE in metrics else next(filter(ranked, metrics), None)
    if headline is None:
        return []
    told = []
    gains = leads(board, metrics, baseline, reading)
    ps = adjusted(gains)
    for place in board.places:
        own = {one.metric: (one, p) for one, p in zip(gains, ps, strict=True) if one.place == place}
        if headline in own:
            told.append(f"{', '.join(place)}: {_lead(board, *own[headline], reading)}{_others(own, headline)}")
    return told + _against(board, metrics, headline, against or baseline, reading)


def _lead(board: Board, one: Contrast, p: float, reading: str) -> str:
    best = summary(board, one.data, one.first, one.metric, reading)
    factor, paired = scale(one.metric), one.paired
    spread = f" ± {number(factor * best.std)} % over {best.n} seeds" if best.n > 1 else " % with one seed"
    text = f"{one.first.method} has the highest {long_name(one.metric)}, {number(factor * best.mean)}{spread}. "
    gain = f"Its lead over {one.second.method}, {number(factor * paired.difference, sign=True)} points"
    if p != p:
        return text + f"{gain}, was not tested: {paired.why}."
    if paired.why:  # identical
        return text + f"{one.second.method} is {paired.why}."
    known = f" (95 % from {number(factor * paired.low, sign=True)} to {number(factor * paired.high, sign=True)})"
    tested = f"p {chance(paired.p)}, after Holm {chance(p)}"
    if _resolved(one, p):
        return text + f"{gain}{known}, is resolved: {tested}."
    return text + f"{gain}{known}, is not resolved by {paired.n} seeds: {tested}. {_needed(one)}"


def _resolved(one: Contrast, p: float) -> bool:
    return p < ALPHA and one.paired.difference > 0


def _needed(one: Contrast) -> str:
    needed = one.paired.seeds
    if needed is None:
        return "No number of seeds up to 100000 would be likely to show a difference of this size."
    if needed <= one.paired.n:  # resolved by itself, but not after Holm
        return "Alone it would pass; among all the tests of this table it does not."
    return f"If it is as large as it looks, it takes about {needed} seeds to show it."


def _others(own: dict[str, tuple[Contrast, float]], headline: str) -> str:
    """` In Recall@10 and NDCG@20 mixgcf is first (not resolved).`: the other metrics, those that say the same together."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for metric, (one, p) in own.items():
        if metric != headline:
            groups.setdefault((one.first.method, _resolved(one, p)), []).append(long_name(metric))
    return "".join(
        f" In {joined(metrics)} {method} is first ({'' if resolved else 'not '}resolved)."
        for (method, resolved), metrics in groups.items()
    )


def _against(board: Board, metrics: Sequence[str], headline: str, against: str | None, reading: str) -> list[str]:
    """One sentence for each set and backbone: which methods are shown to differ from the reference, and which are not."""
    reference = against or reference_of(board)
    found = pairs(board, metrics, reference, reading)
    ps = adjusted(found)
    told = []
    for place in board.places:
        groups: dict[str, list[str]] = {"shown to be better": [], "shown to be worse": [], "not shown to differ": []}
        for one, p in zip(found, ps, strict=True):
            if one.place == place and one.metric == headline:
                sign = "better" if one.paired.difference > 0 else "worse"
                groups[f"shown to be {sign}" if p < ALPHA else "not shown to differ"].append(one.first.method)
        words = [
            f"{joined(methods)} {'is' if len(methods) == 1 else 'are'} {said}"
            for said, methods in groups.items()
            if methods
        ]
        if words:
            against_what = f"against {reference} in {long_name(headline)}"
            counted = f"Holm over {sum(p == p for p in ps)} tests"
            told.append(f"{', '.join(place)}: {against_what}, {joined(words)} ({counted}).")
    return told


def cautions(boards: Sequence[Board]) -> list[str]:
    """What a reader must know before believing any of it."""
    told = []
    if len(boards) > 1:
        told.append(
            f"These results were made under {len(boards)} different terms, stand in tables of their own, and must not be "
            "compared across them."
        )
    for board in boards:
        counts = {len(seeds) for seeds in board.runs.values()}
        if counts == {1}:
            told.append(
                "With one seed nothing separates a method from the luck of its seed: these numbers rank nothing."
            )
        elif len({tuple(sorted(seeds)) for seeds in board.runs.values()}) > 1:
            lacking = [
                f"{row.method} on {data} ({listed(sorted(seeds))})"
                for (data, row), seeds in board.runs.items()
                if len(seeds) < max(counts)
            ]
            less = f"; fewer have {joined(lacking)}" if lacking else ""
            told.append(f"Not all methods have the same seeds{less}. Tests use those that both sides have.")
    results = [result for board in boards for result in board.results]
    for (label, _), codes in own_versions(results).items():
        if len(codes) > 1:
            rows = joined([f"code={code}" if code else "without" for code in codes])
            told.append(
                f"{label} was run with {len(codes)} versions of its own code, which are methods of their own here ({rows}). "
                "`sahcns report --samplers` shows the rows that it names, and leaves the others out."
            )
    commits = {result.commit for result in results}
    if len(commits) > 1:
        told.append("The results were not all made by the same sources; the commits are listed below.")
    told.append(
        "The tests know the luck of training, not that of tuning: a method with more tuned settings has an advantage that "
        "no test here corrects. They speak of this split and these users."
    )
    return told
