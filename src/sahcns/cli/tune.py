"""`sahcns tune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, warn
from sahcns.cli.dataset import warn_of_full_users
from sahcns.cli.options import Imports, import_files, with_protocol
from sahcns.cli.process import say_it_resumes, tune_malloc
from sahcns.errors import SettingError

if TYPE_CHECKING:
    from sahcns.lab.tuning.space import Space


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

    The test part is never ranked. What is searched stands with the settings themselves; the pool is searched only with
    --pool, so that samplers are compared at equal pools. Stopped at any moment, the search goes on where it was when it
    is started again; started several times on one folder, it shares the trials. FOLDER/tuned.json is for
    `sahcns compare --tuned`, FOLDER/trials.json holds every trial.

    Examples: sahcns tune films --samplers dns,mixgcf,sahc --trials 20 --out tuned
              sahcns tune films --trials 49 --out grid
              sahcns tune films --samplers dns,dns-mn,sahc --pool 10 --out equal
              sahcns tune films --import my.py --samplers mine --out tuned
    """
    from sahcns.cli.compare_plan import ComparePlan, names_in
    from sahcns.cli.console import show_tables
    from sahcns.cli.dataset import prepared_folder
    from sahcns.cli.tune_progress import tune_progress
    from sahcns.lab.tuning.proposing import optuna_module
    from sahcns.lab.tuning.tables import search_tables
    from sahcns.lab.tuning.tune import spaces_of, tune

    tune_malloc()
    optuna_module()
    import_files(imports or ())
    parts = names_in(samplers, "--samplers")
    plan = ComparePlan(samplers=parts, backbones=({"name": backbone},), protocol=protocol)
    rows, (model,), terms = plan.build(settings or [])
    kinds, fixed = [row.kind for row in rows], {row.kind.name: row.settings for row in rows if row.settings}
    pools = sizes_in(pool)
    folder = prepared_folder(data)
    spaces = spaces_of(kinds, pool=pools, fixed=fixed)
    begin = [line for space in spaces for line in told(space, trials, bool(pools))]
    with say_it_resumes(out), tune_progress(begin, quiet=json) as watch:
        found = tune(
            folder,
            kinds,
            out,
            backbone=model,
            protocol=terms,
            trials=trials,
            seed=seed,
            pool=pools,
            fixed=fixed,
            prune=pruning,
            workers=workers,
            imports=imports or (),
            device=device,
            kernels=kernels,
            watch=watch,
        )
    if json:
        show_json({"folder": out, **found.tuned()})
    else:
        show_tables(search_tables(found))
        show("", f"chosen values in {out / 'tuned.json'}, every trial in {out / 'trials.json'}")
    warn_of_full_users(max((trial.full_users for trial in found.trials), default=0), found.data["items"])
    empty = [kind.name for kind in kinds if found.best(kind.name) is None]
    for name in empty:
        said = next((trial.error for trial in found.of(name) if trial.error), "all were cut off")
        warn(f"no trial of {name} came to its end: {said}")
    if empty:
        raise typer.Exit(1)


def sizes_in(text: str | None) -> list[int]:
    """`5,10,20`."""
    try:
        return [int(part) for part in text.split(",")] if text is not None else []
    except ValueError:
        raise SettingError(f"--pool {text!r} must be a size, or several with commas, such as 5,10,20") from None


def told(space: "Space", trials: int, pools: bool) -> list[str]:
    """What will be searched, and what will not be although one might expect it."""
    points = space.points()
    few = points is not None and len(points) <= trials
    ending = ("; it is trained once" if not space.dimensions else ", each tried once") if few else ""
    lines = [f"{space}{ending}"]
    if pools and space.leaves_pool:
        lines.append(f"{space.name}: its pool stays {space.rest['pool']}; it draws negatives, not candidates")
    for name in space.open:
        lines.append(
            f"{space.name}: {name} stays {space.rest[name]}, since what it may be has no end; "
            f"to search it, give its setting search=(…)"
        )
    return lines
