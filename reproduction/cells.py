"""A metric over seeds as a cell of a table."""

from sahcns.lab import Cell, Mark, Summary, listed, number


def shown(own: Summary | None, mark: Mark = "") -> Cell:
    """`13.24 ± 0.05`, with its seeds as a hint; a dash for what was not run."""
    if own is None or not own.n:
        return Cell("–", hint="not run")
    text = number(100 * own.mean) + (f" ± {number(100 * own.std)}" if own.n > 1 else "")
    return Cell(text, mark, hint=f"{own.n} seed{'s' * (own.n > 1)}: {listed(own.seeds)}")
