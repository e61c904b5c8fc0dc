"""Training that goes on from a former model when new data arrive: ids that stay keep what was learnt, new ones join.

A vector belongs to an id, not to a row, so tables are carried over id by id; what has no id (a layer's matrices, a sampler's
own parts) is carried over where its shape is still the same. Who is new starts as in any training.
"""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from sahcns.data.ids import IdMap
from sahcns.data.split import Split
from sahcns.errors import SettingError
from sahcns.model.recommender import Recommender
from sahcns.ranking import Truth, evaluate, recommend
from sahcns.training.step import SAMPLER

SHOWN = 20  # places of the lists that are compared
NEVER = -1e6  # the score of an item that the former model does not know


def carried_over(former: Recommender, split: Split, fresh: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters that training starts from: those of `fresh`, with what the former model learnt in their place."""
    if not former.weights:
        raise SettingError(f"start={former!r} holds no weights to go on from; give a model that was trained")
    users, items = _rows(former.user_ids, split.user_ids), _rows(former.item_ids, split.item_ids)
    old = torch.cat([users[0], items[0] + len(former.user_ids)])
    new = torch.cat([users[1], items[1] + split.n_users])
    before, after = len(former.user_ids) + len(former.item_ids), split.n_users + split.n_items
    parameters: dict[str, Tensor] = {}
    for name, table in fresh.items():
        value, parameters[name] = former.weights.get(name), table.detach().clone()
        if value is not None and len(value) == before and len(table) == after and value.shape[1:] == table.shape[1:]:
            parameters[name][new.to(table.device)] = value[old].to(table)
        elif value is not None and value.shape == table.shape:
            parameters[name] = value.to(table).clone()
        elif not name.startswith(SAMPLER):
            has = "none" if value is None else f"one of shape {tuple(value.shape)}"
            raise SettingError(
                f"start: this run trains a table {name!r} of shape {tuple(table.shape)}, and the former model has {has}; "
                "go on with the backbone and the settings that it was trained with"
            )
    return parameters


def changes(former: Recommender, split: Split) -> dict[str, Any]:
    """How many users and items stay, are new and are gone; and of what data the former model was."""
    counts: dict[str, Any] = {"former": former.record.get("data", {}).get("fingerprint")}
    for what, old, new in (("users", former.user_ids, split.user_ids), ("items", former.item_ids, split.item_ids)):
        stay = len(_rows(old, new)[0])
        counts[what] = {"stay": stay, "new": len(new) - stay, "gone": len(old) - stay}
    return counts


def compare(former: Recommender, model: Recommender, split: Split) -> dict[str, Any]:
    """Both models on what `split` holds out, for the users that both know, and how much of their lists is the same.

    Where the former model was trained on some of what is held out now, its numbers flatter it: `--split time` sees to it
    that what is held out is newer. Without held-out pairs there are no numbers.
    """
    users, vectors = _in_new_places(former, split)
    own = model.user_vectors, model.item_vectors
    measured: dict[str, Any] = {}
    parts: tuple[Literal["test", "valid"], ...] = ("test", "valid")
    for part in [name for name in parts if len(split.parts()[name])][:1]:
        truth = Truth.of(split, part, "train")
        judged = torch.isin(truth.users, users)
        for name, tables in (("before", vectors), ("after", own)):
            _, values = evaluate(*tables, truth, (SHOWN,), ("recall", "ndcg"), per_user=True)
            measured[name] = {metric: float(value[judged.numpy()].mean()) for metric, value in values.items()}
        measured |= {"part": part, "judged": int(judged.sum())}
    seen, k = model.seen(users, "train"), min(SHOWN, split.n_items)
    first, second = (recommend(tables[0][users], tables[1], seen, k)[0] for tables in (vectors, own))
    there = first >= 0
    same = ((first[:, :, None] == second[:, None, :]).any(2) & there).sum() / there.sum().clamp(min=1)
    return {**measured, "same": float(same)}


def _rows(old: IdMap, new: IdMap) -> tuple[Tensor, Tensor]:
    """Positions of the ids that both have, in the one and in the other."""
    places = torch.from_numpy(new.places(old))
    stay = (places >= 0).nonzero()[:, 0]
    return stay, places[stay]


def _in_new_places(former: Recommender, split: Split) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Users that stay, and the former vectors in the rows of `split`; one more dimension keeps unknown items away."""
    users, items = _rows(former.user_ids, split.user_ids), _rows(former.item_ids, split.item_ids)
    width = former.item_vectors.shape[1]
    tables = torch.zeros(split.n_users, width + 1), torch.zeros(split.n_items, width + 1)
    tables[0][:, width], tables[1][:, width] = 1.0, NEVER
    tables[0][users[1], :width] = former.user_vectors[users[0]]
    tables[1][items[1], :width] = former.item_vectors[items[0]]
    tables[1][items[1], width] = 0.0
    return users[1].sort().values, tables
