"""`sahcns compare`."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, show_tables, tell, warn
from sahcns.cli.dataset import warn_of_full_users
from sahcns.cli.options import Device, Imports, Kernels, import_files, parse_names, with_protocol
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
    device: Device = None,
    kernels: Kernels = None,
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
    from sahcns.cli.compare_plan import build, parse_seeds, read_comparison, unchanged_pools
    from sahcns.cli.dataset import prepared_folder
    from sahcns.cli.progress import grid_progress

    tune_malloc()
    file = read_comparison(config) if config else {}
    sets, place = data or file.get("data"), out or file.get("out")
    if not sets:
        raise SettingError("no data: give a prepared folder, such as `sahcns compare films --out study`")
    if place is None:
        raise SettingError("no place for the results: give one with --out FOLDER")
    for name, what in (("manifest.json", "a prepared set"), ("run.json", "a trained model")):
        if (place / name).exists():
            raise SettingError(f"--out {place} is {what}; choose another folder for the results")
    own = [*file.get("import", ()), *(imports or ())]
    import_files(own)
    rows, models, terms = build(
        [{"name": name} for name in parse_names("--samplers", samplers)] or file.get("samplers", []),
        [{"name": name} for name in parse_names("--backbones", backbones)] or file.get("backbones", []),
        {**file.get("protocol", {}), **protocol},
        settings or [],
    )
    for line in unchanged_pools(rows, settings or []):
        tell(line)
    labels, rival = [row.label for row in rows], baseline or file.get("baseline")
    if rival is not None and rival not in labels:
        raise SettingError(f"--baseline {rival!r} is not compared; {nearest(rival, labels)}")
    from sahcns.lab.comparison import comparison_tables
    from sahcns.lab.comparison.compare import compare
    from sahcns.lab.grid.result import FAILED
    from sahcns.lab.tune.search import tuned_remarks

    processes = workers if workers is not None else file.get("workers", 1)
    chosen = tuned or file.get("tuned", ())
    with say_it_resumes(place), grid_progress(processes, quiet=json) as progress:

        def begin(jobs: "Sequence[Job]") -> None:
            for line in tuned_remarks(chosen, jobs):
                tell(line)
            if not json:
                tell(_scope(jobs))
            progress.begin(jobs)

        outcome = compare(
            [prepared_folder(one) for one in sets],
            rows,
            models,
            out=place,
            seeds=parse_seeds(seeds) if seeds is not None else file.get("seeds", 5),
            protocol=terms,
            tuned=chosen,
            kernels=kernels or file.get("kernels", "auto"),
            imports=own,
            workers=processes,
            device=device or file.get("device", "auto"),
            on_plan=begin,
            on_event=progress.update,
        )
    reasons = {failure.error for failure in outcome.failures}
    where = f"where in the code: {place / FAILED}" if any(map(_in_code, outcome.failures)) else ""
    if not outcome.results and len(reasons) == 1:
        raise TrainingError("; ".join(filter(None, [f"every run failed: {reasons.pop()}", where])))
    tables = comparison_tables(outcome.results, baseline=rival)
    if json:
        brief = [{k: v for k, v in one.to_dict().items() if k != "history"} for one in outcome.results]
        show_json({"folder": place, "results": brief, "failures": outcome.failures, "tables": tables})
    else:
        show_tables(tables)
        count = len(outcome.results)
        show("", f"{count} run{'s' * (count > 1)} in {place}; for a page of it: {_report(outcome)}")
    _tell_what_differs(outcome.results)
    described = {result.data["fingerprint"]: result.data for result in outcome.results}.values()
    for one in described:
        warn_of_full_users(one.get("users_with_every_item", 0), one["items"], one["name"] if len(described) > 1 else "")
    for failure in outcome.failures:
        warn(f"{failure.key} failed: {failure.error}")
    if outcome.failures:
        if where:
            tell(where)
        raise typer.Exit(1)


def _scope(jobs: "Sequence[Job]") -> str:
    """`12 runs: 4 samplers × 1 backbone × 3 seeds on films`."""
    counts = {
        "sampler": len({job.label for job in jobs}),
        "backbone": len({str(job.backbone) for job in jobs}),
        "seed": len({job.seed for job in jobs}),
    }
    words = " × ".join(f"{count} {what}{'s' * (count > 1)}" for what, count in counts.items())
    sets = ", ".join(dict.fromkeys(job.data_name for job in jobs))
    return f"{len(jobs)} run{'s' * (len(jobs) > 1)}: {words} on {sets}"


def _report(outcome: "Outcome") -> str:
    """The command for a page with these rows in this order, which decides what the others are held against."""
    from sahcns.lab.grid.result import results_in

    rows = list(dict.fromkeys(result.label for result in outcome.results))
    stored = list(dict.fromkeys(result.label for result in results_in(outcome.folder)))
    plain = rows == stored or any("," in row for row in rows)  # such a name cannot be given there
    return shlex.join(["sahcns", "report", str(outcome.folder), *([] if plain else ["--samplers", ",".join(rows)])])


def _tell_what_differs(results: "Sequence[Result]") -> None:
    """Say where results do not share one table, or were not made by the same sources."""
    from sahcns.lab.grid.result import terms_differ

    terms = {(result.terms.protocol, result.terms.kernels): result.terms for result in results}
    first, *others = terms.values()
    for other in others:  # another set has columns of its own in the same table
        reasons = terms_differ(first, replace(other, fingerprint=first.fingerprint))
        tell(f"separate tables, because of {'; '.join(reasons)}")
    made_by = {f"sahcns {result.machine['sahcns']}, commit {result.commit or 'unknown'}" for result in results}
    if len(made_by) > 1:
        warn(f"these results were not all made by the same sources: {'; '.join(sorted(made_by))}")


def _in_code(failure: "Failure") -> bool:
    """Whether it is an error of Python's, most often in a user's own file, and not a sentence of ours."""
    *_, last = failure.traceback.rstrip().rpartition("\n")
    return not last.startswith("sahcns.errors.")
