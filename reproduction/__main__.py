"""`sahcns reproduce`."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, table, tell, warn
from sahcns.cli.process import say_it_resumes, tune_malloc
from sahcns.lab import DataError, SettingError

if TYPE_CHECKING:
    from reproduction.study import Study
    from sahcns.lab import Failure


def command(
    prepared: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A folder that holds the prepared sets amazon-toys, yelp-like and ml-1m."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Where results are kept (results; of --quick, quick)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A miniature of all of it on the set that ships inside, on a CPU.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(metavar="PARTS", help="Some parts, such as table2,figure4; see above (all).")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="At most so many seeds for each row.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(metavar="NUMBER", min=0, help="Begin no run after so many minutes.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help='Write the page "Does it hold?" too, as Markdown.')
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="Processes that share the work (1; of --quick, 2).")
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:1.")] = "auto",
    json: Json = False,
) -> None:
    """Run the paper's whole study, as far as it is missing, and report ours beside the paper's numbers.

    Parts: tuning, table2, table3, figure4, table4, equal, pools, choices, splits, power, mechanisms, efficiency. Tables
    and figures share runs, and what tuning chooses feeds the others. Each run is one small file; stopped at any moment,
    the same command goes on where it was. Sets that are not in DIR are left out and named. At the end the report is
    written to FOLDER/report.html. Without DIR nothing is run, and the report is made from what is there.

    Examples: sahcns reproduce --quick
              sahcns reproduce prepared --out results
              sahcns reproduce prepared --only table2 --seeds 3 --minutes 20
              sahcns reproduce --out results --page docs/does-it-hold.md
    """
    from reproduction.design import PAPER, QUICK

    tune_malloc()
    home = out or Path("quick" if quick else "results")
    failures: Sequence[Failure] = ()
    if quick and prepared is not None:
        raise SettingError(f"--quick is on the set that ships inside; leave out {prepared}, or leave out --quick")
    if quick or prepared is not None:
        from reproduction.study import Study

        until = None if minutes is None else time.time() + 60 * minutes
        design, folder = (QUICK, _embedded(home)) if quick else (PAPER, prepared or Path())
        parts = [name.strip() for name in only.split(",") if name.strip()] if only else []
        several = workers or (min(2, os.cpu_count() or 1) if quick else 1)
        study = Study.of(design, folder, home, parts, seeds=seeds, workers=several, device=device, until=until)
        failures = run_study(study, quiet=json)
    else:
        about_runs = {"--only": only, "--seeds": seeds, "--minutes": minutes, "--workers": workers}
        _refuse_nothing(home, [name for name, value in about_runs.items() if value is not None])
    standings, written = _report(home, page)
    if json:
        parts_told = {name: {"there": one.found, "of": one.wanted, "what": one.what} for name, one in standings.items()}
        show_json({"folder": home, "parts": parts_told, "failures": failures, **written})
    else:
        _show(standings, written)
    for failure in failures:
        warn(f"{failure.key} failed: {failure.error}")
    if failures:
        raise typer.Exit(1)


def _refuse_nothing(home: Path, about_runs: Sequence[str]) -> None:
    """Without sets nothing is run: whoever asked for runs, or has no results yet, has forgotten the folder."""
    from reproduction.design import STUDY
    from sahcns.lab import RUNS

    remedy = "name the folder of prepared sets, or take --quick"
    if about_runs:
        raise SettingError(f"{about_runs[0]} is about runs, and without prepared sets nothing is run; {remedy}")
    if not (home / STUDY).exists() and not (home / RUNS).is_dir():
        raise DataError(f"{home} holds no results to report on; to run the study, {remedy}")


def run_study(study: "Study", quiet: bool = False) -> "Sequence[Failure]":
    """Every stage; whoever stops it is told that nothing is lost. What failed is returned."""
    with say_it_resumes(study.out, quiet):
        return _stages(study, quiet)


def _stages(study: "Study", quiet: bool) -> "Sequence[Failure]":
    """Stage after stage, each with its progress."""
    from sahcns.cli.grid_progress import grid_progress
    from sahcns.cli.train_progress import clock
    from sahcns.lab import answering, pick_device, result_path, run_grid

    def say(message: str) -> None:
        if not quiet:
            tell(message)

    began = time.monotonic()

    def stage(title: str) -> None:
        say(f"{title} (after {clock(time.monotonic() - began)})")

    for name in study.absent:
        say(f"{name} is not there: what needs it is left out")
    study.design.save(study.out)
    study.split_anew()
    if "tuning" in study.parts:
        stage(f"1 of 4: tuning on {', '.join(one.name for one in study.sets)}")
        _tune(study, quiet)
    jobs = study.jobs
    there = sum(result_path(study.out, job.key).exists() for job in jobs)
    stage(f"2 of 4: {len(jobs)} runs for {', '.join(study.grids) or 'no table'}, {there} of them there")
    with grid_progress(jobs, study.workers, quiet=quiet) as told:
        outcome = run_grid(
            jobs, study.out, workers=study.workers, device=study.device, on_event=told, until=study.until
        )
    with answering(pick_device(study.device)):
        if "mechanisms" in study.parts:
            stage("3 of 4: looking into models")
            study.look(say)
        if "efficiency" in study.parts:
            stage("4 of 4: timing samplers")
            study.clock(say)
    stage("done")
    return outcome.failures


def _tune(study: "Study", quiet: bool) -> None:
    """Search by search; where Optuna is missing, tuning is left out unless it is all that was asked for."""
    from reproduction.study import OutOfTime
    from sahcns import SahcnsError
    from sahcns.cli.tune_progress import tune_progress
    from sahcns.lab import import_optuna

    try:
        import_optuna()
    except SahcnsError as error:
        if list(study.parts) == ["tuning"]:
            raise
        warn(f"{error}; SAHC-NS goes on with the values that there are")
        return
    for one, samplers in study.searches:
        with tune_progress([one.name], quiet=quiet) as watch:
            try:
                study.tune(one.folder, samplers, watch)
            except OutOfTime:
                return


def _embedded(out: Path) -> Path:
    """A folder with the embedded set, prepared; its random splits go beside it."""
    from dataclasses import replace

    from reproduction.design import EMBEDDED, EMBEDDED_CORE
    from sahcns import prepare_named, save_split
    from sahcns.lab import named_set

    home, recipe = out / "data", replace(named_set(EMBEDDED).recipe, core=EMBEDDED_CORE)
    if not (home / EMBEDDED / "manifest.json").exists():
        save_split(prepare_named(EMBEDDED, recipe=recipe), home / EMBEDDED)
    return home


def _report(home: Path, page: Path | None) -> tuple[dict[str, Any], dict[str, Path]]:
    from reproduction.evidence import Evidence
    from reproduction.page import does_it_hold
    from reproduction.report import paper_report
    from reproduction.sections.standing import TITLES
    from sahcns.lab import to_html, write_whole

    standings = Evidence.of(home)
    written = {"report": write_whole(home / "report.html", to_html(paper_report(home)), "page")}
    if page is not None:
        written["page"] = write_whole(page, does_it_hold(home), "page")
    return {name: standings.standing(name) for name in TITLES}, written


def _show(standings: dict[str, Any], written: dict[str, Path]) -> None:
    from reproduction.sections.standing import TITLES

    made = table("part", "", ">there", ">of", "")
    for name, one in standings.items():
        made.add_row(name, TITLES[name], str(one.found), str(one.wanted), one.what)
    show(made, "", *(f"{what} in {path}" for what, path in written.items()))
