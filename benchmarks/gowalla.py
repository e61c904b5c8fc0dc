"""Gowalla by the honest protocol: settings and epochs are picked on validation, all training pairs are trained on, test once.

    sahcns data prepare train.txt gowalla --valid valid.txt --test test.txt --unseen keep
    python benchmarks/gowalla.py gowalla search fast --seconds 3 --minutes 8
    python benchmarks/gowalla.py gowalla search best --seconds 12 --minutes 9
    python benchmarks/gowalla.py gowalla search bpr
    python benchmarks/gowalla.py gowalla final fast best --seeds 0 1 2
    python benchmarks/gowalla.py gowalla final bpr
    python benchmarks/gowalla.py gowalla search softmax --epochs 120     # and ccl, as other published numbers are

`search` trains the recipe of a target, then neighbours of the best so far, one setting moved by one place of its ladder,
until the minutes are over or no neighbour is left; it never sees the test part. A run ends with the epoch after which its
refit would no longer fit into the seconds. What was tried is kept in `--out`, and the next call goes on from there.
`final` trains on training and validation pairs for as many epochs as the best run of `search` had. Kernels are compiled by a
run of one epoch before; its seconds go from the prepared folder to the ranking of the test part, and `fit` is without
reading the folder.
"""

import argparse
import json
import statistics
import time
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import sahcns.cli
from sahcns.backbones import Backbone
from sahcns.data import load_split
from sahcns.data.split import Pairs, Split
from sahcns.objectives import Objective
from sahcns.samplers import Sampler
from sahcns.settings import by_name
from sahcns.training import Protocol, train
from sahcns.training.device import pick_device

RECIPES = {"fast": "bsl-in-batch", "best": "bsl-in-batch", "bpr": "lightgcn-paper"}
RECIPES |= {"softmax": "bsl-in-batch", "ccl": "bsl-in-batch"}
OTHERWISE: dict[
    str, dict[str, dict[str, Any]]
] = {  # than the recipe: parts that are replaced, settings that are changed
    "softmax": {"objective": {"name": "sampled-softmax", "temperature": 0.12}},
    "ccl": {
        "backbone": {"name": "mf", "dim": 64},
        "sampler": {"name": "shared"},
        "objective": {"name": "ccl", "margin": 0.9, "weight": 300.0, "ranking": "cosine"},
    },
}
LADDERS: dict[str, list[float]] = {
    "protocol.learning_rate": [5e-4, 1e-3, 2e-3, 4e-3, 8e-3],
    "objective.temperature": [0.08, 0.1, 0.12, 0.15, 0.2],
    "objective.power": [0.6, 0.7, 0.84, 1.0, 1.2],
    "objective.margin": [0.5, 0.6, 0.7, 0.8, 0.9, 0.95],
    "objective.weight": [50, 150, 300, 600, 1000, 2000],
    "protocol.l2": [1e-7, 1e-6, 1e-5, 1e-4, 1e-3],
    "backbone.depth": [1, 2, 3],
    "protocol.batch": [1024, 2048, 4096],
}
AROUND = 0.8  # seconds of a refit that are no epochs: the graph, the capture, the ranking
WATCHED = "recall@20"

Trial = dict[str, Any]


def settings_of(target: str, moved: dict[str, float]) -> dict[str, dict[str, Any]]:
    """The recipe of a target with some of its settings moved."""
    file = Path(sahcns.cli.__file__).with_name("recipes") / f"{RECIPES[target]}.toml"
    settings: dict[str, dict[str, Any]] = deepcopy(tomllib.loads(file.read_text())) | deepcopy(
        OTHERWISE.get(target, {})
    )
    for name, value in moved.items():
        part, _, setting = name.partition(".")
        settings[part][setting] = value
    return settings


def built(settings: dict[str, dict[str, Any]]) -> tuple[tuple[Backbone, Sampler, Objective], Protocol]:
    values = {part: {k: v for k, v in own.items() if k != "name"} for part, own in settings.items()}
    parts = (
        by_name(Backbone, settings["backbone"]["name"], values["backbone"]),
        by_name(Sampler, settings["sampler"]["name"], values["sampler"]),
        by_name(Objective, settings["objective"]["name"], values["objective"]),
    )
    return parts, Protocol(**values["protocol"])


def neighbours(target: str, moved: dict[str, float], names: list[str]) -> Iterator[dict[str, float]]:
    settings = settings_of(target, moved)
    for name in names:
        ladder = LADDERS[name]
        part, _, setting = name.partition(".")
        if setting not in settings[part]:
            continue
        at = ladder.index(settings[part][setting])
        yield from ({**moved, name: ladder[to]} for to in (at + 1, at - 1) if 0 <= to < len(ladder))


