"""`sahcns evaluate`."""

from typing import Annotated, Any

from sahcns.cli.console import Json, show, show_json, table
from sahcns.cli.dataset import data_of
from sahcns.cli.options import DataFolder, RunFolder, option, parse_names, parse_numbers
from sahcns.errors import DataError, SettingError

MOST = 1000  # a cut-off beyond this and beyond the number of items is a mistake, and would only cost memory
LED = ("recall", "ndcg")  # what the most popular items are held against
COUNTED = ("popularity", "bias", "gini")  # not shares, so not shown in percent


def command(
    run: RunFolder,
    data: DataFolder = None,
    part: Annotated[str, option("Rank against test or valid.", "PART")] = "test",
    mask: Annotated[str | None, option("Left out of the ranking: train, train+valid or none.", "WHICH")] = None,
    k: Annotated[str, option("Cut-offs.", "K,…", "--k", "-k")] = "10,20",
    metrics: Annotated[str | None, option("Metrics (all): recall, ndcg, precision, hit, mrr, map, …", "NAME,…")] = None,
    device: Annotated[str, option("auto, cpu or cuda.", "NAME")] = "auto",
    json: Json = False,
) -> None:
    """Rank a stored model again: any cut-off, any metric, over all items.

    The data must be that of the run, which its fingerprint decides. Where its folder is gone, or holds other data by
    now, the pairs kept with the model are used. --mask is that of training unless told. Beside it stands what showing
    everybody the most popular items would reach, which a model has to beat to be worth its while.

    Examples: sahcns evaluate runs/sahc
              sahcns evaluate runs/sahc --part valid -k 5,50 --metrics ndcg
    """
    from sahcns.model import Recommender
    from sahcns.ranking import METRICS, Truth, evaluate, means, measure, most_popular
    from sahcns.training.device import answering, pick_device

    ks, names = sorted({*parse_numbers("-k", k)}), parse_names("--metrics", metrics) or list(METRICS)
    if min(ks) < 1:
        raise SettingError(f"-k {k!r} must be whole numbers, 1 or more")
    where = pick_device(device)
    model = Recommender.load(run)
    if "whole_of" in model.record["data"]:
        raise DataError(
            f"{run} was trained on every pair, so nothing is left to judge it by; evaluate a run without --whole"
        )
    if part == "valid" and "refit" in model.record["data"]:
        raise DataError(
            f"{run} was trained anew on the validation part too; what is left to judge it by is --part test"
        )
    if max(ks) > max(MOST, len(model.item_ids)):
        raise SettingError(f"-k {max(ks)}: there are only {len(model.item_ids):,} items; rank fewer")
    split, source = data_of(model, data)
    masked: Any = mask or (model.record["protocol"]["mask"] if part == "test" else "train")
    which: Any = part
    with answering(where):
        truth = Truth.of(split, which, masked, where)
        users, items = model.user_vectors.to(where), model.item_vectors.to(where)
        values = evaluate(users, items, truth, ks, names)
        popular = means(measure(most_popular(truth, max(ks)), truth, ks, names), ks)
    if json:
        about = {"run": run.resolve(), "data": source, "fingerprint": split.fingerprint}
        ranked = {"metrics": values, "popular": popular}
        show_json({**about, "part": part, "mask": masked, "users": len(truth), **ranked})
        return
    rows = table("metric", *(f">@{cut}" for cut in ks), "what it is")
    for name in names:
        cells = (_cell(name, values[f"{name}@{cut}"]) for cut in ks)
        rows.add_row(name, *cells, METRICS[name].definition)
    show(rows, "", f"{part} part, {len(truth):,} users, {masked} items left out of the ranking")
    led = {name: " and ".join(_cell(name, popular[f"{name}@{cut}"]) for cut in ks) for name in names if name in LED}
    if led:
        show(f"with the most popular items for everybody: {', '.join(map(' '.join, led.items()))}")


def _cell(name: str, value: float) -> str:
    return f"{value:,.3f}" if name in COUNTED else f"{value:.2%}"
