"""The card of a model: what it is, what it was made from and how good it was found to be, for whoever meets its folder;
and the same in a line, and as a notebook shows it.

The card is written beside the model and is nobody's input: notes may be added to it, and another model in its place has
another.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import torch

from sahcns.model.wishes import SOURCES
from sahcns.version import __version__

if TYPE_CHECKING:
    from sahcns.model.recommender import Recommender

CARD = "MODEL.md"
SHOWN = ("recall", "ndcg", "hit", "coverage")
PARTS = {"train": "training", "valid": "validation", "test": "test"}


def card(model: "Recommender") -> str:
    """In Markdown."""
    record = model.record
    name = _named(record.get("baseline") or record.get("backbone") or {"name": "a recommender"})
    sections = [
        f"# {name}: {len(model.user_ids):,} users, {len(model.item_ids):,} items",
        f"Written by sahcns {__version__}. run.json has every number and setting; `sahcns serve FOLDER` shows it at work.",
        "## Data",
        *_table(_data(model)),
        "## What its lists rest on",
        *_table(_sources(model)),
        "## Settings",
        *_table(_settings(record)),
        "## How good it was found to be",
        *_metrics(record),
        "## Size",
        *_table(_sizes(model)),
        "## Limits",
        "Scores order the items of one user and mean nothing across users. What somebody was never offered could not be "
        "taken, so the lists follow the offers of the time that the data are from. Who is not in the data gets a fold-in "
        "of what they have; of whom nothing is known, what most people have.",
    ]
    return "\n\n".join(sections) + "\n"


def _data(model: "Recommender") -> Iterator[tuple[str, str]]:
    data = model.record.get("data", {})
    for key, label in (("folder", "prepared set"), ("whole_of", "all pairs of"), ("fingerprint", "fingerprint")):
        if key in data:
            yield label, f"`{data[key]}`"
    counts = torch.bincount(model.known_part.long(), minlength=3).tolist()
    yield "pairs", ", ".join(f"{n:,} {label}" for n, label in zip(counts, PARTS.values(), strict=True) if n)
    if len(model.aside_users):
        yield "set aside by a filter", f"{len(model.aside_users):,} pairs"
    for what, texts in (("titles", model.titles), ("categories", model.categories)):
        if texts is not None:
            yield f"items with {what}", f"{int((texts.offsets[1:] > texts.offsets[:-1]).sum()):,}"


def _sources(model: "Recommender") -> Iterator[tuple[str, str]]:
    """Of how many users the lists are the model's own, a fold-in, or what is popular."""
    every = torch.arange(len(model.user_ids), device="cpu")
    fresh = model.untrained(every)
    has_items = torch.zeros(len(every), dtype=torch.bool, device="cpu")
    for column in (model.known_users, model.aside_users):
        has_items[column.long()] = True
    folded = int(has_items[fresh].sum())
    meanings = ("what was learnt of them", "a fold-in of what is known of them", "what most people have")
    for source, meaning, count in zip(
        SOURCES, meanings, (len(every) - len(fresh), folded, len(fresh) - folded), strict=True
    ):
        if count:
            yield source, f"{count:,} users: {meaning}"


def _settings(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for part in ("baseline", "backbone", "sampler", "objective", "protocol"):
        if part in record:
            yield part, _named(record[part])
    for key in ("seed", "epochs_run", "best_epoch", "stopped"):
        if key in record:
            yield key.replace("_", " "), str(record[key])
    if "machine" in record:
        yield "machine", ", ".join(f"{name} {value}" for name, value in record["machine"].items())


def _metrics(record: Mapping[str, Any]) -> list[str]:
    """The best epoch on the held-out parts."""
    best = {part: record.get(part, {}).get("best", {}) for part in ("valid", "test")}
    names = [name for name in best["test"] or best["valid"] if name.partition("@")[0] in SHOWN]
    if not names:
        return [
            "Nothing was held out, so nothing was measured: what is known of it is what is known of the run it repeats."
        ]
    rows = ["| | validation | test |", "|---|---:|---:|"]
    for name in names:
        cells = (f"{100 * values[name]:.2f} %" if name in values else "" for values in best.values())
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return ["\n".join(rows)]


def _sizes(model: "Recommender") -> Iterator[tuple[str, str]]:
    tables = {
        "user vectors": model.user_vectors,
        "item vectors": model.item_vectors,
        **dict(sorted(model.weights.items())),
    }
    for name, table in tables.items():
        yield name, f"{' × '.join(f'{size:,}' for size in table.shape)}, {table.nbytes / 2**20:,.1f} MiB"
    if model.item_weights is not None:
        weights = model.item_weights.weights
        yield (
            "item weights",
            f"{getattr(weights, 'nnz', weights.size):,} of {len(model.item_ids):,} × {len(model.item_ids):,}",
        )


def _named(part: Mapping[str, Any]) -> str:
    """`lightgcn (dim 64, depth 3)`, or the settings alone of what has no name."""
    settings = ", ".join(f"{name} {value}" for name, value in part.items() if name != "name")
    if "name" not in part:
        return settings
    return f"{part['name']} ({settings})" if settings else str(part["name"])


def _table(rows: Iterator[tuple[str, str]]) -> list[str]:
    return ["\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])]


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
