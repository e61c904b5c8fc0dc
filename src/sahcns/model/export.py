"""The vectors of a model for other systems: Parquet tables, plain arrays, or an index of faiss with its measured recall.

parquet   users.parquet (user, source, vector), items.parquet (item, title, category, people, vector)
npy       users.npy and items.npy [n, D] float32; user_ids.npy and item_ids.npy, whole numbers or texts
faiss     items.faiss: an index over the item vectors by inner product, whose row k is row k of items.npy: a graph (HNSW), or
          lists round centres (IVF), which takes less memory and is built sooner
export.json   what there is, and of an index how many of the true best items it finds

A score is the inner product of a user's and an item's vector. Who has no vector of their own (source fold-in or popular)
has zeros; what somebody has is not taken out.
"""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from sahcns.errors import SahcnsError, SettingError, nearest
from sahcns.folders import File, FolderKind, npy, write_folder
from sahcns.model.fold_in import fold_in
from sahcns.model.lists import id_series, parquet
from sahcns.model.recommender import Recommender
from sahcns.ranking import recommend

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("parquet", "npy", "faiss")
FILES = {
    "parquet": ("users.parquet", "items.parquet"),
    "npy": ("users.npy", "items.npy", "user_ids.npy", "item_ids.npy"),
    "faiss": ("items.faiss",),
}
EXPORT = FolderKind(
    what="export of a model",
    description="export.json",
    format="sahcns-export",
    version=1,
    make="make one with `sahcns export`",
    again="export the model again",
    some=frozenset(name for names in FILES.values() for name in names),
)
JUDGED_BY = 1000  # users whose true lists an index is held against
NEIGHBOURS = 32  # of each item in the graph
BREADTHS = {"hnsw": "efSearch", "ivf": "nprobe"}  # faiss's names of how many items, or lists, a search looks at
WIDEST = 2048


def export(
    model: Recommender,
    folder: str | os.PathLike[str],
    formats: Sequence[str] = ("parquet",),
    *,
    index: str = "hnsw",
    recall: float = 0.98,
    k: int = 20,
) -> dict[str, Any]:
    """Write the vectors of a model into a folder, whole or not at all; what export.json says of it.

    index    of faiss: "hnsw" or "ivf"
    recall   share of the true k best items that an index of faiss shall find; it is measured, and searches wider until then
    """
    for name in formats:
        if name not in FORMATS:
            raise SettingError(f"formats={name!r} is no format; {nearest(name, FORMATS)}")
    if not formats:
        raise SettingError(f"formats is empty; there are: {', '.join(FORMATS)}")
    if index not in BREADTHS:
        raise SettingError(f"index={index!r} is not known; {nearest(index, BREADTHS)}")
    if not 0 < recall <= 1:
        raise SettingError(f"recall={recall!r} must be above 0 and at most 1")
    if model.item_weights is not None:
        raise SettingError(
            f"{model.record['baseline']['name']} has weights between items and no vectors, so there is nothing to export; "
            "`sahcns recommend --everyone --to FILE` writes its lists; `sahcns train FILE --save model` keeps vectors"
        )
    described: dict[str, Any] = {
        "users": len(model.user_ids),
        "items": len(model.item_ids),
        "dimensions": model.item_vectors.shape[1],
        "formats": list(dict.fromkeys(formats)),
        "data": model.record.get("data", {}).get("fingerprint"),
    }
    vectors, sources = user_vectors(model)
    if "faiss" in formats:
        stored, described["index"] = _index(index, vectors[sources < 2], model.item_vectors, recall, k)
    else:
        stored = b""
    place = write_folder(EXPORT, folder, _files(model, vectors, sources, formats, stored), described)
    return {"folder": str(place), **described}


