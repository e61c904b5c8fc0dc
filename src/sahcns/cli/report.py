"""`sahcns report`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sahcns.cli.console import Json, show, show_json, tell, warn
from sahcns.cli.options import Figures, Margin, argument, option, parse_names
from sahcns.errors import DataError, SettingError

if TYPE_CHECKING:
    from sahcns.lab.grid.result import Result
    from sahcns.lab.report.parts import Report, Section, Table

GIVEN = ("baseline", "samplers", "metrics", "margin")  # what is for a comparison alone
OTHERS = {
    "manifest.json": "a prepared set; `sahcns data stats` describes it",
    "run.json": "one trained model; `sahcns inspect` and `sahcns evaluate` look at it",
}


def command(
    folder: Annotated[Path, argument("From `sahcns compare` or `tune`; or a file of `inspect --json`.", "FOLDER")],
    out: Annotated[Path | None, option("Where the page goes (report.html in the folder).", "FILE", "--out")] = None,
    figures: Figures = None,
    tables: Annotated[
        Path | None, option("Write each table too, as Markdown, LaTeX and CSV; and runs.csv.", "DIR")
    ] = None,
    title: Annotated[str | None, option("The heading of the page.", "TEXT")] = None,
    baseline: Annotated[str | None, option("In a comparison, what the others are tested against.", "NAME")] = None,
    samplers: Annotated[
        str | None, option("In a comparison, its rows, in this order, as they are called (all, by name).", "NAME,…")
    ] = None,
    metrics: Annotated[
        str | None, option("In a comparison, its columns (recall and ndcg @10 and @20).", "NAME@K,…")
    ] = None,
    margin: Margin = None,
    json: Json = False,
) -> None:
    """Make one HTML page of results: the answer first, then tables, figures, protocol, versions, commands.

    Everything comes from the small files in the folder; nothing is trained. The page needs no network and no other
    file, follows the system's light or dark, fits a phone, and prints.

    Examples: sahcns report study
              sahcns report study --out page.html --title "Nine samplers on films"
              sahcns report study --figures figures --tables tables
              sahcns report study --samplers rns,dns,mine --metrics recall@20,hit@20 --tables tables
    """
    from sahcns.files import write_whole
    from sahcns.lab.report.page import can_draw, looks_in, to_html

    page = out or (folder / "report.html" if folder.is_dir() else folder.with_suffix(".html"))
    if page.is_dir():
        raise SettingError(f"--out {page} is a folder; give the page a name, such as {page / 'report.html'}")
    if not folder.exists():
        raise DataError(f"there is no folder {folder}; `sahcns compare` and `sahcns tune` make one")
    rows, columns = parse_names("--samplers", samplers), parse_names("--metrics", metrics)
    results = _results(folder, rows)
    reports = reports_in(folder, results, baseline, columns, margin)
    for name, value in zip(GIVEN, (baseline, samplers, metrics, margin), strict=True):
        if value and "comparison" not in reports:
            raise SettingError(f"--{name} {value} is for a comparison, and {folder} holds none")
    every = list(reports.values())
    report = replace(
        every[0],
        title=title or every[0].title,
        summary=[text for one in every for text in one.summary],
        sections=[section for one in every for section in one.sections],
        facts=[fact for one in every for fact in one.facts],
    )
    files: dict[str, Any] = {}
    if figures is not None:
        from sahcns.lab.report.chart import save_all

        files["figures"] = save_all(report.figures(), figures, looks_in(report))
    if not can_draw():
        tell("figures are tables of their values, because altair is not installed; pip install 'sahcns[report]'")
    files["page"] = write_whole(page, to_html(report), "page")
    if tables is not None:
        files["tables"] = list(_tables(report.tables(), results, tables))
    if json:
        show_json({"source": folder, "kind": " and ".join(reports), "title": report.title, **files})
        return
    show(f"page in {files['page']}")
    for name, where in (("figures", figures), ("tables", tables)):
        if where is not None:
            show(f"{len(files[name])} files of {name} in {where}")


def reports_in(
    folder: Path, results: "Sequence[Result]", baseline: str | None, metrics: Sequence[str], margin: float | None = None
) -> "dict[str, Report]":
    """What a folder or file holds, each thing in a word, and the report of it."""
    reports: dict[str, Report] = {}
    if folder.is_file():
        reports["inspection"] = _inspection(folder)
    elif results:
        from sahcns.lab.comparison import comparison_report
        from sahcns.lab.comparison.statistics import MARGIN
        from sahcns.lab.comparison.tables import METRICS

        _tell_versions(results)
        within = MARGIN if margin is None else margin
        comparison = comparison_report(results, baseline=baseline, metrics=metrics or METRICS, margin=within)
        reports["comparison"] = replace(comparison, sections=[*comparison.sections, *_failures(folder, results)])
    if (folder / "trials.json").exists():
        from sahcns.lab.tune.report import search_report

        reports["search"] = search_report(folder)
    if not reports:
        for name, what in OTHERS.items():
            if (folder / name).exists():
                raise DataError(f"{folder} is {what}")
        raise DataError(
            f"{folder} holds nothing to report on: neither runs (`sahcns compare`) nor trials.json (`sahcns tune`)"
        )
    return reports


def _results(folder: Path, samplers: Sequence[str]) -> "Sequence[Result]":
    """The finished runs in a folder, or those of the rows named."""
    if not (folder / "runs").is_dir():
        return []
    from sahcns.lab.comparison.boards import results_named
    from sahcns.lab.grid.result import results_in

    results = results_in(folder)
    if not results:
        raise DataError(f"no run in {folder} is finished yet; `sahcns compare` goes on with them")
    try:
        return results_named(results, samplers) if samplers else results
    except SettingError as error:
        raise SettingError(f"--samplers: {error}") from None


def _tell_versions(results: "Sequence[Result]") -> None:
    """Where a user's own file was changed between runs: which versions there are, and how to leave the earlier ones out."""
    from datetime import datetime

    from sahcns.lab.comparison.boards import own_versions, row_names

    for (label, backbone), codes in own_versions(results).items():
        if len(codes) < 2:
            continue
        times = {
            code: max((one.path.stat().st_mtime, one.key) for one in runs if one.path) for code, runs in codes.items()
        }
        last = sorted(codes, key=times.__getitem__)
        when = {code: datetime.fromtimestamp(times[code][0]).isoformat(" ", "minutes") for code in last}
        versions = ", ".join(
            f"code={code or 'none'} ({len(codes[code])} runs, the last of {when[code]})" for code in last
        )
        tell(
            f"{label} on {backbone} was run with {len(codes)} versions of its own code: {versions}; to leave some out, name "
            f"the rows to show, such as --samplers '{row_names(results)[times[last[-1]][1]]}'"
        )


