"""The figures of a prepared set: the paper's Table I, and the degree distributions as numbers and as a picture."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sahcns.data.filters import degrees
from sahcns.data.split import PARTS, Split
from sahcns.errors import SahcnsError, SettingError
from sahcns.files import write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

QUANTILES = {"5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "99%": 0.99}
COLOURS = {"user": "#2f6db5", "item": "#c8553d"}
PLOT_ENDINGS = (".png", ".svg", ".pdf")


def statistics(split: Split) -> dict[str, Any]:
    """Counts, density = interactions / (users · items), and degrees over all three parts, as plain values."""
    users, items = _part_degrees(split)
    rows, cells = sum(map(len, split.parts().values())), split.n_users * split.n_items
    return {
        "users": split.n_users,
        "items": split.n_items,
        "interactions": rows,
        "density": rows / cells if cells else 0.0,
        "parts": {
            name: {
                "interactions": len(pairs),
                "users": int(np.count_nonzero(users[name])),
                "items": int(np.count_nonzero(items[name])),
            }
            for name, pairs in split.parts().items()
        },
        "user_degrees": _spread(np.sum([*users.values()], axis=0)),
        "item_degrees": _spread(np.sum([*items.values()], axis=0)),
        **{f"users_without_{name}": int(np.count_nonzero(users[name] == 0)) for name in PARTS},
        "items_without_train": int(np.count_nonzero(items["train"] == 0)),
        "fingerprint": split.fingerprint,
    }


def _part_degrees(split: Split) -> tuple[dict[str, npt.NDArray[np.int64]], dict[str, npt.NDArray[np.int64]]]:
    """How many interactions each user, and each item, has in each part."""
    parts = split.parts().items()
    users = {name: degrees(pairs.users, split.n_users) for name, pairs in parts}
    return users, {name: degrees(pairs.items, split.n_items) for name, pairs in parts}


def _spread(counts: npt.NDArray[np.int64]) -> dict[str, float]:
    """Smallest, quantiles (linear between ranks), mean and largest of the degrees."""
    if not len(counts):
        return {}
    low, lower, middle, *upper = ((name, round(float(np.quantile(counts, at)), 2)) for name, at in QUANTILES.items())
    mean = "mean", round(float(counts.mean()), 2)
    return dict([("min", int(counts.min())), low, lower, middle, mean, *upper, ("max", int(counts.max()))])


def statistics_table(figures: Mapping[str, Any], title: str = "") -> "RenderableType":
    """Table I and the degrees for the terminal, from what `statistics` returned."""
    from rich.console import Group
    from rich.table import Table

    sizes = Table(title=title or None, title_justify="left", title_style="bold", header_style="bold")
    for column in ("", "users", "items", "interactions"):
        sizes.add_column(column, justify="right" if column else "left")
    for name, part in figures["parts"].items():
        sizes.add_row(name, *(f"{part[column]:,}" for column in ("users", "items", "interactions")))
    sizes.add_section()
    sizes.add_row("all", *(f"{figures[column]:,}" for column in ("users", "items", "interactions")), style="bold")

    spread = Table(header_style="bold")
    spread.add_column("interactions per")
    for column in figures["user_degrees"]:
        spread.add_column(column, justify="right")
    for who in ("user", "item"):
        spread.add_row(who, *(_short(value) for value in figures[f"{who}_degrees"].values()))

    without = ", ".join(f"{figures[f'users_without_{part}']:,} have no {part} items" for part in ("valid", "test"))
    notes = [f"density {figures['density']:.4%}", f"of the users, {without}"]
    if figures["users_without_train"] or figures["items_without_train"]:
        unseen = f"{figures['users_without_train']:,} users, {figures['items_without_train']:,} items"
        notes.append(f"never in training: {unseen}")
    return Group(sizes, spread, *notes, f"fingerprint {figures['fingerprint']}")


def _short(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def plot_degrees(split: Split, path: str | os.PathLike[str], *, title: str = "") -> Path:
    """Draw how many interactions users and items have, over all three parts, log-log, as PNG, SVG or PDF.

    Dots: how many users (items) have exactly that many interactions. Line: how many have at least that many, which
    shows the tail, where a single degree is met once or never.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in PLOT_ENDINGS:
        raise SettingError(f"path={str(path)!r} must end in one of {', '.join(PLOT_ENDINGS)}")
    try:
        import altair as alt
        import vl_convert
    except ImportError:
        raise SahcnsError("plots need one more package; install it with: pip install 'sahcns[report]'") from None

    panels = []
    for who, parts in zip(("user", "item"), _part_degrees(split), strict=True):
        degree = np.sum([*parts.values()], axis=0)
        values, exactly, at_least = degree_counts(degree[degree > 0])
        rows = [
            {"degree": int(value), "exactly": int(here), "at least": int(above)}
            for value, here, above in zip(values, exactly, at_least, strict=True)
        ]
        median = float(np.median(degree[degree > 0])) if len(values) else 1.0
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            x=alt.X("degree:Q", title=f"interactions of one {who}").scale(type="log")
        )
        line = base.mark_line(interpolate="step-before", color=COLOURS[who]).encode(
            y=alt.Y("at least:Q", title=f"number of {who}s").scale(type="log")
        )
        dots = base.mark_circle(color=COLOURS[who], opacity=0.4).encode(y="exactly:Q")
        rule = alt.Chart(alt.InlineData(values=[{"degree": median}])).mark_rule(strokeDash=[4, 3]).encode(x="degree:Q")
        panels.append(alt.layer(line, dots, rule).properties(title=f"{len(degree):,} {who}s, median {median:,.0f}"))
    key = "line: at least that many · dots: exactly that many · dashes: median"
    chart = alt.hconcat(*panels).properties(title=alt.Title(title or "Degrees", subtitle=key)).to_json()
    scale = {"scale": 2} if ending == ".png" else {}
    return write_whole(target, getattr(vl_convert, f"vegalite_to_{ending[1:]}")(chart, **scale), "plot")


def degree_counts(degree: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], ...]:
    """The distinct degrees, ascending; how many have exactly that degree; and how many that or a higher one."""
    values, exactly = np.unique(degree, return_counts=True)
    return values, exactly, np.cumsum(exactly[::-1])[::-1]
