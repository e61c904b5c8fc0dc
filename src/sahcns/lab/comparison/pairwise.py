"""The table of pairs: each method against one that was fixed beforehand."""

from collections.abc import Sequence

from sahcns.lab.comparison.boards import Board
from sahcns.lab.comparison.captions import pairwise_caption
from sahcns.lab.comparison.contrasts import ALPHA, Contrast, adjusted, contrast, with_users
from sahcns.lab.comparison.naming import chance, listed, long_name, number, scale
from sahcns.lab.report.parts import Cell, Table


def reference_of(board: Board) -> str:
    """The method that others are held against unless told: the one called sahc, else one of that sampler, else the first.

    Not the winner: of many equal methods the luckiest differs from the unluckiest far more often than a test allows for.
    """
    samplers = {row.method: row.sampler for row in board.rows}
    same = [method for method, sampler in samplers.items() if sampler == "sahc"]
    return "sahc" if "sahc" in samplers else [*same, *samplers][0]


def pairs(
    board: Board, metrics: Sequence[str], against: str | None = None, reading: str = "best", part: str = "test"
) -> list[Contrast]:
    """Every other method minus the reference, on each set and backbone where both were run."""
    reference = against or reference_of(board)
    found = []
    for data, backbone in board.places:
        fixed = board.row(backbone, reference)
        if fixed is None or not board.seeds(data, fixed):
            continue
        for metric in metrics:
            for row in board.of(backbone):
                if row != fixed and board.seeds(data, row):
                    found.append(contrast(board, data, row, fixed, metric, reading, part))
    return found


def pairwise_table(
    board: Board,
    metrics: Sequence[str],
    against: str | None = None,
    reading: str = "best",
    part: str = "test",
    name: str = "pairwise",
    title: str = "",
) -> Table | None:
    """None where there is nothing to pair."""
    reference = against or reference_of(board)
    found = pairs(board, metrics, reference, reading, part)
    if not found:
        return None
    if (reading, part) == ("best", "test"):
        found = with_users(board, found)
    users = any(one.signed_rank is not None for one in found)
    several = [len(board.data) > 1, len(board.backbones) > 1]
    columns = [label for label, shown in zip(("Data", "Backbone"), several, strict=True) if shown]
    columns += ["Metric", "Method", ">Difference", ">95 % low", ">95 % high", ">p", ">Holm", ">d_z", ">Seeds needed"]
    columns += [">Wilcoxon", ">Bootstrap"] if users else []
    holm = adjusted(found)
    by_users = [adjusted(found, test) for test in ("wilcoxon", "bootstrap")]
    rows = []
    for at, one in enumerate(found):
        head = [text for text, shown in zip((one.data, one.first.backbone), several, strict=True) if shown]
        row: list[Cell | str] = [*head, long_name(one.metric), one.first.method, *seed_cells(one, holm[at])]
        rows.append(row + (user_cells(one, *(ps[at] for ps in by_users)) if users else []))
    unshared = sorted({seed for one in found for seed in one.unshared})
    tests = sum(p == p for p in holm)
    whys = {one.paired.why for one, p in zip(found, holm, strict=True) if p != p}
    caption = pairwise_caption(board, metrics, reference, tests, whys, users, unshared, reading)
    return Table(name, f"Each method against {reference}: {title}".removesuffix(": "), columns, rows, caption)


def seed_cells(one: Contrast, holm: float) -> list[Cell | str]:
    """Difference, its interval, p, Holm's p, d_z, seeds needed."""
    paired, factor = one.paired, scale(one.metric)
    seeds = f"{paired.n} seeds: {listed(one.seeds)}" if one.seeds else ""
    told = "; ".join(filter(None, [seeds, paired.why]))
    spread = "95 % from {} to {}".format(*(number(end, sign=True) for end in paired.effect_interval))
    known = paired.effect == paired.effect
    needed = "> 100,000" if paired.seeds is None else f"{paired.seeds:,}"
    return [
        Cell(number(factor * paired.difference, sign=True), hint=told),
        number(factor * paired.low, sign=True),
        number(factor * paired.high, sign=True),
        Cell(chance(paired.p), hint=paired.why),
        Cell(chance(holm), note="*" if holm < ALPHA else ""),
        Cell(number(paired.effect, sign=True), hint=spread if known else paired.why),
        Cell(needed if known and paired.effect else "–", hint=_range(one) if known else paired.why),
    ]


def user_cells(one: Contrast, wilcoxon: float, bootstrap: float) -> list[Cell | str]:
    """Holm's p of each test over users, its own p and the rest as a hint."""
    ranks, drawn, factor = one.signed_rank, one.bootstrap, scale(one.metric)
    if ranks is None or drawn is None:
        return [Cell("–", hint="no user's values were kept")] * 2
    shares = f"better for {ranks.better:.1%} and worse for {ranks.worse:.1%} of {ranks.users} users"
    ends = f"95 % from {number(factor * drawn.low, sign=True)} to {number(factor * drawn.high, sign=True)}"
    return [
        Cell(chance(wilcoxon), hint=ranks.why or f"p {chance(ranks.p)}; {shares}"),
        Cell(chance(bootstrap), hint=drawn.why or f"p {chance(drawn.p)}; {ends}"),
    ]


def _range(one: Contrast) -> str:
    """Seeds needed at both ends of what the effect may be: an effect seen in five seeds is hardly known."""
    from sahcns.ranking.significance import seeds_needed

    ends = one.paired.effect_interval
    if one.paired.why:
        return one.paired.why
    if ends[0] <= 0 <= ends[1]:
        fewest = seeds_needed(max(map(abs, ends)))
        return f"at least {fewest:,}; the effect's interval holds 0, for which no number is enough"
    few, many = sorted(seeds_needed(end) or 100_001 for end in ends)
    return f"{few:,} to {f'{many:,}' if many <= 100_000 else '> 100,000'} over the effect's interval"
