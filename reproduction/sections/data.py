"""Table I: our sets beside the paper's."""

from reproduction.evidence import Evidence
from reproduction.published import TABLE_1
from sahcns.lab import Cell, Section, Table

COUNTS = ("users", "items", "interactions")


def counts(evidence: Evidence, data: str) -> tuple[int, int, int] | None:
    """Users, items and pairs of a set, from the runs on it."""
    about = evidence.about(data)
    if about is None:
        return None
    return about["users"], about["items"], sum(about[part] for part in ("train", "valid", "test"))


def _difference(count: int) -> str:
    return f"{count:+,}" if count else "0"


def data_section(evidence: Evidence) -> Section:
    rows: list[list[Cell | str]] = []
    missing = []
    for one in evidence.design.sets:
        ours = counts(evidence, one.folder)
        if ours is None:
            missing.append(one.name)
            continue
        about = evidence.about(one.folder)
        assert about is not None
        theirs = TABLE_1[one.like] if one.printed else None
        row: list[Cell | str] = [one.name]
        for at, own in enumerate(ours):
            row += [f"{own:,}", f"{theirs[at]:,}" if theirs else "–", _difference(own - theirs[at]) if theirs else "–"]
        row.append(f"{100 * ours[2] / (ours[0] * ours[1]):.3f} %")
        row.append(f"{100 * theirs[2] / (theirs[0] * theirs[1]):.3f} %" if theirs else "–")
        row.append(" / ".join(f"{about[part]:,}" for part in ("train", "valid", "test")))
        rows.append(row)
    columns = ["Data", *(f">{what} · {who}" for what in COUNTS for who in ("ours", "paper", "difference"))]
    columns += [">density · ours", ">density · paper", ">train / valid / test"]
    caption = (
        "Counted from the data that the runs were made on. Yelp-like is a Yelp subset of about the paper's size and "
        "density, not the paper's own. Of ML-1m the paper counts one user and one item that nobody has."
        if any(one.printed for one in evidence.design.sets)
        else "Counted from the data that the runs were made on."
    )
    told = [f"Not run yet, so not counted: {', '.join(missing)}."] if missing else []
    return Section("Table I: data", [*told, Table("table-1", "Statistics of the sets", columns, rows, caption)])
