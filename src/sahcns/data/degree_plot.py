"""A picture of who has how many interactions: users beside items, log-log."""

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sahcns.data.core import degrees
from sahcns.data.split import Split
from sahcns.errors import SahcnsError, SettingError
from sahcns.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, GRID = "#2b2b33", "#d9d9e0"
COLOURS = {"user": "#2f6db5", "item": "#c8553d"}
DASHES = (0, (4, 3))
KINDS = (".png", ".svg", ".pdf")


def plot_degrees(split: Split, path: str | os.PathLike[str], *, title: str = "") -> Path:
    """Write the degree distributions of users and items, over all three parts, as PNG, SVG or PDF.

    Dots: how many users (items) have exactly that many interactions. Line: how many have at least that many, which
    shows the tail, where a single degree is met once or never.
    """
    target = Path(path)
    if target.suffix.lower() not in KINDS:
        raise SettingError(f"path={str(path)!r} must end in one of {', '.join(KINDS)}")
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
        from matplotlib.lines import Line2D
    except ImportError:
        raise SahcnsError("plots need matplotlib, which is not installed; pip install 'sahcns[plot]'") from None

    parts = split.parts().values()
    counts = {
        "user": sum((degrees(pairs.users, split.n_users) for pairs in parts), np.zeros(split.n_users, np.int64)),
        "item": sum((degrees(pairs.items, split.n_items) for pairs in parts), np.zeros(split.n_items, np.int64)),
    }
    figure = Figure(figsize=(9.6, 4.2), dpi=160, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1))
    for axes, (who, column) in zip(figure.subplots(1, 2), counts.items(), strict=True):
        _panel(axes, column[column > 0], who)
    key = [
        Line2D([], [], color=INK, linewidth=2, label="at least that many"),
        Line2D([], [], color=INK, alpha=0.5, linestyle="", marker="o", markersize=5, label="exactly that many"),
        Line2D([], [], color=INK, linewidth=1, linestyle=DASHES, label="median"),
    ]
    figure.legend(handles=key, loc="outside upper right", ncols=3, frameon=False, fontsize=9, labelcolor=INK)
    if title:
        figure.suptitle(title, color=INK, fontsize=13, fontweight="bold", x=0.01, horizontalalignment="left")
    drawn = io.BytesIO()
    figure.savefig(drawn, format=target.suffix.lower()[1:], facecolor="white")
    return write_whole(target, drawn.getvalue(), "plot")


def at_least(column: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The distinct degrees, ascending, and how many have that degree or a higher one."""
    values, met = np.unique(column, return_counts=True)
    return values, np.cumsum(met[::-1])[::-1]


def _panel(axes: "Axes", column: npt.NDArray[np.int64], who: str) -> None:
    colour = COLOURS[who]
    values, met = np.unique(column, return_counts=True)
    axes.set(xscale="log", yscale="log")
    axes.step(*at_least(column), where="pre", color=colour, linewidth=2)
    axes.scatter(values, met, s=14, color=colour, alpha=0.4, linewidths=0)
    middle = float(np.median(column)) if len(column) else 1.0
    axes.axvline(middle, color=INK, linewidth=1, linestyle=DASHES)
    axes.set_ylim(bottom=0.7)
    axes.set_title(f"{len(column):,} {who}s, median {middle:,.0f}", color=INK, fontsize=11.5, loc="left")
    axes.set_xlabel(f"interactions of one {who}", color=INK)
    axes.set_ylabel(f"number of {who}s", color=INK)
    axes.grid(True, which="major", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, which="both", labelsize=9)
    axes.tick_params(which="minor", length=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
