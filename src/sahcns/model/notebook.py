"""A recommender in a line, and as a notebook shows it."""

from collections.abc import Mapping
from html import escape
from typing import Any


def describe(record: Mapping[str, Any], n_users: int, n_items: int) -> str:
    """`Recommender(lightgcn, sahc, 9,945 users, 3,993 items)`."""
    parts = (record.get(part, {}).get("name") for part in ("backbone", "sampler", "baseline"))
    return f"Recommender({''.join(f'{name}, ' for name in parts if name)}{n_users:,} users, {n_items:,} items)"


def describe_html(heading: str, record: Mapping[str, Any]) -> str:
    """Who it knows, and how it did beside the baselines where it was judged; the one that was kept stands out."""
    judged = record.get("judged")
    if not judged:
        return f"<pre>{escape(heading)}</pre>"
    columns = [name for name in judged["candidates"][0] if name != "name"]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("", *columns))
    rows = ""
    for one in judged["candidates"]:
        values = (f"{one[name]:.1f}" if name == "seconds" else f"{one[name]:.2%}" for name in columns)
        cells = "".join(f"<td>{value}</td>" for value in (escape(one["name"]), *values))
        style = ' style="font-weight: bold"' if one["name"] == judged["kept"] else ""
        rows += f"<tr{style}>{cells}</tr>"
    return f"<pre>{escape(heading)}</pre><table><tr>{head}</tr>{rows}</table><p>{escape(judged['why'])}</p>"
