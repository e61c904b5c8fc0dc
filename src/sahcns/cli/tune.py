"""`sahcns tune`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, warn
from sahcns.cli.dataset import warn_of_full_users
from sahcns.cli.options import Imports, import_files, parse_names, with_protocol
from sahcns.cli.process import say_it_resumes, tune_malloc
from sahcns.errors import SettingError, nearest

if TYPE_CHECKING:
    from sahcns.lab.tune.space import Space, Values
    from sahcns.settings import Configured

LOGARITHMIC = 100  # a range is searched logarithmically from this ratio of its ends on


@with_protocol
def command(
    protocol: dict[str, Any],
    data: Annotated[
        str, typer.Argument(metavar="DIR", help="A prepared folder, or ml-latest-small, which ships inside.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the trials are kept.")],
    samplers: Annotated[
        str, typer.Option(metavar="NAMES", help="Samplers, with commas between them; see `sahcns samplers`.")
    ] = "sahc",
    backbone: Annotated[str, typer.Option(metavar="NAME", help="See `sahcns backbones`.")] = "lightgcn",
    trials: Annotated[int, typer.Option(metavar="NUMBER", help="Trials for each sampler.")] = 20,
    pool: Annotated[
        str | None, typer.Option(metavar="SIZES", help="One pool for all samplers, or several to search: 5,10,20.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Hold dens.schedule, or set backbone.dim. Repeat for more."),
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option(
            "--search",
            metavar="NAME=VALUES",
            help="What to try: sahc.alpha=0,0.5 or protocol.l2=1e-5..1e-2 or backbone.depth=1,2,3. Repeat for more.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Of the search and of every run in it.")] = 0,
    pruning: Annotated[
        bool,
        typer.Option(
            "--pruning", help="Cut off trials below the median at their epoch: quick, but unfair to slow ones."
        ),
    ] = False,
    workers: Annotated[int, typer.Option(metavar="NUMBER", help="Processes that share the work.")] = 1,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:1.")] = "auto",
    kernels: Annotated[
        str, typer.Option(metavar="NAME", help="auto; reference; triton, triton-half, triton-ordered on a GPU.")
    ] = "auto",
    imports: Imports = None,
    json: Json = False,
) -> None:
    """Search for each sampler's best settings, on validation, with the same number of trials for every sampler.

    The test part is never ranked. What is searched stands with the settings themselves, and --search changes it; the
    pool, the backbone and the protocol are searched only when asked for, so that samplers are compared on equal terms.
    Stopped at any moment, the search goes on where it was when it is started again; started several times on one
    folder, it shares the trials. FOLDER/tuned.json is for `sahcns compare --tuned`, FOLDER/trials.json holds every trial.

    Examples: sahcns tune films --samplers dns,mixgcf,sahc --trials 20 --out tuned
              sahcns tune films --trials 49 --out grid
              sahcns tune films --samplers dns,dns-mn,sahc --pool 10 --out equal
              sahcns tune films --search protocol.l2=1e-5..1e-2 --search pool=10,20 --out wide
              sahcns tune films --import my.py --samplers mine --out tuned
    """
    from sahcns.cli.compare_plan import build
    from sahcns.cli.console import show_tables
    from sahcns.cli.dataset import prepared_folder
    from sahcns.cli.tune_progress import tune_progress
    from sahcns.lab.tune.propose import import_optuna
    from sahcns.lab.tune.report import chosen_table
    from sahcns.lab.tune.tune import spaces_of, tune

    tune_malloc()
    import_optuna()
    import_files(imports or ())
    names = [{"name": name} for name in parse_names("--samplers", samplers)]
    rows, (model,), terms = build(names, [{"name": backbone}], protocol, settings or [])
    kinds, fixed = [row.kind for row in rows], {row.kind.name: row.settings for row in rows if row.settings}
    pools = sizes_in(pool)
    owners = {**{kind.name: kind for kind in kinds}, "backbone": type(model), "protocol": type(terms)}
    searched = dict(values_in(text, owners) for text in search or ())
    folder = prepared_folder(data)
    spaces = spaces_of(kinds, pool=pools, fixed=fixed, search=searched, backbone=model, protocol=terms)
    lines = [line for space in spaces for line in space_lines(space, trials, bool(pools) or "pool" in searched)]
    with say_it_resumes(out), tune_progress(lines, quiet=json) as watch:
        result = tune(
            folder,
            kinds,
            out,
            backbone=model,
            protocol=terms,
            trials=trials,
            seed=seed,
            pool=pools,
            fixed=fixed,
            search=searched,
            prune=pruning,
            workers=workers,
            imports=imports or (),
            device=device,
            kernels=kernels,
            watch=watch,
        )
    if json:
        show_json({"folder": out, **result.tuned()})
    else:
        show_tables([chosen_table(result)])
        show("", f"chosen values in {out / 'tuned.json'}, every trial in {out / 'trials.json'}")
    warn_of_full_users(max((trial.full_users for trial in result.trials), default=0), result.data["items"])
    empty = [kind.name for kind in kinds if result.best(kind.name) is None]
    for name in empty:
        error = next((trial.error for trial in result.of(name) if trial.error), "all were cut off")
        warn(f"no trial of {name} is complete: {error}")
    if empty:
        raise typer.Exit(1)


def sizes_in(text: str | None) -> list[int]:
    """`5,10,20`."""
    try:
        return [int(part) for part in text.split(",")] if text is not None else []
    except ValueError:
        raise SettingError(f"--pool {text!r} must be a size, or several with commas, such as 5,10,20") from None


def values_in(text: str, owners: "Mapping[str, type[Configured]]") -> "tuple[str, Values]":
    """`protocol.l2=1e-5..1e-2` or `pool=10,20`, by the setting's type in its owner, or in the first that has it."""
    from sahcns.settings import Between

    name, equals, values = (part.strip() for part in text.partition("="))
    word, _, argument = name.rpartition(".")
    if not equals or not values:
        raise SettingError(f"--search {text!r} must be NAME=VALUES, such as pool=10,20 or protocol.l2=1e-5..1e-2")
    if ".." in values:
        try:
            low, high = (float(part) for part in values.split(".."))
        except ValueError:
            raise SettingError(f"--search {text!r}: a range is two numbers, such as 1e-5..1e-2") from None
        return name, Between(low, high, log=low > 0 and high / low >= LOGARITHMIC)
    if word and word not in owners:
        raise SettingError(f"--search {text!r}: {word} is not tuned; {nearest(word, owners)}")
    having = (kind for kind in owners.values() if hasattr(kind, argument))
    kind = owners[word] if word else next(having, next(iter(owners.values())))
    return name, tuple(kind.parsed(argument, value) for value in values.split(","))


def space_lines(space: "Space", trials: int, pools: bool) -> list[str]:
    """What will be searched, and what will not be although one might expect it."""
    points = space.points()
    few = points is not None and len(points) <= trials
    ending = ("; it is trained once" if not space.dimensions else ", each tried once") if few else ""
    lines = [f"{space}{ending}"]
    if pools and space.kind.draws_negatives and "pool" in space.rest:
        lines.append(f"{space.name}: its pool stays {space.rest['pool']}; it draws negatives, not candidates")
    for name in space.unbounded:
        lines.append(f"{space.name}: {name} stays {space.rest[name]}, since it is unbounded; --search says what to try")
    return lines
