"""The figures of a prepared set: the paper's Table I and the shape of the degree distributions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sahcns.data.core import degrees
from sahcns.data.split import Split

if TYPE_CHECKING:
    from rich.console import RenderableType

QUANTILES = (0.05, 0.25, 0.75, 0.95, 0.99)


def statistics(split: Split) -> dict[str, Any]:
    """Counts, density = interactions / (users · items), and degrees over all three parts, as plain values."""
    users = {name: degrees(pairs.users, split.n_users) for name, pairs in split.parts().items()}
    items = {name: degrees(pairs.items, split.n_items) for name, pairs in split.parts().items()}
    rows = sum(len(pairs) for pairs in split.parts().values())
    cells = split.n_users * split.n_items
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
        "user_degrees": _spread(sum(users.values(), np.zeros(split.n_users, np.int64))),
        "item_degrees": _spread(sum(items.values(), np.zeros(split.n_items, np.int64))),
        "users_without_train": int(np.count_nonzero(users["train"] == 0)),
        "users_without_valid": int(np.count_nonzero(users["valid"] == 0)),
        "users_without_test": int(np.count_nonzero(users["test"] == 0)),
        "items_without_train": int(np.count_nonzero(items["train"] == 0)),
        "fingerprint": split.fingerprint,
    }


def _spread(counts: npt.NDArray[np.int64]) -> dict[str, float]:
    """Smallest, quantiles (linear between ranks), mean and largest of the degrees."""
    if not len(counts):
        return {}
    middle = {f"{round(q * 100)}%": round(float(np.quantile(counts, q)), 2) for q in QUANTILES}
    low = {name: value for name, value in middle.items() if float(name[:-1]) < 50}
    return {
        "min": int(counts.min()),
        **low,
        "median": float(np.median(counts)),
        "mean": round(float(counts.mean()), 2),
        **{name: value for name, value in middle.items() if name not in low},
        "max": int(counts.max()),
    }


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
