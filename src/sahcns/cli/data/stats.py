"""`sahcns data stats`."""

from pathlib import Path
from typing import Annotated

from sahcns.cli.console import Json, show, show_json, table, tell
from sahcns.cli.options import argument, option
from sahcns.errors import SettingError


def command(
    folders: Annotated[list[Path], argument("Folders from `sahcns data prepare`.", "DIR...")],
    plot: Annotated[
        Path | None,
        option("Draw the degree distributions of one set: .png, .svg or .pdf.", "FILE", "--plot"),
    ] = None,
    json: Json = False,
) -> None:
    """Users, items, interactions and density of prepared sets: the paper's Table I for your data.

    One set is shown with its parts and the spread of its degrees, several as one row each. What is read is verified
    against the checksums in the manifest.

    Examples: sahcns data stats films
              sahcns data stats toys yelp films
              sahcns data stats films --plot degrees.png
    """
    from sahcns.data import load_split, plot_degrees, statistics, statistics_table

    if plot and len(folders) > 1:
        raise SettingError(f"--plot draws one set, and {len(folders)} were given; run it for each")
    splits = [load_split(folder) for folder in folders]
    figures = [statistics(split) for split in splits]
    if plot:
        tell(f"drawn in {plot_degrees(splits[0], plot, title=folders[0].resolve().name)}")
    if json:
        show_json([{"folder": folder, **figure} for folder, figure in zip(folders, figures, strict=True)])
    elif len(folders) == 1:
        show(statistics_table(figures[0], title=folders[0].resolve().name))
    else:
        rows = table("set", ">users", ">items", ">interactions", ">density", ">train", ">valid", ">test", "fingerprint")
        for folder, figure in zip(folders, figures, strict=True):
            rows.add_row(
                folder.resolve().name,
                *(f"{figure[name]:,}" for name in ("users", "items", "interactions")),
                f"{figure['density']:.3%}",
                *(f"{part['interactions']:,}" for part in figure["parts"].values()),
                figure["fingerprint"][:12],
            )
        show(rows)