def _failures(folder: Path, results: "Sequence[Result]") -> "Iterator[Section]":
    """Runs of the rows shown that should be in the tables and are not."""
    from sahcns.lab.grid.result import FAILED, Failure, results_in
    from sahcns.lab.report.parts import Section, Table

    done = results_in(folder)
    finished = {result.key for result in done}
    keys = sorted(path.stem for path in (folder / FAILED).glob("*.json") if path.stem not in finished)
    if not keys:
        return
    failures = [failure for key in keys if (failure := Failure.load(folder, key))]
    hidden = {result.label for result in done} - {result.label for result in results}
    rows = [[one.label, one.key, one.error] for one in failures if one.label not in hidden]
    if rows:
        caption = "The next `sahcns compare` tries them."
        yield Section("Missing", [Table("failed", "Runs that failed", ["row", "run", "why"], rows, caption)])


def _inspection(file: Path) -> "Report":
    from sahcns.files import read_json
    from sahcns.lab import Inspection, inspection_report
    from sahcns.plain import read_from

    values = read_json(file, missing=f"there is no file {file}", again="`sahcns inspect --json` writes such a file")
    if not isinstance(values, dict) or not {"model", "pairs", "diagnostics"} <= values.keys():
        raise DataError(f"{file} is not what `sahcns inspect --json` writes, and not a folder either")
    with read_from(file):
        return inspection_report(Inspection.from_dict(values))


def _tables(tables: "Sequence[Table]", results: "Sequence[Result]", folder: Path) -> Iterator[Path]:
    """Each table as Markdown, LaTeX and CSV; and every finished run that the page is about, one row each."""
    from sahcns.files import write_whole
    from sahcns.lab.comparison.tables import runs_table
    from sahcns.lab.report.parts import unique_names
    from sahcns.lab.report.tables import letters_missing, to_csv, to_latex, to_markdown

    for table, name in zip(tables, unique_names(table.name for table in tables), strict=True):
        latex = to_latex(replace(table, name=name))  # no label is there twice either
        for ending, text in (("md", to_markdown(table)), ("tex", latex), ("csv", to_csv(table))):
            yield write_whole(folder / f"{name}.{ending}", text, "table")
    if results:
        yield write_whole(folder / "runs.csv", to_csv(runs_table(results)), "table")
    letters = " ".join(dict.fromkeys(letter for table in tables for letter in letters_missing(table)))
    if letters:
        warn(f"pdflatex has no {letters}: with these tables use lualatex or xelatex, and a font that has them")
