"""A picture of who has how many interactions: users beside items, log-log."""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sahcns.data.core import degrees
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, GRID = "#2b2b33", "#d9d9e0"
COLOURS = {"user": "#2f6db5", "item": "#c8553d"}
KINDS = (".png", ".svg", ".pdf")


def plot_degrees(split: Split, path: str | os.PathLike[str], *, title: str = "") -> Path:
    """Write the degree distributions of users and items, over all three parts, as PNG, SVG or PDF.

    Dots: how many users (items) have exactly that many interactions. Line: the same averaged over bins that grow
    with the degree, which shows the tail where single degrees are met once or never.
    """
    target = Path(path)
    if target.suffix.lower() not in KINDS:
        raise SettingError(f"path={str(path)!r} must end in one of {', '.join(KINDS)}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DataError("plots need matplotlib, which is not installed; pip install 'sahcns[plot]'") from None

    parts = split.parts().values()
    counts = {
        "user": sum((degrees(pairs.users, split.n_users) for pairs in parts), np.zeros(split.n_users, np.int64)),
        "item": sum((degrees(pairs.items, split.n_items) for pairs in parts), np.zeros(split.n_items, np.int64)),
    }
    figure = Figure(figsize=(9.6, 4.2), dpi=160, layout="constrained")
    for axes, (who, column) in zip(figure.subplots(1, 2, sharey=True), counts.items(), strict=True):
        _panel(axes, column[column > 0], who)
    if title:
        figure.suptitle(title, color=INK, fontsize=13, fontweight="bold")
    _write(figure, target)
    return target


def _panel(axes: "Axes", column: npt.NDArray[np.int64], who: str) -> None:
    colour = COLOURS[who]
    values, met = np.unique(column, return_counts=True)
    axes.set(xscale="log", yscale="log")
    axes.scatter(values, met, s=11, color=colour, alpha=0.35, linewidths=0, label=f"{who}s with that many")
    centres, density = log_bins(column)
    axes.plot(centres, density, color=colour, linewidth=2.2, label="average over widening bins")
    middle = float(np.median(column)) if len(column) else 0.0
    if middle:
        axes.axvline(middle, color=INK, linewidth=1, linestyle=(0, (4, 3)), label=f"median {middle:,.0f}")
    axes.set_title(f"{len(column):,} {who}s", color=INK, fontsize=11.5, loc="left")
    axes.set_xlabel(f"interactions of one {who}", color=INK)
    if who == "user":
        axes.set_ylabel("how many", color=INK)
    axes.grid(True, which="major", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, which="both", labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)


def log_bins(column: npt.NDArray[np.int64], per_decade: int = 8) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Middle of each bin, and how many have one degree of it on average; empty bins are left out."""
    if not len(column):
        return np.empty(0), np.empty(0)
    top = float(column.max())
    edges = np.unique(np.ceil(10 ** np.arange(0, np.log10(top) + 2 / per_decade, 1 / per_decade)))
    held, _ = np.histogram(column, edges)
    middle = np.sqrt(edges[:-1] * (edges[1:] - 1))  # a bin holds the whole degrees from its edge up to the next edge
    return middle[held > 0], (held / np.diff(edges))[held > 0]


def _write(figure: Any, target: Path) -> None:
    beside = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(beside, facecolor="white")
        with open(beside, "rb") as written:
            os.fsync(written.fileno())
        beside.replace(target)
    except OSError as error:
        raise DataError(f"cannot write the plot {target}: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
