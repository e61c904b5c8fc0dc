"""`sahcns inspect`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sahcns.cli.console import Json, show, show_json, show_tables, working
from sahcns.cli.options import DataFolder, Figures, Imports, RunFolder, assign, import_files, option, parse_names
from sahcns.errors import DataError, SettingError

if TYPE_CHECKING:
    from sahcns.lab import TrainedModel
    from sahcns.samplers import Sampler


def command(
    run: RunFolder,
    samplers: Annotated[
        str | None, option("Look with these (that of the run).", "NAME,…", "--sampler", "--samplers")
    ] = None,
    settings: Annotated[
        list[str] | None, option("pool=20 for all samplers, sahc.alpha=0.5. Repeat for more.", "NAME=VALUE", "--set")
    ] = None,
    pairs: Annotated[int | None, option("Show so many training pairs.", "NUMBER", min=1)] = None,
    user: Annotated[str | None, option("Pairs of this user (3).", "ID")] = None,
    item: Annotated[str | None, option("The pair of --user and this item.", "ID")] = None,
    epoch: Annotated[bool, option("Diagnostics over all training pairs.", None, "--epoch")] = False,
    cost: Annotated[bool, option("Time each sampler's share of an epoch.", None, "--cost")] = False,
    data: DataFolder = None,
    seed: Annotated[int, option("Of the pools and the choice of pairs.", "NUMBER", min=0)] = 0,
    html: Annotated[Path | None, option("Write all of it as one page.", "FILE")] = None,
    figures: Figures = None,
    device: Annotated[str, option("auto, cpu, cuda or cuda:1.", "NAME")] = "auto",
    kernels: Annotated[str, option("auto, or reference for plain torch.", "NAME")] = "auto",
    imports: Imports = None,
    json: Json = False,
) -> None:
    """Look inside a sampler at work on a trained model: single pairs in full, or all of them in numbers.

    For a pair: the pool with each candidate's scores over the layers, μ, σ, their z-scores and q, what is chosen and
    what DNS would choose, the gaps, ρ and λ, and the negative's score before and after. Over an epoch: hardness, pool
    gaps, strength, false negatives, agreement with DNS, gradients. Nothing is trained. The same seed gives every
    sampler the same pools. Without --pairs, --user, --epoch or --cost it is one pair and an epoch.

    Examples: sahcns inspect runs/sahc --pairs 5
              sahcns inspect runs/sahc --user 17 --item 318
              sahcns inspect runs/dns --samplers dns,sahc,mixgcf --epoch
              sahcns inspect runs/dns --sampler sahc --set alpha=0.5
              sahcns inspect runs/dns --html inside.html
    """
    if item is not None and user is None:
        raise SettingError(f"--item {item} needs --user ID: a pair is a user and one of their training items")
    from sahcns.cli.dataset import data_of
    from sahcns.lab import Inspection, TrainedModel, diagnose, inspect_pairs, inspection_report, sampler_cost
    from sahcns.model import Recommender
    from sahcns.training import Protocol
    from sahcns.training.device import answering, pick_device

    import_files(imports or ())
    recommender = Recommender.load(run)
    if "sampler" not in recommender.record:
        raise DataError(f"{run} is of a baseline, which has no sampler to look into")
    split, folder = data_of(recommender, data)
    everything = not (pairs or user or epoch or cost)
    count = pairs or (1 if everything else 3)
    views, diagnostics, costs = [], {}, []
    with answering(pick_device(device)):
        with working("rebuilding the model's layers"):
            model = TrainedModel.of(recommender, split, device=device, kernels=kernels)
        chosen = chosen_samplers(model, samplers, settings or [])
        if everything or pairs or user:
            each = [inspect_pairs(model, sampler=one, seed=seed, count=count, user=user, item=item) for one in chosen]
            views = [view for of_pair in zip(*each, strict=True) for view in of_pair]
        if everything or epoch:
            for one in chosen:
                with working(f"an epoch of {one.name}"):
                    diagnostics[one.name or type(one).__name__] = diagnose(model, sampler=one, seed=seed)
        if cost:
            protocol = Protocol.from_dict(model.record["protocol"])
            with working("timing epochs"):
                costs = sampler_cost(split, chosen, model.backbone, protocol=protocol, device=device, kernels=kernels)
    options = [
        *(("--samplers", samplers), ("--pairs", pairs), ("--user", user), ("--item", item), ("--seed", seed or None)),
        *(("--set", text) for text in settings or ()),
        *(("--import", path) for path in imports or ()),
    ]
    words = [str(word) for name, value in options if value is not None for word in (name, value)]
    line = shlex.join(["sahcns", "inspect", str(run), *words, *["--epoch"] * epoch, *["--cost"] * cost])
    inspection = Inspection(model.about, seed, tuple(views), diagnostics, tuple(costs))
    report = inspection_report(inspection, command=line)
    files = []
    if html is not None:
        from sahcns.files import write_whole
        from sahcns.lab.report.page import to_html

        files.append(write_whole(html, to_html(report), "page"))
    if figures is not None:
        from sahcns.lab.report.chart import save_all

        files += save_all(report.figures(), figures)
    if json:
        show_json({"run": run.resolve(), "data": folder, **inspection.to_dict(), "files": files})
        return
    show_tables(one for one in report.tables() if one not in report.lead)  # which repeats lines of the full table
    show("", report.summary[0], *(f"written to {path}" for path in files))


def chosen_samplers(model: "TrainedModel", names: str | None, settings: Sequence[str]) -> "list[Sampler]":
    """The samplers named, or the run's own; the run's own keeps the settings of the run."""
    from sahcns.cli.plan import build_part
    from sahcns.samplers import Sampler
    from sahcns.settings import class_named

    own = dict(model.record["sampler"])
    own_name = own.pop("name")
    wanted = parse_names("--samplers", names) or [type(model.sampler).name]
    values: dict[str, dict[str, Any]] = {name: own if name == own_name else {} for name in wanted}
    parts = [(dict.fromkeys(("", "sampler", name), ""), given) for name, given in values.items()]
    assign(settings, parts, "pool=20 or sahc.alpha=0.5")
    return [build_part(class_named(Sampler, name), given) for name, given in values.items()]
