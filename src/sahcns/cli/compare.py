"""`sahcns compare`."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, show_tables, tell, warn
from sahcns.cli.dataset import warn_of_full_users
from sahcns.cli.options import Imports, import_files, with_protocol
from sahcns.cli.process import say_it_resumes, tune_malloc
from sahcns.errors import SettingError, TrainingError, nearest

if TYPE_CHECKING:
    from sahcns.lab.grid.job import Job
    from sahcns.lab.grid.result import Result
    from sahcns.lab.grid.run import Failure, Outcome


@with_protocol
def command(
    protocol: dict[str, Any],
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DIR…", help="Prepared folders, or ml-latest-small, which ships inside."),
    ] = None,
    samplers: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="See `sahcns samplers` (rns,dns,mixgcf,sahc).")
    ] = None,
    backbones: Annotated[str | None, typer.Option(metavar="NAME,…", help="See `sahcns backbones` (lightgcn).")] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="How many, from 2020 on; or which, such as 2020,2021 (5).")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FOLDER", help="Where results are kept.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="sahc.alpha=0.5; pool=20 for all samplers; backbone.dim=32, backbone.simgcl.dim=32. Repeat for more.",
        ),
    ] = None,
    tuned: Annotated[
        list[Path] | None, typer.Option("--tuned", metavar="FILE", help="Settings from `sahcns tune`. Repeat for more.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the best is tested against (the strongest other)."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Processes; on a GPU several gain little (1).")
    ] = None,
    device: Annotated[str | None, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:1 (auto).")] = None,
    kernels: Annotated[
        str | None, typer.Option(metavar="NAME", help="auto; reference; triton, triton-half, triton-ordered on a GPU.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="A whole comparison as TOML or YAML; options override it."),
    ] = None,
    imports: Imports = None,
    json: Json = False,
) -> None:
    """Train every sampler on every backbone, set and seed, and put the results into a table with its statistics.

    Each run is a small file in the folder. Stopped or killed at any moment, the same command goes on where it was and
    runs only what is missing; several may work on one folder. A run that fails is named and does not stop the others.
    Results of different protocols or kernels stand in tables of their own; sets have columns of their own.

    Examples: sahcns compare films --samplers rns,dns,mixgcf,sahc --seeds 5 --out study
              sahcns compare films shop --backbones lightgcn,simgcl --out study
              sahcns compare films --set sahc.alpha=0.5 --set backbone.dim=32 --out study
              sahcns compare films --import my.py --samplers dns,mine --out study
              sahcns compare --config study.toml --workers 2
    """
    from sahcns.cli.compare_plan import SEEDS, ComparePlan, kept_pools, names_in, read_compare_plan, seeds_in
    from sahcns.cli.dataset import prepared_folder
    from sahcns.cli.grid_progress import grid_progress

    tune_malloc()
    plan = ComparePlan(
        data=tuple(data or ()),
        out=out,
        seeds=seeds_in(seeds),
        samplers=names_in(samplers, "--samplers"),
        backbones=names_in(backbones, "--backbones"),
        protocol=protocol,
        tuned=tuple(tuned or ()),
        baseline=baseline,
        workers=workers,
        device=device,
        kernels=kernels,
        imports=tuple(imports or ()),
    ).over(read_compare_plan(config) if config else ComparePlan())
    if not plan.data:
        raise SettingError("no data: give a prepared folder, such as `sahcns compare films --out study`")
    if plan.out is None:
        raise SettingError("no place for the results: give one with --out FOLDER")
    _refuse_other_folders(plan.out)
    import_files(plan.imports)
    rows, models, terms = plan.build(settings or [])
    for line in kept_pools(rows, settings or []):
        tell(line)
    labels = [row.label for row in rows]
    if plan.baseline is not None and plan.baseline not in labels:
        raise SettingError(f"--baseline {plan.baseline!r} is not compared; {nearest(plan.baseline, labels)}")
    from sahcns.lab.comparison import comparison_tables
    from sahcns.lab.comparison.compare import as_planned, planned, seeds_of
    from sahcns.lab.grid.result import FAILED
    from sahcns.lab.grid.run import run_grid
    from sahcns.lab.tune.tuned import tuned_remarks

    count = 1 if plan.workers is None else plan.workers
    jobs = planned(
        [prepared_folder(one) for one in plan.data],
        rows,
        models,
        seeds_of(SEEDS if plan.seeds is None else plan.seeds),
        terms,
        tuned=plan.tuned,
        kernels=plan.kernels or "auto",
        imports=plan.imports,
    )
    for line in tuned_remarks(plan.tuned, jobs):
        tell(line)
    if not json:
        tell(_scope(jobs))
    with say_it_resumes(plan.out), grid_progress(jobs, count, quiet=json) as told:
        outcome = run_grid(jobs, plan.out, workers=count, device=plan.device or "auto", on_event=told)
    _refuse_when_all_failed(outcome, plan.out / FAILED)
    outcome = as_planned(outcome, jobs)
    tables = comparison_tables(outcome.results, baseline=plan.baseline)
    if json:
        brief = [{k: v for k, v in one.to_dict().items() if k != "history"} for one in outcome.results]
        show_json({"folder": plan.out, "results": brief, "failures": outcome.failures, "tables": tables})
    else:
        show_tables(tables)
        count = len(outcome.results)
        show("", f"{count} run{'s' * (count > 1)} in {plan.out}; for a page of it: {_report(outcome)}")
    _tell_what_differs(outcome.results)
    sets = {result.data["fingerprint"]: result.data for result in outcome.results}
    for one in sets.values():
        warn_of_full_users(one.get("users_with_every_item", 0), one["items"], one["name"] if len(sets) > 1 else "")
    for failure in outcome.failures:
        warn(f"{failure.key} failed: {failure.error}")
    if outcome.failures:
        if any(map(_in_code, outcome.failures)):
            tell(f"where in the code: {plan.out / FAILED}")
        raise typer.Exit(1)


def _scope(jobs: "Sequence[Job]") -> str:
    """`12 runs: 4 samplers × 1 backbone × 3 seeds on films`."""
    counts: dict[str, set[object]] = {
        "sampler": {job.label for job in jobs},
        "backbone": {str(job.backbone) for job in jobs},
        "seed": {job.seed for job in jobs},
    }
    told = " × ".join(f"{len(found)} {what}{'s' * (len(found) > 1)}" for what, found in counts.items())
    return (
        f"{len(jobs)} run{'s' * (len(jobs) > 1)}: {told} on {', '.join(dict.fromkeys(job.data_name for job in jobs))}"
    )


def _report(outcome: "Outcome") -> str:
    """The command for a page with these rows in this order, which decides what the others are held against."""
    from sahcns.lab.grid.result import results_in

    rows = list(dict.fromkeys(result.label for result in outcome.results))
    there = dict.fromkeys(result.label for result in results_in(outcome.folder))
    told = ["sahcns", "report", str(outcome.folder)]
    plain = rows == list(there) or any("," in row for row in rows)  # such a name cannot be given there
    return shlex.join(told if plain else [*told, "--samplers", ",".join(rows)])


def _tell_what_differs(results: "Sequence[Result]") -> None:
    """Say it where results do not share one table, or were not made by the same sources.

    Another set has columns of its own, under its name; another protocol or other kernels have a table of their own.
    """
    from sahcns.lab.grid.result import terms_differ

    terms = {(result.terms.protocol, result.terms.kernels): result.terms for result in results}
    first, *others = terms.values()
    for other in others:
        tell(
            f"separate tables, because of {'; '.join(terms_differ(first, replace(other, fingerprint=first.fingerprint)))}"
        )
    made_by = {f"sahcns {result.machine['sahcns']}, commit {result.commit or 'unknown'}" for result in results}
    if len(made_by) > 1:
        warn(f"these results were not all made by the same sources: {'; '.join(sorted(made_by))}")


def _refuse_other_folders(out: Path) -> None:
    for name, what in (("manifest.json", "a prepared set"), ("run.json", "a trained model")):
        if (out / name).exists():
            raise SettingError(f"--out {out} is {what}; choose another folder for the results")


def _refuse_when_all_failed(outcome: "Outcome", folder: Path) -> None:
    """One reason for all is one sentence, as with any other mistake."""
    reasons = {failure.error for failure in outcome.failures}
    if not outcome.results and len(reasons) == 1:
        where = f"; where in the code: {folder}" if _in_code(outcome.failures[0]) else ""
        raise TrainingError(f"every run failed: {reasons.pop()}{where}")


def _in_code(failure: "Failure") -> bool:
    """Whether it is an error of Python's, most often in a user's own file, and not a sentence of ours."""
    *_, last = failure.traceback.rstrip().rpartition("\n")
    return not last.startswith("sahcns.errors.")
