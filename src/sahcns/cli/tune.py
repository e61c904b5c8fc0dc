"""`sahcns tune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, warn
from sahcns.cli.dataset import warn_of_full_users
from sahcns.cli.options import (
    DATA,
    Imports,
    Objective,
    On,
    Workers,
    import_files,
    option,
    parse_assignment,
    parse_names,
    with_protocol,
)
from sahcns.cli.process import tune_malloc

if TYPE_CHECKING:
    from sahcns.lab.tune.space import Space


@with_protocol
def command(
    protocol: dict[str, Any],
    data: Annotated[str, DATA],
    out: Annotated[Path, option("Where the trials are kept.", "FOLDER")],
    samplers: Annotated[str, option("Samplers, with commas between them; see `sahcns samplers`.", "NAMES")] = "sahc",
    backbone: Annotated[str, option("See `sahcns backbones`.", "NAME")] = "lightgcn",
    objective: Objective = None,
    trials: Annotated[int, option("Trials for each sampler.", "NUMBER")] = 20,
    epoch_budget: Annotated[
        int | None, option("Epochs for each sampler: once they are spent, no further trial is begun.", "NUMBER")
    ] = None,
    trial_seeds: Annotated[int, option("Trainings of a trial, whose value is their mean.", "NUMBER")] = 1,
    pool: Annotated[str | None, option("One pool for all samplers, or several to search: 5,10,20.", "SIZES")] = None,
    settings: Annotated[
        list[str] | None,
        option("Hold dens.schedule or protocol.l2, or set backbone.dim. Repeat for more.", "NAME=VALUE", "--set"),
    ] = None,
    search: Annotated[
        list[str] | None,
        option(
            "What to try: pool=10,20 or sahc.alpha=0,0.5 or protocol.l2=1e-5..1e-2, logarithmic from a factor of 10 on. "
            "Repeat for more.",
            "NAME=VALUES",
        ),
    ] = None,
    seed: Annotated[int, option("Of the search and of every run in it.", "NUMBER", min=0)] = 0,
    pruning: Annotated[
        bool,
        option("Cut off trials below the median at their epoch: quick, but unfair to slow ones.", None, "--pruning"),
    ] = False,
    workers: Workers = None,
    on: On = None,
    device: Annotated[str, option("auto, cpu, cuda or cuda:1.", "NAME")] = "auto",
    kernels: Annotated[str, option("auto; reference; lean; triton, -half, -ordered, -lean on a GPU.", "NAME")] = "auto",
    imports: Imports = None,
    json: Json = False,
) -> None:
    """Search for each sampler's best settings, L2 and step size, on validation, with the same budget for every sampler.

    The test part is never ranked. What is searched stands with the settings themselves: L2, the step size, the pool, and
    each sampler's own. --search changes it, and adds what backbone, objective and protocol have; what an option or --set
    gives a value is held at it. Stopped at any moment, the search goes on where it was when it is started again; started
    several times on one folder, it shares the trials. FOLDER/tuned.json is for `sahcns compare --tuned`,
    FOLDER/trials.json holds every trial.

    Examples: sahcns tune films --samplers dns,mixgcf,sahc --trials 20 --out tuned
              sahcns tune films --samplers dns,sahc --epoch-budget 4000 --trial-seeds 2 --out tuned
              sahcns tune films --l2 1e-4 --learning-rate 1e-3 --pool 10 --trials 49 --out grid
              sahcns tune films --search protocol.l2=1e-5..1e-2 --search backbone.depth=1,2,3 --out wide
              sahcns tune films --import my.py --samplers mine --out tuned
    """
    from sahcns.cli.console import show_tables
    from sahcns.cli.dataset import prepared_folder
    from sahcns.cli.plan import OF_ROW, build_comparison
    from sahcns.cli.progress import say_it_resumes, tune_progress
    from sahcns.lab.parts import JUDGED
    from sahcns.lab.places import HERE
    from sahcns.lab.tune.propose import import_optuna
    from sahcns.lab.tune.report import search_table
    from sahcns.lab.tune.space import spaces_of
    from sahcns.lab.tune.tune import tune

    tune_malloc()
    import_optuna()
    import_files(imports or ())
    names = [{"name": name} for name in parse_names("--samplers", samplers)]
    plan = {"samplers": names, "backbones": [{"name": backbone}], "protocol": protocol}
    plan["objective"] = {} if objective is None else {"name": objective}
    rows, (model,), minimised, terms = build_comparison(plan, settings or [])
    kinds, fixed = [row.kind for row in rows], {row.kind.name: row.settings for row in rows if row.settings}
    searched: dict[str, Any] = {f"protocol.{name}": () for name in protocol if name not in JUDGED}
    told = (parse_assignment("--set", text, "") for text in settings or ())
    searched |= {f"{part}.{argument}": () for part, argument, _ in told if part in OF_ROW}
    searched |= {} if pool is None else {"pool": pool}
    for text in search or ():
        owner, argument, values = parse_assignment("--search", text, "pool=10,20 or protocol.l2=1e-5..1e-2")
        searched[f"{owner}.{argument}" if owner else argument] = values
    folder = prepared_folder(data)
    parts: dict[str, Any] = {"backbone": model, "objective": minimised, "protocol": terms}
    spaces = spaces_of(kinds, fixed=fixed, search=searched, **parts)
    lines = [line for space in spaces for line in space_lines(space, trials, "pool" in searched)]
    with say_it_resumes(out), tune_progress(lines, quiet=json) as watch:
        result = tune(
            folder, kinds, out, **parts, trials=trials, epoch_budget=epoch_budget, seed=seed, trial_seeds=trial_seeds,
            fixed=fixed, search=searched, prune=pruning, workers=workers, imports=imports or (), device=device,
            kernels=kernels, on=on or HERE, watch=watch,
        )  # fmt: skip
    if json:
        show_json({"folder": out, **result.tuned()})
    else:
        show_tables([search_table(result)])
        show("", f"chosen values in {out / 'tuned.json'}, every trial in {out / 'trials.json'}")
    warn_of_full_users(max((trial.full_users for trial in result.trials), default=0), result.data["items"])
    empty = [kind.name for kind in kinds if result.best(kind.name) is None]
    for name in empty:
        error = next((trial.error for trial in result.of(name) if trial.error), "all were cut off")
        warn(f"no trial of {name} is complete: {error}")
    if empty:
        raise typer.Exit(1)


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
