"""What `fuzz.py` damages: samples of everything that sahcns writes and reads, and how each is read."""

import contextlib
import dataclasses
import gzip
import json
import lzma
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sahcns
from sahcns.baselines import ItemWeights
from sahcns.cli.plan import build, read_plan
from sahcns.cli.report import reports_in
from sahcns.data import Pairs, Split, load_split, save_split
from sahcns.data.ids import IdMap, Texts
from sahcns.errors import SahcnsError
from sahcns.lab import TrainedModel, read_search, results_in, to_html
from sahcns.lab.tune.search import Tuned
from sahcns.model import Recommender, fit
from sahcns.training.checkpoint import Checkpoints

SHORT = sahcns.Protocol(epochs=3, batch=16, evaluate_every=1)
ROWS = [(f"u{k % 7}", f"i{k * k % 11}", 1 + k % 5, 1_400_000_000 + 86_400 * k) for k in range(60)]


def small_split(text: bool = True) -> Split:
    """Twelve users and nine items; with ids of both kinds, weights, pairs set aside, titles and categories."""
    order = np.random.default_rng(0).random((12, 9)).argsort(1).astype(np.int32)
    train, valid, test, aside = (
        Pairs(np.arange(12, dtype=np.int32).repeat(last - first), np.sort(order[:, first:last], 1).ravel())
        for first, last in ((0, 4), (4, 5), (5, 6), (6, 7))
    )
    if not text:
        return Split(train, valid, test, IdMap(np.arange(12) * 3), IdMap(np.arange(9)))
    train, valid, test = (
        dataclasses.replace(one, weights=np.ones(len(one), np.float32)) for one in (train, valid, test)
    )
    users, titles = IdMap.of(f"é{k}" for k in range(12)), Texts.of(f"Film {k} ☕" for k in range(9))
    return Split(train, valid, test, users, IdMap(np.arange(9)), titles, {}, aside, Texts.of("ab|c" for _ in range(9)))


def make_models(home: Path, baseline: bool = True) -> None:
    for name, sampler in (("text", sahcns.SAHC(pool=3)), ("plain", sahcns.DENS(pool=3))):
        model = fit(small_split(name == "text"), sahcns.LightGCN(dim=4), sampler, protocol=SHORT).recommender
        model.save(home / name)
    if not baseline:
        return
    pairs = dataclasses.replace(model, weights={}, item_weights=ItemWeights(np.eye(9, dtype=np.float32)))
    pairs.record |= {"baseline": {"name": "ease"}}
    pairs.save(home / "pairs")


def use_model(folder: Path) -> Any:
    model = Recommender.load(folder)
    everyone, first = model.user_ids.decode(range(len(model.user_ids))), model.item_ids[0]
    lists = [
        model.recommend(everyone, 3),
        model.recommend_new([first], 2),
        model.similar_items(first, 2),
        model.popular(2),
    ]
    model.prepare()
    told = [repr(model), model._repr_html_(), model.explain(everyone[0], first)]
    parts = {one.name: getattr(model, one.name) for one in dataclasses.fields(model)}
    return [parts, lists, told, model.split().fingerprint]


def use_record(folder: Path) -> Any:
    """What else is made of a model's record."""
    plan = read_plan(folder)
    return [build(plan), TrainedModel.of(folder).layers]


def make_sets(home: Path) -> None:
    for name in ("text", "plain"):
        save_split(small_split(name == "text"), home / name)


def use_set(folder: Path, sealed: bool) -> Any:
    split = load_split(folder, verify=not sealed)  # the fingerprint, too, would be made right again
    parts = [*split.parts().values(), split.aside, split.user_ids, split.item_ids, split.titles, split.categories]
    run = fit(split, sahcns.LightGCN(dim=2), sahcns.RNS(), protocol=sahcns.Protocol(epochs=1))
    ids = [split.user_ids.decode(range(split.n_users)), split.item_ids.decode(range(split.n_items))]
    return [parts, split.manifest, split.fingerprint, ids, run.recommender.user_vectors]


def train(name: str, folder: Path | None) -> Any:
    sampler = {"sahc": sahcns.SAHC(pool=3), "dens": sahcns.DENS(pool=3), "divns": sahcns.DivNS(pool=3, ratio=2)}[name]
    run = fit(small_split(), sahcns.LightGCN(dim=4), sampler, protocol=SHORT, checkpoint=folder)
    return [run.recommender.weights, run.record.best_epoch, run.record.test]


def make_checkpoints(home: Path) -> None:
    """Runs that were cut off in their second epoch."""
    due, write, seen = Checkpoints.due, Checkpoints.write, 0

    def cut_off(self: Checkpoints, tensors: Any, values: Any, wait: bool = False) -> None:
        nonlocal seen
        write(self, tensors, values, wait=True)
        seen += 1
        if seen % 4 == 0:
            raise KeyboardInterrupt

    Checkpoints.due, Checkpoints.write = lambda self: True, cut_off  # type: ignore[method-assign]
    for name in ("sahc", "dens", "divns"):
        with contextlib.suppress(KeyboardInterrupt):
            train(name, home / name)
    Checkpoints.due, Checkpoints.write = due, write  # type: ignore[method-assign]


