"""Run the paper's study as far as it is missing, or rebuild its report and pages from what is there.

python -m reproduction run prepared --out reproduction/results
python -m reproduction run --quick
python -m reproduction pages --out reproduction/results --docs docs
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from reproduction import design
from reproduction.experiments import TITLES
from sahcns import SahcnsError, lab

RESULTS = Path(__file__).parent / "results"


def main(words: Sequence[str] | None = None) -> int:
    """The exit status: 0, 1 where runs failed, 2 for a mistake, 130 for Ctrl-C."""
    asked = _parser().parse_args(words)
    try:
        failures = asked.command(asked)
    except SahcnsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"interrupted; what is finished is kept in {asked.out}, and the same command goes on", file=sys.stderr)
        return 130
    for failure in failures:
        print(f"{failure.key} failed: {failure.error}", file=sys.stderr)
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description="The study of the SAHC-NS paper.")
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="run what is missing, then write the report")
    run.add_argument("prepared", nargs="?", type=Path, help="folder of the prepared sets amazon-toys, yelp-like, ml-1m")
    run.add_argument("--quick", action="store_true", help="a miniature on the set that ships inside, on a CPU")
    run.add_argument("--out", type=Path, help="where results are kept (reproduction/results; of --quick, quick)")
    run.add_argument("--only", default="", metavar="PARTS", help=f"some of {','.join(TITLES)}")
    run.add_argument("--seeds", type=int, help="at most so many seeds for each row")
    run.add_argument("--minutes", type=float, help="begin no run after so many minutes")
    run.add_argument("--workers", type=int, help="runs at once (1; of --quick, 2; of a cluster, what fits)")
    run.add_argument("--on", default="here", help="where the runs are: here, ray, ray:HOST:PORT, slurm:NAME=VALUE,…")
    run.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")
    run.set_defaults(command=_run, docs=None)
    pages = commands.add_parser(
        "pages", help="write the report, and with --docs the two pages of the documentation and their figure"
    )
    pages.add_argument("--out", type=Path, default=RESULTS, help="the folder of results (reproduction/results)")
    pages.add_argument("--docs", type=Path, help="a folder for results.md, its figure and does-it-hold.md")
    pages.set_defaults(command=_pages)
    return parser


def _run(asked: argparse.Namespace) -> "Sequence[lab.Failure]":
    from reproduction.study import Study, embedded_set

    asked.out = asked.out or (Path("quick") if asked.quick else RESULTS)
    if asked.quick == (asked.prepared is not None):
        words = "name the folder of prepared sets, or take --quick, which is on the set that ships inside"
        raise lab.SettingError(words)
    for name in ("seeds", "workers"):
        if (given := getattr(asked, name)) is not None and given < 1:
            raise lab.SettingError(f"--{name}={given} must be 1 or more")
    failures = Study.of(
        design.QUICK if asked.quick else design.PAPER,
        embedded_set(asked.out) if asked.quick else asked.prepared,
        asked.out,
        [name.strip() for name in asked.only.split(",") if name.strip()],
        seeds=asked.seeds,
        workers=asked.workers or (min(2, os.cpu_count() or 1) if asked.quick and asked.on == "here" else None),
        on=asked.on,
        device=asked.device,
        until=None if asked.minutes is None else time.time() + 60 * asked.minutes,
    ).run(print)
    _pages(asked)
    return failures


def _pages(asked: argparse.Namespace) -> "Sequence[lab.Failure]":
    from reproduction.evidence import Evidence
    from reproduction.pages import does_it_hold, page, results_page
    from reproduction.report import study_report
    from reproduction.sections import use

    home = asked.out
    if not (home / design.STUDY).exists() and not (home / "runs").is_dir():
        raise lab.DataError(f"{home} holds no results to report on; `make reproduce` makes them")
    evidence = Evidence.of(home)
    for name, one in evidence.progress.items():
        print(f"{name:<12}{one}")
    pages = {home / "report.html": lab.to_html(study_report(evidence))}
    for name, make in (("results.md", results_page), ("does-it-hold.md", does_it_hold)) if asked.docs else ():
        pages[asked.docs / name] = page(make(evidence))
    if asked.docs and evidence.progress["pools"].there:
        pages[asked.docs / f"{use.FIGURE}.svg"] = lab.to_svg(use.figure(evidence))
    for path, text in pages.items():
        print(f"page in {lab.write_whole(path, text, 'page')}")
    return ()


if __name__ == "__main__":
    sys.exit(main())
