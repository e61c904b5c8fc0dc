"""What stands above and below the tables: what was measured, on what, and exactly what was tested."""

from collections.abc import Sequence

from sahcns.lab.comparison.boards import Board
from sahcns.lab.comparison.contrasts import Contrast
from sahcns.lab.comparison.naming import joined, listed, long_name, ranked, scale, short_name
from sahcns.lab.grid.result import Terms, terms_differ

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


def heading(boards: Sequence[Board], at: int, reading: str) -> str:
    """Of one board's tables: its sets and backbones, how it was read, and how it differs from the first board."""
    board = boards[at]
    parts = [", ".join(board.data), *([board.backbones[0]] if len(board.backbones) == 1 else [])]
    if reading == "last":
        parts.append("last epoch")
    if at:
        parts.append("; ".join(terms_differ(_terms(boards[0]), _terms(board))))
    return ", ".join(parts)


def main_caption(
    board: Board,
    metrics: Sequence[str],
    gains: Sequence[Contrast],
    baseline: str | None,
    reading: str,
    test: str,
    part: str,
) -> str:
    """How to read the cells, the marks and the stars, and under which terms they were made."""
    says = [f"{_over_seeds(board)}, {_unit(metrics, 'percent')}on the {part} part {READ[reading]}."]
    if any(map(ranked, metrics)) and len(board.methods) > 1:
        says.append("Best bold, second underlined" + (", for each backbone." if len(board.backbones) > 1 else "."))
    tested = sum(one.p(test) == one.p(test) for one in gains)
    if tested:
        rival = f"than {baseline}" if baseline else "than the strongest other method"
        counted = f"after Holm's correction over the {tested} such tests of this table" if tested > 1 else ""
        says.append(f"* the best is better {rival}: {HOW[test]}, p < 0.05 {counted}".rstrip() + ".")
        says += [GIVEN] if test != "t" else []
    elif gains:
        says.append("Nothing was tested: " + joined(sorted({_why(one, test) for one in gains})) + ".")
    short = {short_name(metric).partition("@")[0]: long_name(metric).partition("@")[0] for metric in metrics}
    says += [", ".join(f"{one} is {other}" for one, other in short.items() if one != other) + "."] * any(
        one != other for one, other in short.items()
    )
    return " ".join([*says, f"Terms: {board}."])


def pairwise_caption(
    board: Board,
    metrics: Sequence[str],
    reference: str,
    tests: int,
    whys: set[str],
    users: bool,
    unshared: Sequence[int],
    reading: str,
) -> str:
    """What each column of the table of pairs says."""
    says = [f"Difference: the method minus {reference}, {_unit(metrics, 'percentage points')}{READ[reading]}"]
    if tests:
        counted = f"corrected over the {tests} tests of this table" if tests > 1 else "the same, as there is one test"
        says[0] += (
            f"; its 95 % interval and p are those of the {HOW['t']}. Holm: p {counted}. d_z: the difference divided by "
            "its standard deviation over seeds. Seeds needed: how many it takes to find a difference of this size with "
            "a chance of 0.8 at p < 0.05, if it is as large as it looks."
        )
    else:
        says[0] += f". Nothing was tested over seeds: {joined(sorted(whys))}."
    if unshared:
        says.append(f"Seeds that only one of a pair has are left out: {listed(unshared)}.")
    if users:
        says.append(
            "Wilcoxon, Bootstrap: p of these tests over users, each corrected by Holm over its column. " + GIVEN
        )
    return " ".join([*says, f"Terms: {board}."])


def _unit(metrics: Sequence[str], unit: str) -> str:
    """`in percent, `, with what is none; nothing where nothing is."""
    counts = list(dict.fromkeys(long_name(metric).partition("@")[0] for metric in metrics if scale(metric) != 100))
    if not any(scale(metric) == 100 for metric in metrics):
        return ""
    return f"in {unit}{f' but for {joined(counts)}' if counts else ''}, "


def _over_seeds(board: Board) -> str:
    found = {tuple(sorted(seeds)) for seeds in board.runs.values()}
    most = max(map(len, found))
    if most == 1:
        return "One seed"
    if len(found) == 1:
        return f"Mean ± standard deviation over {most} seeds ({listed(next(iter(found)))})"
    said = "Mean ± standard deviation over the seeds that were run, which are not the same for all"
    return said + (" (Seeds: how many, from the set with the fewest to the one with the most)" * (len(board.data) > 1))


def _why(one: Contrast, test: str) -> str:
    if test == "t":
        return one.paired.why
    found = one.signed_rank if test == "wilcoxon" else one.bootstrap
    return "no user's values were kept" if found is None else found.why


def _terms(board: Board) -> Terms:
    name, fingerprint = next(iter(board.data.items()))
    return Terms(fingerprint, board.protocol, board.kernels, name)
