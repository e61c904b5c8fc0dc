"""A file of orders on a command line: how it is read, what was taken for granted, and what came out of it."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sahcns.cli.console import count, show, table, tell, working
from sahcns.cli.options import READ, errors_in_options

if TYPE_CHECKING:
    from sahcns.data import Interactions
    from sahcns.model.orders import Made, Orders


def read_file(source: Any, reading: Mapping[str, Any]) -> "Interactions":
    """What a file holds; an error names the options of `--read`."""
    from sahcns.data.readers import read

    with errors_in_options(_as_options):
        return read(source, **reading)


def _as_options(sentence: str) -> str:
    """`name the right one with user='sku'` → `… with --read user='sku'`; what stands in quotes is left as it is."""
    sentence = sentence.replace("read with lenient", "add --read lenient=true").replace("=False", "=false")
    return re.sub(
        rf"""'[^']*'|"[^"]*"|\b(?<!--read )({"|".join(READ)})=""",
        lambda match: match[0] if match[1] is None else f"--read {match[0]}",
        sentence,
    )


def open_orders(file: str, reading: Mapping[str, Any]) -> "Orders":
    """The pairs of a file; on stderr what was guessed, how many there are, and which are held out."""
    from sahcns.cli.data.remarks import remarks
    from sahcns.model.orders import read_orders

    with working(f"reading {file} …"):
        orders = read_orders(read_file(file, reading))
    manifest: Any = orders.judged.manifest
    remarks(manifest)
    whole = orders.whole
    sizes = f"{count(whole.n_users, 'customer')}, {count(whole.n_items, 'article')}, {count(len(whole.train), 'pair')}"
    how = "the latest tenth" if manifest["recipe"]["split"] == "time" else "a random tenth, as there are no times,"
    tell(f"{sizes}; {how} is held out to judge by, a tenth before it to choose the epoch by")
    return orders


def train_file(
    orders: "Orders", plan: Mapping[str, Any], keep: str | None = None, quiet: bool = False, **how: Any
) -> "Made":
    """Train what the plan says, by the preset where it says nothing, and judge it beside the baselines."""
    from sahcns.cli.plan import build, build_part
    from sahcns.model.choice import BEST
    from sahcns.model.orders import preset, train_orders
    from sahcns.training import Protocol

    parts = build(dict(plan))[:3]
    usual = preset(orders.judged, plan.get("device", "auto")).to_dict()
    protocol = build_part(Protocol, {**usual, **plan.get("protocol", {})})
    return train_orders(orders, *parts, protocol=protocol, keep=keep or BEST, quiet=quiet, **how)


def show_candidates(made: "Made") -> None:
    """How each did, which one is kept, and why."""
    from sahcns.model.choice import LABELS

    people = f"{len(made.candidates[0].recall):,} people, what they took next"
    rows = table(people, ">Recall@20", ">NDCG@20", ">seconds")
    for one in (one.to_dict() for one in made.candidates):
        values = (f"{100 * one[name]:.2f}" for name in ("recall@20", "ndcg@20"))
        rows.add_row(LABELS[one["name"]], *values, f"{one['seconds']:.1f}")
    pairs = count(len(made.parts["split"].train), "pair")
    show(rows, "", made.why, f"kept: {LABELS[made.kept]}, made of all {pairs}")
