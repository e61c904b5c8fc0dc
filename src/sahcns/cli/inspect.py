"""`sahcns inspect`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, working
from sahcns.cli.figure_files import save_figures
from sahcns.cli.options import Imports, import_files
from sahcns.errors import SettingError, nearest

if TYPE_CHECKING:
    from sahcns.lab.inspection.rebuilt import Rebuilt
    from sahcns.lab.inspection.report import Inspection
    from sahcns.samplers import Sampler


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder from `sahcns train`.")],
    samplers: Annotated[
        str | None,
        typer.Option("--sampler", "--samplers", metavar="NAME,…", help="Look with these (that of the run)."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="pool=20 for all samplers, sahc.alpha=0.5. Repeat for more."),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option("--pairs", metavar="NUMBER", min=1, help="Show so many training pairs.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="Pairs of this user (3).")] = None,
    item: Annotated[str | None, typer.Option("--item", metavar="ID", help="The pair of --user and this item.")] = None,
    epoch: Annotated[bool, typer.Option("--epoch", help="Diagnostics over all training pairs.")] = False,
    cost: Annotated[bool, typer.Option("--cost", help="Time each sampler's share of an epoch.")] = False,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The prepared folder, where it is not where it was.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Of the pools and the choice of pairs.")] = 0,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write all of it as one page.")] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Write each figure as SVG, PNG and PDF.")
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:1.")] = "auto",
    kernels: Annotated[str, typer.Option(metavar="NAME", help="auto, or reference for plain torch.")] = "auto",
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
    from sahcns.lab.inspection.costing import sampler_cost
    from sahcns.lab.inspection.diagnosing import diagnose
    from sahcns.lab.inspection.pairs import inspect_pairs
    from sahcns.lab.inspection.rebuilt import Rebuilt
    from sahcns.lab.inspection.report import Inspection
    from sahcns.model import Recommender
    from sahcns.training import Protocol
    from sahcns.training.device import answering, pick_device

    import_files(imports or ())
    recommender = Recommender.load(run)
    split, folder = data_of(recommender, data)
    everything = not (pairs or user or epoch or cost)
    count = pairs or (1 if everything else 3)
    views, found, costs = [], {}, []
    with answering(pick_device(device)):
        with working("rebuilding the model's layers"):
            model = Rebuilt.of(recommender, split, device=device, kernels=kernels)
        chosen = chosen_samplers(model, samplers, settings or [])
        if everything or pairs or user:
            each = [inspect_pairs(model, sampler=one, seed=seed, count=count, user=user, item=item) for one in chosen]
            views = [view for of_pair in zip(*each, strict=True) for view in of_pair]
        if everything or epoch:
            for one in chosen:
                with working(f"an epoch of {one.name}"):
                    found[one.name or type(one).__name__] = diagnose(model, sampler=one, seed=seed)
        if cost:
            protocol = Protocol.from_dict(model.record["protocol"])
            with working("timing epochs"):
                costs = sampler_cost(split, chosen, model.backbone, protocol=protocol, device=device, kernels=kernels)
    seen = Inspection(model.about, seed, tuple(views), found, tuple(costs))
    line = _typed(
        ("--samplers", samplers or None),
        *(("--set", text) for text in settings or ()),
        *(("--pairs", pairs), ("--user", user), ("--item", item), ("--seed", seed or None)),
        *(("--epoch", epoch), ("--cost", cost)),
        *(("--import", path) for path in imports or ()),
        run=run,
    )
    written = _written(seen, html, figures, line)
    if json:
        show_json({"run": run.resolve(), "data": folder, **seen.to_dict(), "files": written})
        return
    from sahcns.cli.console import show_tables

    show_tables(seen.tables())
    if written:
        show("", *(f"written to {path}" for path in written))


def chosen_samplers(model: "Rebuilt", names: str | None, settings: Sequence[str]) -> "list[Sampler]":
    """The samplers named, or the run's own; the run's own keeps the settings of the run."""
    from sahcns.cli.plan import made
    from sahcns.samplers import Sampler
    from sahcns.settings import class_named

    own = model.record["sampler"]
    told = [name.strip() for name in names.split(",") if name.strip()] if names else [type(model.sampler).name]
    twice = sorted({name for name in told if told.count(name) > 1})
    if not told or twice:
        raise SettingError(f"--samplers {names!r} must be names with commas between, each once, such as dns,sahc")
    values: dict[str, dict[str, Any]] = {name: {} for name in told}
    if own["name"] in values:
        values[own["name"]] = {argument: value for argument, value in own.items() if argument != "name"}
    for text in settings:
        _assign(text, values)
    return [made(class_named(Sampler, name), given) for name, given in values.items()]


def _assign(text: str, values: dict[str, dict[str, Any]]) -> None:
    """`pool=20` for every sampler, `sahc.alpha=0.5` for one."""
    name, equals, value = text.partition("=")
    which, _, argument = name.strip().rpartition(".")
    if not equals or not argument:
        raise SettingError(f"--set {text!r} must be NAME=VALUE, such as pool=20 or sahc.alpha=0.5")
    if which not in ("", "sampler") and which not in values:
        raise SettingError(f"--set {text!r}: {which} is not looked at; {nearest(which, values)}")
    for sampler, given in values.items():
        if which in ("", "sampler", sampler):
            given[argument] = value


def _written(seen: "Inspection", html: Path | None, figures: Path | None, line: str) -> list[Path]:
    """The page and the figures, where they were asked for."""
    from sahcns.files import write_whole
    from sahcns.lab.inspection.report import inspection_report
    from sahcns.lab.report.page import to_html

    written = []
    if html is not None:
        written.append(write_whole(html, to_html(inspection_report(seen, command=line)), "page"))
    if figures is not None:
        written += save_figures(((figure.name, figure) for figure in seen.figures()), figures)
    return written


def _typed(*options: tuple[str, object], run: Path) -> str:
    """The command line that shows the same again; True is an option without a value, None and False are none."""
    words = ["sahcns", "inspect", str(run)]
    for name, value in options:
        if value is not None and value is not False:
            words += [name] if value is True else [name, str(value)]
    return shlex.join(words)
