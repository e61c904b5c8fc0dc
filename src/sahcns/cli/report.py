"""`sahcns report`."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, tell, warn
from sahcns.cli.figure_files import save_figures
from sahcns.errors import DataError, SettingError

if TYPE_CHECKING:
    from sahcns.lab.grid.result import Result
    from sahcns.lab.report.parts import Report, Section

OTHERS = {
    "manifest.json": "a prepared set; `sahcns data stats` tells about it",
    "run.json": "one trained model; `sahcns inspect` and `sahcns evaluate` look at it",
}


def command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="From `sahcns compare` or `tune`; or a file of `inspect --json`."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where the page goes (report.html in the folder).")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Write each figure too, as SVG, PNG and PDF.")
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option("--tables", metavar="DIR", help="Write each table too, as Markdown, LaTeX and CSV; and runs.csv."),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The heading of the page.")] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="In a comparison, what the others are tested against.")
    ] = None,
    samplers: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…", help="In a comparison, its rows, in this order, as they are called (all, by name)."
        ),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="NAME@K,…", help="In a comparison, its columns (recall and ndcg @10 and @20).")
    ] = None,
    json: Json = False,
) -> None:
    """Make one HTML page of results: tables, figures that answer to the mouse, protocol, versions, commands.

    Everything comes from the small files in the folder; nothing is trained. The page needs no network and no other
    file, follows the system's light or dark, fits a phone, and prints.

    Examples: sahcns report study
              sahcns report study --out page.html --title "Nine samplers on films"
              sahcns report study --figures figures --tables tables
              sahcns report study --samplers rns,dns,mine --metrics recall@20,hit@20 --tables tables
    """
    from sahcns.files import write_whole
    from sahcns.lab.report.page import to_html

    wanted = _names("--samplers", samplers)
    kind, made = report_of(folder, baseline, wanted, _names("--metrics", metrics))
    if title is not None:
        made = replace(made, title=title)
    page = out or (folder / "report.html" if folder.is_dir() else folder.with_suffix(".html"))
    if page.is_dir():
        raise SettingError(f"--out {page} is a folder; give the page a name, such as {page / 'report.html'}")
    written: dict[str, Any] = {"page": write_whole(page, to_html(made), "page")}
    if figures is not None:
        written["figures"] = _figures(made, figures)
    if tables is not None:
        written["tables"] = [*_tables(made, tables), *_runs(folder, wanted, tables)]
    if json:
        show_json({"source": folder, "kind": kind, "title": made.title, **written})
        return
    show(f"page in {written['page']}")
    for name, where in (("figures", figures), ("tables", tables)):
        if where is not None:
            show(f"{len(written[name])} files of {name} in {where}")


def report_of(
    folder: Path, baseline: str | None = None, samplers: Sequence[str] = (), metrics: Sequence[str] = ()
) -> "tuple[str, Report]":
    """What a folder or file holds, in a word, and the report of it; a folder with several things gets one of all."""
    if not folder.exists():
        raise DataError(f"there is no folder {folder}; `sahcns compare` and `sahcns tune` make one")
    found: dict[str, Report] = {}
    if folder.is_file():
        found["inspection"] = _inspection(folder)
    elif (folder / "runs").is_dir():
        found["comparison"] = _comparison(folder, baseline, samplers, metrics)
    if (folder / "trials.json").exists():
        from sahcns.lab.tune.report import search_report

        found["search"] = search_report(folder)
    if not found:
        for name, what in OTHERS.items():
            if (folder / name).exists():
                raise DataError(f"{folder} is {what}")
        raise DataError(
            f"{folder} holds nothing to report on: neither runs (`sahcns compare`) nor trials.json (`sahcns tune`)"
        )
    for option, told in (("baseline", baseline), ("samplers", ",".join(samplers)), ("metrics", ",".join(metrics))):
        if told and "comparison" not in found:
            raise SettingError(f"--{option} {told} is for a comparison, and {folder} holds none")
    first, *rest = found.values()
    for other in rest:
        first = replace(
            first,
            summary=[*first.summary, *other.summary],
            sections=[*first.sections, *other.sections],
            facts=[*first.facts, *other.facts],
        )
    return " and ".join(found), first


def _comparison(folder: Path, baseline: str | None, samplers: Sequence[str], metrics: Sequence[str]) -> "Report":
    from sahcns.lab.comparison import comparison_report
    from sahcns.lab.comparison.tables import METRICS
    from sahcns.lab.grid.result import results_in

    results = results_in(folder)
    if not results:
        raise DataError(f"no run in {folder} is finished yet; `sahcns compare` goes on with them")
    shown = _shown(results, samplers)
    _tell_versions(shown)
    made = comparison_report(shown, baseline=baseline, metrics=metrics or METRICS)
    labels = {result.label for result in shown} if samplers else set()
    return replace(made, sections=[*made.sections, *_failed(folder, {result.key for result in results}, labels)])


def _shown(results: "Sequence[Result]", samplers: Sequence[str]) -> "Sequence[Result]":
    from sahcns.lab.comparison.boards import results_named

    try:
        return results_named(results, samplers) if samplers else results
    except SettingError as error:
        raise SettingError(f"--samplers: {error}") from None


def _tell_versions(results: "Sequence[Result]") -> None:
    """Where a user's own file was changed between runs: which versions there are, and how to leave the earlier ones out."""
    from datetime import datetime

    from sahcns.lab.comparison.boards import own_versions, row_names

    def written(one: "Result") -> float:
        return one.path.stat().st_mtime if one.path else 0.0

    for (label, backbone), codes in own_versions(results).items():
        if len(codes) > 1:
            lasts = {code: max(runs, key=written) for code, runs in codes.items()}
            told = ", ".join(
                f"{f'code={code}' if code else 'none'} ({len(codes[code])} runs, the last of "
                f"{datetime.fromtimestamp(written(last)).isoformat(' ', 'minutes')})"
                for code, last in sorted(lasts.items(), key=lambda pair: written(pair[1]))
            )
            row = row_names(results)[max(lasts.values(), key=written).key]
            tell(
                f"{label} on {backbone} was run with {len(codes)} versions of its own code: {told}; to leave some out, name "
                f"the rows to show, such as --samplers '{row}'"
            )