def tried(split: Split, target: str, moved: dict[str, float], chosen: argparse.Namespace) -> Trial:
    """One run that is judged on validation alone, for as long as its refit would fit into the seconds."""
    parts, protocol = built(settings_of(target, moved))
    protocol = replace(protocol, epochs=min(protocol.epochs, chosen.epochs))
    more = 1 + len(split.valid) / len(split.train)
    times: list[float] = []

    def enough(entry: dict[str, Any]) -> None:
        times.append(entry["seconds"])
        if len(times) > 2 and (len(times) + 1) * statistics.median(times) * more + AROUND > chosen.seconds:
            raise KeyboardInterrupt

    blind = replace(split, test=Pairs.none())
    record = train(blind, *parts, protocol=protocol, seed=0, on_epoch=enough, **places(chosen)).record
    curve = {entry["epoch"]: entry["valid"][WATCHED] for entry in record.history if "valid" in entry}
    at = max(curve, key=lambda epoch: curve[epoch])
    ms = 1e3 * statistics.median(times[1:] or times)
    return {
        "target": target, "moved": moved, "epochs": at + 1, "valid": curve[at], "ms": ms, "stopped": record.stopped,
        "steps": record.machine["steps"], "device": record.machine["device"], "kernels": chosen.kernels, "curve": curve,
    }  # fmt: skip


def places(chosen: argparse.Namespace) -> dict[str, Any]:
    return {"device": chosen.device, "kernels": chosen.kernels}


def search(split: Split, chosen: argparse.Namespace, kept: dict[str, Any]) -> None:
    target, began = chosen.targets[0], time.perf_counter()
    trials = [trial for trial in kept["trials"] if trial["target"] == target]
    while True:
        done = [trial["moved"] for trial in trials]
        best = max(trials, key=lambda trial: trial["valid"], default=None)
        wanted = [{}] if best is None else [] if target == "bpr" else [*neighbours(target, best["moved"], chosen.move)]
        to_do = [moved for moved in wanted if settings_of(target, moved) not in [settings_of(target, d) for d in done]]
        if not to_do or time.perf_counter() - began > 60 * chosen.minutes:
            break
        trial = tried(split, target, to_do[0], chosen)
        trials.append(trial)
        kept["trials"].append(trial)
        chosen.out.write_text(json.dumps(kept, indent=1) + "\n")
        print(f"{said(trial)}  {trial['steps']:.30}, stopped by {trial['stopped']}", flush=True)
    print(f"picked: {said(best)}" if best else "nothing is tried yet", "" if to_do else " (no neighbour is better)")


def said(trial: Trial) -> str:
    moved = " ".join(f"{name.partition('.')[2]}={value:g}" for name, value in trial["moved"].items()) or "the recipe"
    return f"{trial['target']:5} valid {trial['valid']:.4f} after {trial['epochs']:3} epochs of {trial['ms']:7.1f} ms  {moved}"


def final(chosen: argparse.Namespace, kept: dict[str, Any]) -> None:
    for target in chosen.targets:
        best = max((trial for trial in kept["trials"] if trial["target"] == target), key=lambda trial: trial["valid"])
        print(f"picked: {said(best)}", flush=True)
        parts, protocol = built(settings_of(target, best["moved"]))
        how: dict[str, Any] = {**places(chosen), "looks": False}
        if pick_device(chosen.device).type == "cuda":  # or there is nothing to compile
            every = load_split(chosen.prepared).with_valid()
            train(every, *parts, protocol=replace(protocol, epochs=1), **how)
        for seed in chosen.seeds:
            began = time.perf_counter()
            every = load_split(chosen.prepared).with_valid()
            read = time.perf_counter() - began
            record = train(every, *parts, protocol=replace(protocol, epochs=best["epochs"]), seed=seed, **how).record
            seconds = time.perf_counter() - began
            times = [entry["seconds"] for entry in record.history]
            found = {name: record.test["best"][name] for name in (WATCHED, "ndcg@20")}
            kept["final"].append({
                "target": target, "moved": best["moved"], "seed": seed, "epochs": best["epochs"], **found,
                "seconds": seconds, "read": read, "parts": record.seconds, "ms": 1e3 * statistics.median(times),
                "machine": record.machine,
            })  # fmt: skip
            chosen.out.write_text(json.dumps(kept, indent=1) + "\n")
            other = seconds - read - sum(times)
            print(
                f"{target:5} seed {seed}  test Recall@20 {found[WATCHED]:.4f}  NDCG@20 {found['ndcg@20']:.4f}  "
                f"{seconds:7.2f} s: read {read:.2f}, {len(times)} epochs {sum(times):.2f} (median "
                f"{1e3 * statistics.median(times):.1f} ms, first {1e3 * times[0]:.0f}), other {other:.2f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("command", choices=("search", "final"))
    parser.add_argument("targets", nargs="+", choices=tuple(RECIPES))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="that the refit may take")
    parser.add_argument("--epochs", type=int, default=100_000, help="most of a run of search")
    parser.add_argument("--minutes", type=float, default=8, help="after which search begins no other run")
    parser.add_argument(
        "--move", nargs="+", default=[*LADDERS], choices=[*LADDERS], help="settings that search may move"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--kernels", default="auto")
    parser.add_argument("--out", type=Path, default=Path("gowalla.json"))
    chosen = parser.parse_args()
    kept = json.loads(chosen.out.read_text()) if chosen.out.is_file() else {"trials": [], "final": []}
    split = load_split(chosen.prepared)
    if kept.setdefault("set", split.fingerprint) != split.fingerprint:
        raise SystemExit(f"{chosen.out} is of another set; name another file by --out")
    if chosen.command == "search":
        search(split, chosen, kept)
    else:
        final(chosen, kept)


if __name__ == "__main__":
    main()
