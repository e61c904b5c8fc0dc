"""`sahcns add-items`."""

from pathlib import Path
from typing import Annotated

from sahcns.cli.console import Json, count, show, show_json, warn
from sahcns.cli.options import RunFolder, argument, option


def command(
    run: RunFolder,
    files: Annotated[list[str], argument("Files of who bought what, as `sahcns data prepare` reads them.", "FILE...")],
    out: Annotated[Path, option("The model folder to write; RUN itself is replaced whole.", "RUN", "--out")],
    read: Annotated[
        list[str] | None, option("How the files are read: user=COLUMN, item=COLUMN, delimiter, …", "NAME=VALUE")
    ] = None,
    json: Json = False,
) -> None:
    """Take new items into a model by their first buyers, without training again.

    Each new item gets the vector that scores highest for those who bought it and low for others. Items that the model
    knows stay as they are. It is for the days between two trainings.

    Examples: sahcns add-items runs/live orders.csv --out runs/live
    """
    from sahcns.cli.options import BASKETS, parse_reading
    from sahcns.cli.recommend import read_baskets
    from sahcns.model import Recommender
    from sahcns.model.folder import check_place
    from sahcns.model.new_items import add_items

    options = parse_reading(read or [], BASKETS)
    check_place(out)
    model = Recommender.load(run)
    grown = add_items(model, read_baskets(files, options))
    if grown.unknown:
        rows = count(sum(grown.unknown.values()), "row")
        warn(f"{rows} of {count(len(grown.unknown), 'person', 'people')} of whom the model learnt nothing, left aside")
    if grown.left_out:
        warn(f"{count(len(grown.left_out), 'item')} bought by nobody else, left out: {grown.left_out[0]} first")
    saved = grown.model.save(out)
    if json:
        show_json({"run": saved, "added": grown.added, "left_out": grown.left_out})
        return
    show(f"{count(len(grown.added), 'item')} added to {len(model.item_ids):,}, saved in {saved}")
