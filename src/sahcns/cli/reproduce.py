"""`sahcns reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sahcns.cli.console import Json, show, show_json, tell
from sahcns.errors import DataError

if TYPE_CHECKING:
    from sahcns.studies.grid import Event


def command(
    prepared: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that holds prepared sets: amazon-toys, yelp-like, ml-1m.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where results are kept.")] = Path("results"),
    only: Annotated[
        str | None, typer.Option(metavar="PARTS", help="Some parts of the study, such as table2,figure4 (all).")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="At most so many seeds for each row.")
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:1.")] = "auto",
    json: Json = False,
) -> None:
    """Run the paper's tables and figures: what is missing of them, one small file for each run.

    Stopped at any moment, it goes on where it was. Sets that are not in DIR are left out and named.

    Examples: sahcns reproduce prepared --out results
              sahcns reproduce prepared --only table2 --seeds 3
    """
    from sahcns.studies.grid import run_grid
    from sahcns.studies.paper.experiments import EXPERIMENTS, experiment, jobs
    from sahcns.studies.paper.methods import SETS

    folders = {name: prepared / name for name in SETS if (prepared / name).is_dir()}
    if not folders:
        raise DataError(
            f"{prepared} holds none of the prepared sets {', '.join(SETS)}; see `sahcns data prepare --help`"
        )
    for name in SETS:
        if name not in folders:
            tell(f"{prepared / name} is not there: what needs it is left out")
    parts = [experiment(name.strip()) for name in only.split(",")] if only else list(EXPERIMENTS)
    told: dict[str, dict[str, int]] = {}
    for part in parts:
        wanted = jobs(part, folders, seeds=part.seeds[:seeds])
        done = run_grid(wanted, out, device=device, on_event=_line)
        told[part.name] = {"runs": len(wanted), "finished": len(done.results), "failed": len(done.failures)}
    if json:
        show_json({"folder": out, "parts": told})
        return
    for name, counts in told.items():
        show(f"{name}: {counts['finished']} of {counts['runs']} runs, {counts['failed']} failed")


def _line(event: "Event") -> None:
    """One line for each run that came to its end."""
    if event.kind == "failed":
        tell(f"{event.job.key} failed: {event.error}")
    elif event.kind == "finished" and event.result is not None:
        found = event.result
        tell(
            f"{found.data['name']} {found.backbone['name']} {found.label} seed {found.seed}: Recall@20 "
            f"{100 * found.metric('recall@20'):.2f}, best epoch {found.best_epoch}, {found.seconds['total']:.1f} s"
        )
