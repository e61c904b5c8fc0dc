"""`sahcns compare`."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, count, show, show_json, show_tables, tell, warn
from sahcns.cli.dataset import warn_of_full_users
from sahcns.cli.options import (
    Device,
    Imports,
    Kernels,
    Margin,
    Objective,
    On,
    Workers,
    argument,
    import_files,
    option,
    parse_names,
    with_protocol,
)
from sahcns.cli.process import tune_malloc
from sahcns.errors import SettingError, TrainingError, nearest

if TYPE_CHECKING:
    from sahcns.lab.grid.job import Job
    from sahcns.lab.grid.result import Failure, Result
    from sahcns.lab.grid.run import Outcome

TOLD = ("seeds", "tuned", "kernels", "workers", "on", "device")  # what is handed on as it is


@with_protocol
def command(
    protocol: dict[str, Any],
    data: Annotated[
        list[str] | None, argument("Prepared folders, or ml-latest-small, which ships inside.", "DIR…")
    ] = None,
    samplers: Annotated[str | None, option("See `sahcns samplers` (rns,dns,mixgcf,sahc).", "NAME,…")] = None,
    backbones: Annotated[str | None, option("See `sahcns backbones` (lightgcn).", "NAME,…")] = None,
    row: Annotated[
        list[str] | None,
        option(
            "One more row, with settings of its own: 'dns pool=32 protocol.l2=1e-2 label=dns-32'. Repeat for more.",
            "ROW",
        ),
    ] = None,
    objective: Objective = None,
    seeds: Annotated[str | None, option("How many, from 2020 on; or which: 2020,2021 (5).", "NUMBER")] = None,
    out: Annotated[Path | None, option("Where results are kept.", "FOLDER", "--out")] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "sahc.alpha=0.5; pool=20 for all samplers; backbone.dim=32, backbone.simgcl.dim=32, objective.temperature=0.2; "
            "of one row sahc.protocol.l2=1e-2. Repeat for more.",
            "NAME=VALUE",
            "--set",
        ),
    ] = None,
    tuned: Annotated[list[Path] | None, option("Settings from `sahcns tune`. Repeat for more.", "FILE")] = None,
    baseline: Annotated[str | None, option("What the best is tested against (the strongest other).", "NAME")] = None,
    margin: Margin = None,
    workers: Workers = None,
    on: On = None,
    device: Device = None,
    kernels: Kernels = None,
    config: Annotated[
        Path | None, option("A whole comparison as TOML or YAML; options override it.", "FILE", "--config")
    ] = None,
    imports: Imports = None,
    json: Json = False,
) -> None:
    """Train every sampler on every backbone, set and seed, and put the results into a table with its statistics.

    Each run is a small file in the folder. Stopped or killed at any moment, the same command goes on where it was and
    runs only what is missing; several may work on one folder. A run that fails is named and does not stop the others.
    What differs in how rows are trained stands beside each row. Results that are judged otherwise (--mask, --monitor), or
    made by other kernels, stand in tables of their own; sets have columns of their own.

    Examples: sahcns compare films --samplers rns,dns,mixgcf,sahc --seeds 5 --out study
              sahcns compare films shop --backbones lightgcn,simgcl --out study
              sahcns compare films --set sahc.alpha=0.5 --set backbone.dim=32 --out study
              sahcns compare films --samplers dns,sahc --row 'dns protocol.l2=1e-2' --out study
              sahcns compare films --import my.py --samplers dns,mine --out study
              sahcns compare --config study.toml --workers 2
    """
    from sahcns.cli.dataset import prepared_folder
    from sahcns.cli.plan import COMPARISON, build_comparison, merge, parse_row, parse_seeds, read_file
    from sahcns.cli.progress import grid_progress, say_it_resumes

    tune_malloc()
    typed = {
        "data": data, "out": out, "tuned": tuned, "baseline": baseline, "workers": workers, "device": device,
        "on": on, "kernels": kernels, "protocol": protocol, "seeds": None if seeds is None else parse_seeds(seeds),
        "margin": margin,
        "objective": {} if objective is None else {"name": objective},
        "samplers": [*({"name": name} for name in parse_names("--samplers", samplers)), *map(parse_row, row or ())],
        "backbones": [{"name": name} for name in parse_names("--backbones", backbones)], "import": imports or [],
    }  # fmt: skip
    plan = merge(typed, read_file(config, COMPARISON) if config else {})
    if "data" not in plan:
        raise SettingError("no data: give a prepared folder, such as `sahcns compare films --out study`")
    if "out" not in plan:
        raise SettingError("no place for the results: give one with --out FOLDER")
    place = plan["out"]
    for name, what in (("manifest.json", "a prepared set"), ("run.json", "a trained model")):
        if (place / name).exists():
            raise SettingError(f"--out {place} is {what}; choose another folder for the results")
    import_files(plan["import"])
    rows, models, minimised, terms = build_comparison(plan, settings or [])
    labels, rival = [row.label for row in rows], plan.get("baseline")
    if rival is not None and rival not in labels:
        raise SettingError(f"--baseline {rival!r} is not compared; {nearest(rival, labels)}")
    from sahcns.lab.comparison import comparison_tables
    from sahcns.lab.comparison.compare import compare
    from sahcns.lab.comparison.statistics import MARGIN
    from sahcns.lab.grid.result import FAILED
    from sahcns.lab.tune.search import tuned_remarks

    with say_it_resumes(place), grid_progress(quiet=json) as progress:

        def begin(jobs: "Sequence[Job]") -> None:
            for line in [*tuned_remarks(plan.get("tuned", ()), jobs), *([] if json else [_scope(jobs, len(models))])]:
                tell(line)
            progress.begin(jobs)

        outcome = compare(
            [prepared_folder(one) for one in plan["data"]],
            rows,
            models,
            out=place,
            objective=minimised,
            protocol=terms,
            imports=plan["import"],
            on_plan=begin,
            on_event=progress.update,
            **{name: plan[name] for name in TOLD if name in plan},
        )
    reasons = {failure.error for failure in outcome.failures}
    where = f"where in the code: {place / FAILED}" if any(map(_in_code, outcome.failures)) else ""
    if not outcome.results and len(reasons) == 1:
        raise TrainingError("; ".join(filter(None, [f"every run failed: {reasons.pop()}", where])))
    tables = comparison_tables(outcome.results, baseline=rival, margin=plan.get("margin", MARGIN))
    if json:
        brief = [{k: v for k, v in one.to_dict().items() if k != "history"} for one in outcome.results]
        show_json({"folder": place, "results": brief, "failures": outcome.failures, "tables": tables})
    else:
        show_tables(tables)
        show("", f"{count(len(outcome.results), 'run')} in {place}; for a page of it: {_report(outcome)}")
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


def _scope(jobs: "Sequence[Job]", backbones: int) -> str:
    """`12 runs: 4 samplers × 1 backbone × 3 seeds on films`."""
    parts = {
        "sampler": len({job.label for job in jobs}),
        "backbone": backbones,
        "seed": len({job.seed for job in jobs}),
    }
    words = " × ".join(count(number, what) for what, number in parts.items())
    sets = ", ".join(dict.fromkeys(job.data_name for job in jobs))
    return f"{count(len(jobs), 'run')}: {words} on {sets}"


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

    terms = {(result.terms.judged, result.terms.kernels): result.terms for result in results}
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