def _runs(folder: Path, samplers: Sequence[str], home: Path) -> Iterator[Path]:
    """Every finished run that the page is about, one row each."""
    from sahcns.files import write_whole
    from sahcns.lab.comparison.tables import runs_table
    from sahcns.lab.grid.result import results_in
    from sahcns.lab.report.as_csv import to_csv

    results = results_in(folder) if (folder / "runs").is_dir() else []
    if results:
        yield write_whole(home / "runs.csv", to_csv(runs_table(_shown(results, samplers))), "table")


def _names(option: str, text: str | None) -> list[str]:
    """`rns,dns`, each once; a comma in brackets, as in `sahc (alpha=0, pool=20)`, belongs to the name."""
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text or "") if name.strip()]
    if text is not None and (not names or len(set(names)) < len(names)):
        raise SettingError(f"{option} {text!r} must hold names with commas between, each once")
    return names


def _failed(folder: Path, finished: set[str], labels: Collection[str] = ()) -> "Iterator[Section]":
    """Runs that should be in the tables and are not."""
    from sahcns.lab.grid.result import FAILED
    from sahcns.lab.report.parts import Section, Table

    keys = sorted(path.stem for path in (folder / FAILED).glob("*.json") if path.stem not in finished)
    if keys:
        from sahcns.lab.grid.run import Failure  # knows jobs, which know torch

        failures = [failure for key in keys if (failure := Failure.load(folder, key))]
        rows = [[one.label, one.key, one.error] for one in failures if not labels or one.label in labels]
        table = Table(
            "failed", "Runs that failed", ["row", "run", "why"], rows, "The next `sahcns compare` tries them."
        )
        yield from [Section("Missing", [table])] if rows else []


def _inspection(file: Path) -> "Report":
    from sahcns.files import read_json
    from sahcns.lab import Inspection, inspection_report
    from sahcns.lab.plain import read_from

    values = read_json(file, missing=f"there is no file {file}", again="`sahcns inspect --json` writes such a file")
    if not isinstance(values, dict) or not {"model", "pairs", "diagnostics"} <= values.keys():
        raise DataError(f"{file} is not what `sahcns inspect --json` writes, and not a folder either")
    with read_from(file):
        return inspection_report(Inspection.from_dict(values))


def _figures(made: "Report", folder: Path) -> list[Path]:
    from sahcns.lab.report.page import figures_of, looks_in, unique_names

    drawn = figures_of(made)
    names = unique_names(figure.name for figure in drawn)
    return save_figures(zip(names, drawn, strict=True), folder, looks_in(made))


def _tables(made: "Report", folder: Path) -> Iterator[Path]:
    from sahcns.files import write_whole
    from sahcns.lab.report.as_csv import to_csv
    from sahcns.lab.report.as_latex import letters_missing, to_latex
    from sahcns.lab.report.as_markdown import to_markdown
    from sahcns.lab.report.page import tables_of, unique_names

    found = tables_of(made)
    for table, name in zip(found, unique_names(table.name for table in found), strict=True):
        latex = to_latex(replace(table, name=name))  # no label is there twice either
        for ending, written in (("md", to_markdown(table)), ("tex", latex), ("csv", to_csv(table))):
            yield write_whole(folder / f"{name}.{ending}", written, "table")
    letters = dict.fromkeys(letter for table in found for letter in letters_missing(table))
    if letters:
        warn(
            f"pdflatex has no {' '.join(letters)}: with these tables use lualatex or xelatex, and a font that has them"
        )
