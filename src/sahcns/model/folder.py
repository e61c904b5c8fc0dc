"""The model folder: safetensors, `.npy` id maps and a JSON record; nothing in it can run code, and it loads anywhere.

run.json               how it was trained and what came out, with the SHA-256 of each file; for people too
weights.safetensors    what was trained, to rank again or to go on from
vectors.safetensors    users [n_users, D] and items [n_items, D], final
known.safetensors      users, items [K] int32 and part [K] uint8: what each user is known to have; weights [K] float32,
                       where these count unalike; aside_users and aside_items [A] int32, where a filter took pairs out
user_ids, item_ids     .npy int64, or .utf8.npy and .offsets.npy
item_titles            .utf8.npy and .offsets.npy, where there are titles; item_categories alike
MODEL.md               the model's card, for people, who may add to it
item_weights           .safetensors, of EASE, GF-CF and item-kNN: offsets, columns and values of their weights in CSR
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from scipy.sparse import csr_matrix
from torch import Tensor

from sahcns.baselines import ItemWeights
from sahcns.data.ids import ID_FILES, id_files, load_id_files
from sahcns.described import Described
from sahcns.errors import DataError
from sahcns.files import refuse_unwritable
from sahcns.folders import File, FolderKind, load_folder, refuse_foreign, write_folder
from sahcns.model.card import CARD, card

if TYPE_CHECKING:
    from sahcns.model.recommender import Recommender

WEIGHTS = "item_weights.safetensors"
DENSE = 0.2  # share of weights beyond which a dense table is quicker
Model = TypeVar("Model", bound="Recommender")
RUN = FolderKind(
    what="trained model",
    description="run.json",
    format="sahcns-run",
    version=1,
    make="make one with `sahcns train`",
    again="train it again, or copy it again from where it was",
    some=ID_FILES | {WEIGHTS, CARD},
    entries=Described,
)


def write_model(model: "Recommender", folder: str | os.PathLike[str]) -> Path:
    """Write the model folder whole or not at all; a former model there is replaced only at the end."""
    return write_folder(RUN, folder, _files(model), model.record, [(CARD, [card(model).encode()])])


def read_model(kind: type[Model], folder: str | os.PathLike[str]) -> Model:
    """The model in a folder, on the CPU, every file checked against the record."""
    return load_folder(RUN, folder, lambda home, record: _read(kind, home, record))


def check_place(folder: str | os.PathLike[str]) -> None:
    """An error now, before hours of training, if a model could not be saved at `folder` later."""
    refuse_foreign(RUN, folder)
    refuse_unwritable(folder, RUN.what)


def _read(kind: type[Model], home: Path, record: dict[str, Any]) -> Model:
    files = record.pop("files")
    try:
        vectors, known = _owned(_tensors(home, "vectors")), _owned(_tensors(home, "known"))
        nobody = torch.zeros(0, dtype=torch.int32, device="cpu")
        users, items, titles, categories = load_id_files(home, files, mapped=False)
        model = kind(
            vectors["users"],
            vectors["items"],
            users,
            items,
            titles,
            known["users"],
            known["items"],
            known["part"],
            _tensors(home, "weights"),
            record,
            known.get("aside_users", nobody),
            known.get("aside_items", nobody),
            _item_weights(home, len(vectors["items"])) if WEIGHTS in files else None,
            categories,
            known.get("weights"),
        )
        _agree(model)
    except (OSError, ValueError, KeyError, SafetensorError, DataError) as error:
        why = f"no {error.args[0]!r} in it" if isinstance(error, KeyError) else error
        raise DataError(f"{home} is not a whole {RUN.what} ({why}); {RUN.again}") from error
    return model


def _files(model: "Recommender") -> Iterator[File]:
    yield "weights.safetensors", [_packed(model.weights)]
    yield "vectors.safetensors", [_packed({"users": model.user_vectors, "items": model.item_vectors})]
    known = {"users": model.known_users, "items": model.known_items, "part": model.known_part}
    aside = {"aside_users": model.aside_users, "aside_items": model.aside_items} if len(model.aside_users) else {}
    weights = {} if model.known_weights is None else {"weights": model.known_weights}
    yield "known.safetensors", [_packed(known | aside | weights)]
    if model.item_weights is not None:
        sparse = csr_matrix(model.item_weights.weights)
        columns = {
            "offsets": sparse.indptr.astype(np.int64),
            "columns": sparse.indices.astype(np.int32),
            "values": sparse.data,
        }
        yield WEIGHTS, [_packed({name: torch.from_numpy(column) for name, column in columns.items()})]
    yield from id_files(model.user_ids, model.item_ids, model.titles, model.categories)


def _packed(tensors: dict[str, Tensor]) -> bytes:
    """Copies, because safetensors refuses views that share memory, as users and items of one table do."""
    return save(
        {name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
    )


def _item_weights(home: Path, n_items: int) -> ItemWeights:
    parts = {name: tensor.numpy() for name, tensor in _owned(_tensors(home, "item_weights")).items()}
    table = csr_matrix((parts["values"], parts["columns"], parts["offsets"]), shape=(n_items, n_items))
    table.check_format()
    if not np.isfinite(table.data).all():
        raise ValueError("item_weights that are not finite")
    return ItemWeights(table if table.nnz < DENSE * n_items**2 else table.toarray())


def _tensors(home: Path, stem: str) -> dict[str, Tensor]:
    """Memory-mapped: who recommends never looks at the weights, and need not hold them."""
    try:
        return load_file(home / f"{stem}.safetensors", device="cpu")
    except RuntimeError as error:  # torch's own word for a file that cannot be opened
        raise OSError(str(error)) from error


def _owned(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies of what was mapped: another model may be copied over the files while this one answers."""
    return {name: tensor.clone() for name, tensor in tensors.items()}