def use_checkpoint(folder: Path) -> Any:
    return train(folder.name, folder)


def make_results(home: Path) -> None:
    sahcns.compare(small_split(), [sahcns.RNS(), sahcns.SAHC(pool=3)], out=home / "grid", seeds=2, protocol=SHORT)


def use_results(folder: Path) -> Any:
    results = results_in(folder)
    to_html(reports_in(folder, results, None, ())["comparison"])
    return [[one.to_dict(), one.users()] for one in results]


def make_searches(home: Path) -> None:
    sahcns.tune(small_split(), ["sahc", "ahns"], home / "search", trials=2, protocol=SHORT)


def use_search(folder: Path) -> Any:
    to_html(reports_in(folder, [], None, ())["search"])
    tuned = Tuned.read(folder)
    return [read_search(folder).save(), tuned.content, tuned.fits("x", "lightgcn", "sahc"), tuned.samplers]


def make_inspections(home: Path) -> None:
    from sahcns.lab import Inspection, diagnose, inspect_pairs

    model = TrainedModel.of(fit(small_split(), sahcns.LightGCN(dim=4), sahcns.SAHC(pool=3), protocol=SHORT))
    samplers = [sahcns.SAHC(pool=3), sahcns.MixGCF(pool=3)]
    views = [inspect_pairs(model, sampler=one, count=2) for one in samplers]
    made = Inspection(
        model.about,
        0,
        tuple(view for pair in views for view in pair),
        {one.name: diagnose(model, sampler=one) for one in samplers},
    )
    (home / "one").mkdir()
    (home / "one" / "inspection.json").write_text(json.dumps(made.to_dict()))


def use_inspection(folder: Path) -> Any:
    return to_html(reports_in(folder / "inspection.json", [], None, ())["inspection"])


def make_inputs(home: Path) -> None:
    import polars as pl
    import zstandard

    head, lines = "user_id,item_id,rating,timestamp\n", "".join(f"{','.join(map(str, row))}\n" for row in ROWS)
    csv = (head + lines).encode()
    inter = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + lines.replace(",", "\t")
    objects = "".join(json.dumps(dict(zip(("user", "item", "stars", "date"), row, strict=True))) + "\n" for row in ROWS)
    texts = "user;item;title;date\n" + "".join(f'{u};{i};"é ""{i}""";2018-01-{1 + r:02}\n' for u, i, r, _ in ROWS)
    made = {
        "a.csv": csv,
        "a.inter": inter.encode(),
        "a.jsonl": objects.encode(),
        "b.csv": texts.encode(),
        "a.csv.gz": gzip.compress(csv, mtime=0),
    }
    made |= {"a.csv.zst": zstandard.ZstdCompressor(write_checksum=True).compress(csv), "a.csv.xz": lzma.compress(csv)}
    made |= {
        "ratings.dat": lines.replace(",", "::").encode(),
        "pairs.txt": b"".join(b"%d %d\n" % (k % 7, k % 11) for k in range(60)),
    }
    for name, content in made.items():
        (home / name).mkdir()
        (home / name / name).write_bytes(content)
    (home / "a.parquet").mkdir()
    pl.DataFrame(ROWS, schema=["user", "item", "rating", "time"], orient="row").write_parquet(
        home / "a.parquet" / "a.parquet"
    )


def use_input(folder: Path) -> Any:
    """The rows of strict reading; where it refuses, lenient reading and what is made of its rows must be sound too."""
    path = folder / folder.name
    if pipe := path.is_fifo():  # a reader waits for who writes, who has nothing to say, and that once
        threading.Thread(target=path.write_bytes, args=(b"",), daemon=True).start()
    try:
        read = sahcns.read(path)
    except SahcnsError:
        if not pipe:
            sahcns.prepare(sahcns.read(path, lenient=True, lenient_limit=1.0))
        raise
    sahcns.prepare(read)
    return [read.users, read.items, read.ratings, read.times, read.user_ids, read.item_ids]


Use = Callable[[Path], Any]
KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path, bool], Any]]] = {
    "model": (make_models, lambda folder, _: use_model(folder)),
    "record": (lambda home: make_models(home, baseline=False), lambda folder, _: use_record(folder)),
    "prepared": (make_sets, use_set),
    "checkpoint": (make_checkpoints, lambda folder, _: use_checkpoint(folder)),
    "result": (make_results, lambda folder, _: use_results(folder)),
    "journal": (make_searches, lambda folder, _: use_search(folder)),
    "inspection": (make_inspections, lambda folder, _: use_inspection(folder)),
    "input": (make_inputs, lambda folder, _: use_input(folder)),
}
COMPRESSED = ("a.csv.gz", "a.csv.zst", "a.csv.xz")


def must_be_same(kind: str, folder: Path, sealed: bool, done: str) -> bool:
    """Whether what was damaged is under a digest, so that nothing else may come out of it."""
    if kind in ("journal", "inspection") or sealed:
        return False
    if kind == "input":  # two files in one are one with more rows, and a link is to another file
        return folder.name in COMPRESSED and "repeat" not in done and not done.endswith("link")
    return not (kind == "result" and done.endswith(("gone", "dangling", "loop")))  # results may be copied without some