def user_vectors(model: Recommender) -> tuple[Tensor, Tensor]:
    """Vectors [n_users, D] and sources [n_users] into `SOURCES`: untrained ones by fold-in, or zeros."""
    vectors = model.user_vectors.clone()
    sources = torch.zeros(len(vectors), dtype=torch.int64)
    for user in model.untrained(torch.arange(len(vectors))).tolist():
        have = model.everything_of(user)
        vectors[user] = fold_in(model.item_vectors[have], model.item_gram) if len(have) else 0.0
        sources[user] = 1 if len(have) else 2
    return vectors, sources


def _files(
    model: Recommender, vectors: Tensor, sources: Tensor, formats: Sequence[str], index: bytes
) -> Iterator[File]:
    if "parquet" in formats:
        import polars as pl

        from sahcns.model.wishes import SOURCES

        users = pl.DataFrame({
            "user": id_series(model.user_ids),
            "source": pl.Series(SOURCES).gather(sources.numpy()),
            "vector": _vectors(vectors),
        })  # fmt: skip
        yield "users.parquet", [parquet(users)]
        every = range(len(model.item_ids))
        texts = {
            name: pl.Series([column[item] or None for item in every], dtype=pl.String)
            for name, column in (("title", model.titles), ("category", model.categories))
            if column is not None
        }
        people = pl.Series(model.holders.long().numpy())
        items = pl.DataFrame(
            {
                "item": id_series(model.item_ids),
                **texts,
                "people": people,
                "vector": _vectors(model.item_vectors),
            }
        )
        yield "items.parquet", [parquet(items)]
    if "npy" in formats:
        yield "users.npy", npy(vectors.numpy())
        yield "items.npy", npy(model.item_vectors.numpy())
        for stem, ids in (("user_ids", model.user_ids), ("item_ids", model.item_ids)):
            yield f"{stem}.npy", npy(np.array(list(ids)))
    if "faiss" in formats:
        yield "items.faiss", [index]


def _index(kind: str, users: Tensor, items: Tensor, recall: float, k: int) -> tuple[bytes, dict[str, Any]]:
    """An index of the items, searched as widely as `recall` takes, and how many of the true best it finds."""
    try:
        import faiss
    except ImportError:
        raise SahcnsError("an index needs faiss, which is not installed; pip install 'sahcns[ann]'") from None
    if not len(users):
        raise SettingError("nobody has a vector, so no index could be judged")
    count, width = items.shape
    k, widest = min(k, count), WIDEST
    built: Any
    if kind == "hnsw":
        built, name = faiss.IndexHNSWFlat(width, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT), f"HNSW{NEIGHBOURS}"
        built.hnsw.efConstruction, breadth = 200, max(16, k)
    else:
        # faiss wants 39 items a centre to find it by
        widest, breadth = max(1, min(round(4 * count**0.5), count // 39)), 1
        built, name = faiss.index_factory(width, f"IVF{widest},Flat", faiss.METRIC_INNER_PRODUCT), f"IVF{widest}"
        built.train(items.numpy())
    built.add(items.numpy())
    chosen = torch.linspace(0, len(users) - 1, min(JUDGED_BY, len(users))).long()
    best = recommend(users[chosen], items, None, k)[0].numpy()
    while True:
        faiss.ParameterSpace().set_index_parameter(built, BREADTHS[kind], breadth)
        found = built.search(users[chosen].numpy(), k)[1]
        hits = [len(np.intersect1d(one, true)) for one, true in zip(found, best, strict=True)]
        reached = float(np.mean(hits) / best.shape[1])
        if reached >= recall or breadth >= widest:
            break
        breadth = min(2 * breadth, widest)
    about = {"kind": f"{name}, inner product", "breadth": breadth, "judged_by": len(chosen)}
    return faiss.serialize_index(built).tobytes(), {**about, f"recall@{k}": reached, "wanted": recall}


def _vectors(table: Tensor) -> "pl.Series":
    import polars as pl

    return pl.Series(table.numpy(), dtype=pl.Array(pl.Float32, table.shape[1]))