def _agree(model: "Recommender") -> None:
    """Sizes that must be equal, and positions that must be there; a folder put together by hand may hold anything."""
    users, items, known = len(model.user_ids), len(model.item_ids), len(model.known_users)
    shapes: list[tuple[str, Any, tuple[int, ...]]] = [
        ("user vectors", model.user_vectors, (users, model.item_vectors.shape[-1])),
        ("item vectors", model.item_vectors, (items, model.user_vectors.shape[-1])),
        ("known items", model.known_items, (known,)),
        ("known part", model.known_part, (known,)),
        ("aside items", model.aside_items, tuple(model.aside_users.shape)),
        ("known weights", model.known_part if model.known_weights is None else model.known_weights, (known,)),
    ]
    for name, tensor, expected in shapes:
        if tuple(tensor.shape) != expected:
            raise ValueError(f"{name} of shape {tuple(tensor.shape)} for {users:,} users and {items:,} items")
    for name, tensor in {
        "user vectors": model.user_vectors,
        "item vectors": model.item_vectors,
        **model.weights,
    }.items():
        if not tensor.is_floating_point():
            raise ValueError(f"{name} of type {tensor.dtype}")
    if model.user_vectors.dtype != model.item_vectors.dtype:
        raise ValueError(
            f"user vectors of type {model.user_vectors.dtype} and item vectors of {model.item_vectors.dtype}"
        )
    if (ego := model.weights.get("ego")) is not None and (ego.dim() != 2 or len(ego) != users + items):
        raise ValueError(f"ego of shape {tuple(ego.shape)} for {users:,} users and {items:,} items")
    for name in ("known_users", "known_items", "aside_users", "aside_items"):
        positions, count = getattr(model, name), users if name.endswith("users") else items
        if positions.dtype != torch.int32:
            raise ValueError(f"{name.replace('_', ' ')} of type {positions.dtype}")
        if len(positions) and not 0 <= int(positions.min()) <= int(positions.max()) < count:
            places = f"{int(positions.min())} to {int(positions.max())} of {count:,}"
            raise ValueError(f"{name.replace('_', ' ')} at positions {places}")
