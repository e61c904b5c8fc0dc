"""Where each course of Fig. 4 is highest, and which other values are told apart from there."""

from collections.abc import Mapping

from reproduction.sections.choices import change
from sahcns.lab import ALPHA, Cell, Summary, Table, holm, joined, long_name, number

Course = tuple[str, str, str]
"""Name of the set, letter of the argument, metric."""


def peaks_table(found: Mapping[Course, Mapping[float, Summary]]) -> Table | None:
    """A row for each course of more than one value; None where there is none."""
    rows: list[list[Cell | str]] = []
    for (name, letter, metric), course in found.items():
        if len(course) < 2:
            continue
        top = max(course, key=lambda value: course[value].mean)
        others = [value for value in course if value != top]
        ps = dict(zip(others, holm([change(course[value], course[top]).p for value in others]), strict=True))
        below = [f"{value:g}" for value in others if ps[value] < ALPHA]
        same = [f"{value:g}" for value in others if not ps[value] < ALPHA]
        least = min(course.values(), key=lambda one: one.mean)
        rows.append(
            [
                f"{name}, {long_name(metric)}",
                letter,
                f"{top:g}",
                number(100 * course[top].mean),
                number(100 * least.mean),
                joined(below) if below else "none",
                joined(same) if same else "none",
                str(course[top].n),
            ]
        )
    if not rows:
        return None
    return Table(
        "figure-4",
        "Where each course is highest",
        ["Data and metric", "argument", ">highest at", ">there", ">lowest", "told apart", "not told apart", ">seeds"],
        rows,
        "On the test part at the best validation epoch, in percent. told apart: values whose difference from the highest has "
        "p < 0.05 in a paired t-test over seeds, after Holm over the row. The highest is picked by the same runs, and so few "
        "seeds find only large differences: what is not told apart is not shown to be equal.",
    )
