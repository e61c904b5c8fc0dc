"""`sahcns train`."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sahcns.cli.console import Json, count, err, show, show_json, table, tell, warn
from sahcns.cli.dataset import holds_orders, warn_of_full_users
from sahcns.cli.options import (
    DATA,
    Backbone,
    Device,
    Imports,
    Kernels,
    Objective,
    Read,
    Sampler,
    import_files,
    option,
    parse_reading,
    with_protocol,
)  # fmt: skip
from sahcns.cli.process import tune_malloc
from sahcns.errors import DataError, SettingError, nearest

if TYPE_CHECKING:
    from rich.table import Table

    from sahcns.cli.plan import Parts, Plan
    from sahcns.model import Recommender
    from sahcns.training.log import Log
    from sahcns.training.record import Record

STOPPED = {
    "patience": "then validation did not improve any more",
    "epochs": "as many as were allowed",
    "interrupted": "then it was told to stop; the best so far is kept",
}
JUDGING = ("evaluate_every", "patience", "monitor", "mask")  # what has no meaning where nothing is held out


@with_protocol
def command(
    protocol: dict[str, Any],
    data: Annotated[str | None, DATA] = None,
    out: Annotated[Path | None, option("The folder for the trained model.", "RUN")] = None,
    backbone: Backbone = None,
    sampler: Sampler = None,
    objective: Objective = None,
    settings: Annotated[
        list[str] | None,
        option("Set the sampler's NAME, backbone.NAME, objective.NAME. Repeatable.", "NAME=VALUE", "--set"),
    ] = None,
    seed: Annotated[int | None, option("Of the start, order and pools (0).", "NUMBER", min=0)] = None,
    device: Device = None,
    kernels: Kernels = None,
    whole: Annotated[bool, option("Train on every pair, nothing held out, to put to use.", None, "--whole")] = False,
    refit: Annotated[
        bool, option("Train anew, validation included, once the epoch is found.", None, "--refit")
    ] = False,
    config: Annotated[
        Path | None, option("A run: TOML, YAML, a record, or lightgcn-paper. Options win.", "FILE")
    ] = None,
    log: Annotated[
        list[str] | None, option("Follow it in OUT.log: jsonl, tensorboard, wandb or mlflow. Repeatable.", "NAME")
    ] = None,
    start: Annotated[Path | None, option("Go on from this model: ids that stay keep what was learnt.", "RUN")] = None,
    read: Read = None,
    keep: Annotated[
        str | None, option("From a file, which to save: model, ease, als, … (the best).", "NAME", "--save")
    ] = None,
    fresh: Annotated[bool, option("Begin anew where a killed run would be gone on with.", None, "--fresh")] = False,
    imports: Imports = None,
    nproc: Annotated[
        int | None, option("Train one model on so many processes, each on its GPU.", "NUMBER", min=1)
    ] = None,
    json: Json = False,
) -> None:
    """Train a recommender on a prepared set, or a file of orders, and store it, with its record, in a folder.

    A file's columns are guessed, and its latest tenth is held out by time: on it the model is judged beside popularity,
    item-kNN, EASE, ALS and GF-CF, with settings that take a minute or two. What is kept then learns from every pair.

    The epoch is picked on the validation part; test numbers are those of that epoch, and of the last one beside it.
    Ctrl-C, or a SIGTERM, ends training and keeps the best epoch so far; another one ends its ranking. The same seed
    gives the same result. Killed at any moment, the same command goes on from what is kept in OUT.checkpoint and ends as if
    it had never stopped. --whole is for the model to put to use: it trains on the held-out pairs too, for as many
    epochs as the run of --config found best, with its settings, or for --epochs. --refit finds the epoch as ever, trains
    anew on training and validation pairs for as many, and ranks the test part once, for that model.

    Examples: sahcns train orders.csv --out model
              sahcns train films --set alpha=0.5 --out runs/sahc
              sahcns train films --config runs/sahc --whole --out runs/live
              sahcns train films --config lightgcn-paper --refit --out runs/paper
              sahcns train films --backbone ngcf --sampler dns --set backbone.dim=32 --out runs/dns
              sahcns train films --sampler rns --set pool=64 --objective sampled-softmax --out runs/softmax
              sahcns train --config run.toml --seed 1 --out runs/seed1
              sahcns train films --import my.py --sampler mine --out runs/my
              sahcns train films --log tensorboard --out runs/watched
              sahcns train shop --config runs/shop --start runs/shop --out runs/newer
              sahcns train large --nproc 8 --out runs/large
    """
    from sahcns.cli.orders import open_orders, show_candidates, train_file
    from sahcns.cli.plan import build, merge, parse_parts, read_plan, terms_of
    from sahcns.cli.progress import say_it_resumes
    from sahcns.model import Recommender
    from sahcns.model.folder import check_place
    from sahcns.training.ranks import check, joined, launched
    from sahcns.training.train import retry_once_on_interrupt

    tune_malloc()
    parts = parse_parts(settings or [], backbone=backbone, sampler=sampler, objective=objective)
    typed = {"data": data, "out": out, "seed": seed, "device": device, "kernels": kernels, "import": imports or []}
    file = read_plan(config, best=whole and "epochs" not in protocol) if config else {}
    plan = merge({**typed, **parts, "protocol": protocol}, file)
    if "data" not in plan:
        raise SettingError("no data: give a file, or a prepared folder, such as `sahcns train films --out runs/first`")
    if "out" not in plan:
        raise SettingError("no place for the trained model: give one with --out RUN")
    _refuse(plan, protocol, whole=whole, refit=refit, start=start, read=read, keep=keep)
    import_files(plan["import"])
    built = build(plan)
    check_place(plan["out"])
    # Now: the folder that they are relative to may be gone after hours of training.
    place = plan["out"].absolute()
    kept = place.with_name(f"{place.name}.checkpoint")
    how = {**terms_of(plan), "log": _logs(log or [], place), "checkpoint": kept, "fresh": fresh}
    if (processes := launched() or nproc or 1) > 1:
        if holds_orders(plan["data"]):
            raise SettingError(
                f"{processes} processes train on a prepared set; make one: `sahcns data prepare FILE FOLDER`"
            )
        check(built[0], processes, None if launched() else how["device"])
        if not launched():
            from sahcns.cli.launch import launch

            raise SystemExit(launch(sys.argv[1:], processes))
    made = None
    with say_it_resumes(kept), joined(how["device"]) as rank:
        if holds_orders(plan["data"]):
            made = train_file(open_orders(plan["data"], parse_reading(read or [])), plan, keep, quiet=json, **how)
            model, judged = Recommender.of(**made.parts), made.trained.record
        else:
            model, judged = _train_set(plan, built, whole, start, json or rank > 0, {**how, "refit": refit})
    if rank > 0:
        return
    if made is not None and not json:
        show_candidates(made)
    saved = retry_once_on_interrupt(lambda: _save(model, place))
    if judged.stopped != "interrupted":
        shutil.rmtree(kept, ignore_errors=True)
    about, record = model.record["data"], model.record
    warn_of_full_users(about.get("users_with_every_item", 0), about["items"])
    if json:
        show_json({"run": saved, **{name: value for name, value in record.items() if name != "history"}})
        return
    if "judged" in record:
        show(f"saved in {saved}; next: sahcns serve {saved}, or sahcns recommend {saved} --everyone --to lists.csv")
        return
    epochs = f"{count(judged.epochs_run, 'epoch')} in {judged.seconds['total']:.1f} s"
    if whole:
        pairs, full = about["train"], about.get("users_with_every_item", 0) * about["items"]
        trained = f"{pairs - full:,} of the {pairs:,}" if full else f"all {pairs:,}"
        show(f"{epochs} over {trained} pairs; nothing was held out, so there is nothing to judge it by")
    else:
        terms = f"in percent, one seed, {'train+valid' if refit else built[3].mask} items left out of the test ranking"
        show(results(judged), "", f"{epochs}, {_ending(judged, saved)}; {terms}")
    if refit:
        epochs, pairs = count(about["refit"]["epochs"], "epoch"), count(about["train"], "pair")
        show(
            f"trained anew for {epochs} on {pairs}, validation included; the test part was ranked for that model alone"
        )
    for line in _against_former(about["start"]) if start is not None else ():
        show(line)
    show(f"saved in {saved}" + (f"; the same command goes on from {kept}" if kept.exists() else ""))


def _refuse(plan: "Plan", protocol: dict[str, Any], **given: Any) -> None:
    """Options that would be without effect."""
    if holds_orders(plan["data"]):
        for name in (name for name in ("whole", "refit") if given[name]):
            raise SettingError(
                f"--{name} is for a prepared set; from a file, what is kept learns from every pair anyway"
            )
        if given["start"] is not None:
            raise SettingError("--start is for a prepared set: a former model has seen what is held out of a file")
        from sahcns.model.choice import BEST, LABELS

        if given["keep"] not in (None, BEST, *LABELS):
            raise SettingError(f"--save {given['keep']!r} is not known; {nearest(given['keep'], LABELS)}")
        return
    for name, value in (("--read", given["read"]), ("--save", given["keep"])):
        if value:
            raise SettingError(f"{name} is for a file of orders, and {plan['data']} is none")
    if given["whole"] and given["refit"]:
        raise SettingError("--whole looks at nothing, so there is no epoch to --refit by; give one of the two")
    if given["whole"]:
        if "epochs" not in plan["protocol"]:
            raise SettingError(
                "--whole needs to know when to stop: give --epochs NUMBER, or the run that was judged with --config RUN"
            )
        for name in (name for name in JUDGING if name in protocol):
            raise SettingError(f"--whole holds nothing out, so --{name.replace('_', '-')} does not apply to it")


def _train_set(
    plan: "Plan", built: "Parts", whole: bool, start: Path | None, quiet: bool, how: dict[str, Any]
) -> "tuple[Recommender, Record]":
    """A model of a prepared set, whose record says where that lies and of which code it is."""
    from sahcns.cli.dataset import prepared_folder
    from sahcns.cli.plan import warn_of_differences
    from sahcns.data import load_split
    from sahcns.model import Recommender, fit
    from sahcns.sources import own_code
    from sahcns.training.progress import train_progress

    parts, terms = built[:3], built[3]
    folder = prepared_folder(plan["data"])
    home, own = folder.resolve(), [str(path.resolve()) for path in plan["import"]]
    split, code = load_split(folder), own_code(*map(type, parts))
    warn_of_differences(plan, None if whole else folder, split.fingerprint, code)  # with --whole there are no numbers
    if err().is_terminal and not quiet:
        pairs = (
            sum(len(part) for part in split.parts().values()) if whole else len(split.train)
        )  # at first, with --refit
        tell(f"{folder}: {split.n_users:,} users, {split.n_items:,} items, {pairs:,} training pairs")
        tell(f"{parts[0]}\n{parts[1]}")
    former = None if start is None else Recommender.load(start)
    about = {} if former is None or whole else former.record["data"]
    if learnt := "every pair" if "whole_of" in about else "the validation pairs" if "refit" in about else "":
        warn(f"{start} has learnt from {learnt} it had: where some are held out here, its numbers flatter it")
    with train_progress(terms, quiet=quiet, looks=not whole) as on_epoch:
        run = fit(split, *parts, protocol=terms, whole=whole, on_epoch=on_epoch, start=former, **how)
    record = run.recommender.record
    if not (whole or how["refit"]):  # else the folder holds the same pairs in other parts than the model was trained on
        record["data"]["folder"] = str(home)
    record |= ({"imports": own} if own else {}) | ({"code": code} if code is not None else {})
    return run.recommender, run.record


def _against_former(told: dict[str, Any]) -> Iterator[str]:
    """What stayed of the former model, and both side by side."""
    parts = (f"{told[what]['stay']:,} {what} stayed, {told[what]['new']:,} are new" for what in ("users", "items"))
    yield "; ".join(parts)
    if "before" in told:
        for name, after in told["after"].items():
            yield f"{name} of the {told['judged']:,} users that both know: {told['before'][name]:.2%} before, {after:.2%} now"
    yield f"{told['same']:.0%} of the items of their lists are the same"


def _logs(names: list[str], place: Path) -> "list[Log]":
    """Those of a run at `place`: in a folder beside it, since its own is written whole at the end."""
    from sahcns.training.log import LOGS, JsonLines, Log

    beside = place.with_name(f"{place.name}.log")
    made: list[Log] = [JsonLines(beside / "epochs.jsonl")] if names else []
    for name in dict.fromkeys(names):
        if name not in LOGS:
            raise SettingError(f"--log {name!r} is not known; {nearest(name, LOGS)}")
        made += LOGS[name](beside)
    return made


def _ending(record: "Record", saved: Path) -> str:
    """Why training stopped, and whether it stopped too early, or before the test part was ranked."""
    if record.data["test"] and not record.test:
        return f"{STOPPED[record.stopped]}, and not ranked on the test part: `sahcns evaluate {saved}` does that"
    last = record.stopped == "epochs" and record.best_epoch == record.epochs_run - 1
    return STOPPED[record.stopped] + (", of which the last was the best, so more may be better" if last else "")


def _save(model: "Recommender", out: Path) -> Path:
    """The folder of the model: `out`, or, where that cannot be written by now, one among temporary files."""
    try:
        return model.save(out)
    except DataError as error:
        other = Path(tempfile.gettempdir()) / f"sahcns-{out.resolve().name}-{os.getpid()}"
        if other.parent == out.resolve().parent:
            raise
        try:
            model.save(other)
        except DataError:
            raise error from None
        raise DataError(f"{error}; the trained model is in {other} instead") from error


def results(record: "Record") -> "Table":
    """Best and last epoch, validation and test, in percent; an epoch that Ctrl-C cut is none."""
    names = [name for name in record.valid["best"] if name.startswith(("recall@", "ndcg@"))]
    rows = table("", ">epoch", "part", *(f">{name}" for name in names))
    readings = [("best", record.best_epoch), ("last", record.epochs_run - 1)]
    for reading, epoch in readings[:1] if record.stopped == "interrupted" else readings:
        for part, values in (("valid", record.valid), ("test", record.test)):
            if reading in values:
                first = (reading, str(epoch)) if part == "valid" else ("", "")
                rows.add_row(*first, part, *(f"{100 * values[reading][name]:.2f}" for name in names))
    return rows
