"""`sahcns export`."""

from pathlib import Path
from typing import Annotated

from sahcns.cli.console import Json, show, show_json, warn
from sahcns.cli.options import RunFolder, option


def command(
    run: RunFolder,
    to: Annotated[Path, option("The folder to write.", "DIR", "--to")],
    formats: Annotated[
        list[str] | None, option("parquet (unless told), npy or faiss. Repeat for more.", "NAME", "--format")
    ] = None,
    index: Annotated[str, option("Of faiss: hnsw, or ivf, which is smaller and built sooner.", "NAME")] = "hnsw",
    recall: Annotated[float, option("Share of the true best items that a faiss index shall find.", "SHARE")] = 0.98,
    k: Annotated[int, option("How many best items it is judged by.", "NUMBER", "-k", "--k", min=1)] = 20,
    json: Json = False,
) -> None:
    """Write a model's vectors for other systems: Parquet tables, plain arrays, an index of faiss.

    A score is the inner product of a user's and an item's vector. An index is held against the true lists of up to 1,000
    users and searches as widely as --recall takes; what it reached stands in export.json. It takes faiss-cpu
    (pip install 'sahcns[ann]').

    Examples: sahcns export runs/films --to vectors
              sahcns export runs/films --to vectors --format npy --format faiss --index ivf --recall 0.95
    """
    from sahcns.folders import refuse_foreign
    from sahcns.model import Recommender
    from sahcns.model.export import EXPORT, FILES, export

    refuse_foreign(EXPORT, to)
    about = export(Recommender.load(run), to, tuple(formats or ("parquet",)), index=index, recall=recall, k=k)
    judged = about.get("index", {})
    reached = next((value for name, value in judged.items() if name.startswith("recall@")), None)
    if reached is not None and reached < recall:
        warn(f"the index finds {reached:.1%} of the true best items, less than --recall {recall:g}")
    if json:
        show_json(about)
        return
    show(f"{about['users']:,} users and {about['items']:,} items of {about['dimensions']} dimensions written to {to}")
    show(*(f"  {name}" for form in about["formats"] for name in FILES[form]))
    if reached is not None:
        show(
            f"the index finds {reached:.1%} of the true best {min(k, about['items'])} items, by {judged['judged_by']:,} users"
        )
