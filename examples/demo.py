"""RNS and SAHC-NS side by side on the MovieLens set that ships inside, then films for one person.

make demo
"""

import os
import shutil
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: on a busy machine its threads would fight for cores

from rich.console import Console
from rich.table import Table
from rich.text import Text

import sahcns
from sahcns.cli.console import escape_unprintable, table
from sahcns.training.progress import train_progress

# What can be learnt in a minute on two cores: larger steps and smaller batches than the paper's, the same for both.
RECIPE = sahcns.Recipe(min_rating=4, core=5, split="random", ratios=(8, 1, 1))
PROTOCOL = sahcns.Protocol(batch=1024, learning_rate=0.01, epochs=60, evaluate_every=2, patience=4)
SHOWN = ("recall@20", "ndcg@20")

console = Console(highlight=False)


def main(protocol: sahcns.Protocol = PROTOCOL, dim: int = 64, out: Path = Path("runs/demo")) -> None:
    escape_unprintable()
    began = time.perf_counter()
    console.rule("[bold]Does the negative sampler matter?")
    split = sahcns.prepare_named("ml-latest-small", recipe=RECIPE)
    console.print()
    console.print(plan(split, protocol, dim))
    runs = {}
    for name, sampler in (("RNS", sahcns.RNS()), ("SAHC-NS", sahcns.SAHC())):
        console.print(f"\ntraining with {name} …", end="")
        runs[name] = train(split, sampler, protocol, dim)
        console.print(f" {runs[name].record.seconds['total']:.0f} s", end="")
    console.print("\n")
    console.print(comparison(runs))
    console.print(f"\n{verdict(runs['RNS'].test, runs['SAHC-NS'].test)} One seed on a small set: a look, not a result.")
    for name, run in runs.items():
        if run.record.stopped == "epochs":
            console.print(f"{name} was cut off by the limit of {protocol.epochs} epochs; with more it might do better.")
    console.print()
    model = runs["SAHC-NS"].recommender
    console.print(films_for(model, typical_person(model, split)))
    model.save(out)
    console.print(
        f"\n{time.perf_counter() - began:.0f} seconds in all; the SAHC-NS model is in {out}. What to try next:\n\n"
        f"  {command()} recommend {out} --user 17 -k 10\n"
        f"  {command()} train ml-latest-small --sampler dns --epochs 20 --out runs/dns\n"
        f"  {command()} samplers\n",
        soft_wrap=True,
    )


def plan(split: sahcns.Split, protocol: sahcns.Protocol, dim: int) -> Table:
    """What is about to happen, in three paragraphs."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    rows.add_row(
        Text("Data", "bold"),
        f"MovieLens latest-small, which ships inside. Ratings of {RECIPE.min_rating:g} or more count as liked, people and "
        f"films with fewer than {RECIPE.core} are dropped, the rest is split at random 8:1:1: {split.n_users:,} people, "
        f"{split.n_items:,} films, {len(split.train):,} pairs to train on.",
    )
    rows.add_row(
        Text("Model", "bold"),
        f"LightGCN with {dim} dimensions and 3 layers, trained twice from the same start in the same order: at most "
        f"{protocol.epochs} epochs in batches of {protocol.batch}, learning rate {protocol.learning_rate:g}, stopped after "
        f"{protocol.patience} looks at validation without a new best. Chosen to fit into a minute; not the paper's settings.",
    )
    rows.add_row(
        Text("Sampler", "bold"),
        "The only difference. RNS sets each liked film against a random other one; SAHC-NS against a hard one, with a "
        "share of the liked film mixed in where even that is too easy.",
    )
    return rows


def train(split: sahcns.Split, sampler: sahcns.Sampler, protocol: sahcns.Protocol, dim: int) -> sahcns.Run:
    """One run, with the live view of `sahcns train` on a terminal."""
    with train_progress(protocol) as told:
        return sahcns.fit(split, sahcns.LightGCN(dim=dim), sampler, protocol=protocol, seed=0, on_epoch=told)


def comparison(runs: dict[str, sahcns.Run]) -> Table:
    """Test metrics of the best validation epoch, in percent."""
    rows = table("sampler", *(f">{name}" for name in SHOWN), ">best epoch", ">epochs", title="Test part, in percent")
    best = {name: max(run.test[name] for run in runs.values()) for name in SHOWN}
    for sampler, run in runs.items():
        values = (Text(f"{100 * run.test[name]:.2f}", "bold" * (run.test[name] == best[name])) for name in SHOWN)
        rows.add_row(sampler, *values, str(run.record.best_epoch), str(run.record.epochs_run))
    return rows


def verdict(rns: dict[str, float], sahc: dict[str, float]) -> str:
    """What the numbers say, whichever way they fall."""
    gains = {name: sahc[name] / rns[name] - 1 if rns[name] else 0.0 for name in SHOWN}
    both = " and ".join(f"{gain:+.1%} in {name}" for name, gain in gains.items())
    if min(gains.values()) > 0:
        return f"SAHC-NS is ahead of RNS here: {both}."
    if max(gains.values()) < 0:
        return f"SAHC-NS is behind RNS here: {both}."
    return f"Neither is ahead in everything here; SAHC-NS against RNS: {both}."


def typical_person(model: sahcns.Recommender, split: sahcns.Split) -> int:
    """The position of the person in the middle when all with a test film are ordered by how well the model does."""
    truth = sahcns.Truth.of(split, "test", "train")
    _, own = sahcns.evaluate(model.user_vectors, model.item_vectors, truth, [20], ["recall"], per_user=True)
    ordered = sorted(zip(own["recall@20"].tolist(), truth.users.tolist(), strict=True))
    return int(ordered[len(ordered) // 2][1])


def films_for(model: sahcns.Recommender, person: int, count: int = 10) -> Table:
    """What a person liked in training, the best known first, beside what the model would show them."""
    liked = model.known(person, "train").tolist()
    held_out = set(model.item_ids.decode(model.known(person).tolist())) - set(model.item_ids.decode(liked))
    known_by = model.known_items.bincount(minlength=len(model.item_ids)).tolist()
    liked.sort(key=lambda item: -known_by[item])
    found = model.recommend([model.user_ids[person]], count, exclude="train")[0]
    who = model.user_ids[person]
    rows = table(
        f"liked ({min(count, len(liked))} of {len(liked)})",
        "recommended by SAHC-NS",
        title=f"Person {who}, for whom the model does better than for half of the people and worse than for the others",
    )
    for place in range(count):
        left = model.title(liked[place]) if place < len(liked) else ""
        right = Text(found[place].title or str(found[place].item)) if place < len(found) else Text()
        if place < len(found) and found[place].item in held_out:
            right.append(" ✓", "bold green")
        rows.add_row(left, right)
    rows.caption, rows.caption_justify = (
        f"✓ among {len(held_out)} others this person liked, hidden from the model",
        "left",
    )
    return rows


def command() -> str:
    """How `sahcns` is called from here: by its name where it is on the path, else by where it is."""
    beside = Path(sys.executable).with_name("sahcns")
    if shutil.which("sahcns") == str(beside) or not beside.exists():
        return "sahcns"
    return os.path.relpath(beside)


if __name__ == "__main__":
    main()
