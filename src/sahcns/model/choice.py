"""Is the model worth having? It and the baselines, judged on the same held-out pairs, and one of them made of all pairs.

As the model's epoch, the settings of a baseline are picked on validation.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix

from sahcns.baselines import ALS, EASE, GFCF, Baseline, ItemKNN, ItemWeights, MostPopular, Scorer
from sahcns.baselines.base import Factors, interaction_matrix
from sahcns.data.split import Split
from sahcns.errors import SettingError, nearest
from sahcns.ranking import Truth
from sahcns.ranking.evaluation import measure
from sahcns.ranking.retrieval import best_of_scores, block_rows
from sahcns.training.train import Trained
from sahcns.version import __version__

K = 20
MODEL, BEST = "model", "best"
LABELS = {
    "popular": "most popular",
    "item-knn": "item-kNN",
    "ease": "EASE",
    "als": "ALS",
    "gf-cf": "GF-CF",
    MODEL: "the trained model",
}
MOST_ITEMS = {"ease": 10_000, "gf-cf": 10_000, "item-knn": 50_000}  # beyond which it would take minutes
SEARCHED_ITEMS, SEARCHED_PAIRS = 5_000, 1_000_000  # beyond which baselines keep their defaults: each fit takes too long
CHANCE = 2.0  # standard errors of the mean difference over people, within which two are alike


@dataclass(frozen=True, eq=False)
class Judged:
    """One way to recommend, on the test part: Recall@20 and NDCG@20 of each person [E]."""

    name: str
    recall: npt.NDArray[np.float64]
    ndcg: npt.NDArray[np.float64]
    seconds: float = 0.0  # of fitting, with the search for settings
    baseline: Baseline | None = None  # with the settings found; None is the trained model

    def to_dict(self) -> dict[str, Any]:
        means = {f"recall@{K}": float(self.recall.mean()), f"ndcg@{K}": float(self.ndcg.mean())}
        return {"name": self.name, **means, "seconds": round(self.seconds, 2)}

    def beats(self, other: "Judged") -> bool:
        """By more than chance, as far as one split of the data can say."""
        difference = self.recall - other.recall
        error = difference.std(ddof=1) / len(difference) ** 0.5 if len(difference) > 1 else np.inf
        return bool(difference.mean() > CHANCE * error)


def baselines(n_items: int) -> list[Baseline]:
    """Those that so many items allow."""
    every: list[Baseline] = [MostPopular(), ItemKNN(), EASE(), ALS(), GFCF()]
    return [one for one in every if n_items <= MOST_ITEMS.get(one.name, n_items)]


def check_choice(keep: str, n_items: int) -> None:
    known = [BEST, MODEL, *(one.name for one in baselines(n_items))]
    if keep not in known:
        raise SettingError(f"keep={keep!r} is not among what {n_items:,} items allow; {nearest(keep, known)}")


def judge(model: Trained, others: Sequence[Baseline]) -> Iterator[Judged]:
    """The baselines one by one, then the model, none of which has seen the test part; validation items are not shown."""
    split = model.split
    truth = Truth.of(split, "test", "train+valid")
    matrix = interaction_matrix(split.train, split.n_users, split.n_items)
    for one in others:
        began = time.perf_counter()
        few = split.n_items <= SEARCHED_ITEMS and len(split.train) <= SEARCHED_PAIRS
        one, scorer = search(one, matrix, Truth.of(split, "valid", "train")) if few else (one, one.fit(matrix))
        yield Judged(one.name, *_judged(scorer, matrix, truth), time.perf_counter() - began, one)
    yield Judged(MODEL, *_judged(Factors(model.users, model.items), matrix, truth), model.record.seconds["total"])


def search(baseline: Baseline, matrix: csr_matrix, valid: Truth) -> tuple[Baseline, Scorer]:
    """Setting after setting, from its default up and then down through what it declares, as long as Recall@20 rises."""

    def tried(one: Baseline) -> tuple[float, Baseline, Scorer]:
        scorer = one.fit(matrix)
        return float(_judged(scorer, matrix, valid)[0].mean()), one, scorer

    best = tried(baseline)
    for entry in fields(baseline):
        default, values = getattr(baseline, entry.name), sorted(entry.metadata.get("search") or ())
        above, below = ([x for x in values if x > default], [x for x in reversed(values) if x < default])
        for way in (above, below):
            for value in way:
                other = tried(replace(best[1], **{entry.name: value}))
                if other[0] <= best[0]:
                    break
                best = other
            if getattr(best[1], entry.name) != default:
                break
    return best[1:]


def _judged(
    scorer: Scorer, matrix: csr_matrix, truth: Truth
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Recall@20 and NDCG@20 [E] of each person."""
    values = {name: table[:, 0].double().numpy() for name, table in ranked(scorer, matrix, truth, (K,)).items()}
    return values["recall"], values["ndcg"]


def ranked(scorer: Scorer, matrix: csr_matrix, truth: Truth, ks: Sequence[int]) -> dict[str, torch.Tensor]:
    """Recall and NDCG [E, J] of each person, at J cut-offs."""
    tops = []
    places = torch.arange(len(truth), device="cpu")
    for part in torch.split(places, block_rows(truth.n_items, places.device)):
        users = truth.users[part]
        scores = scorer.scores(users, matrix[users.numpy()]).contiguous()
        tops.append(best_of_scores(scores, truth.masked.take(part), max(ks))[0])
    return measure(torch.cat(tops), truth, ks)


def pick(judged: Sequence[Judged], keep: str = BEST) -> tuple[str, str]:
    """The one to put to use, and why in a sentence: the model unless a baseline beats it by more than chance."""
    by_name = {one.name: one for one in judged}
    model = by_name.pop(MODEL)
    rival = max(by_name.values(), key=lambda one: one.recall.mean())
    ours, theirs = (f"{100 * one.recall.mean():.1f}" for one in (model, rival))
    label = LABELS[rival.name]
    if rival.beats(model):
        name, why = rival.name, f"{label} is better here than the trained model: Recall@{K} {theirs} against {ours}"
    elif model.beats(rival):
        name, why = MODEL, f"the trained model is worth having: Recall@{K} {ours} against {theirs} of {label}"
    else:
        name = MODEL
        why = f"the trained model and {label} are alike here, as far as {len(model.recall):,} people tell: "
        why += f"Recall@{K} {ours} and {theirs}"
    return (name if keep == BEST else keep), why


def fit_baseline(split: Split, baseline: Baseline) -> dict[str, Any]:
    """A baseline fitted to all pairs of a split, as what `Recommender.of` takes."""
    whole = split.whole()
    began = time.perf_counter()
    scorer = baseline.fit(interaction_matrix(whole.train, split.n_users, split.n_items))
    record = {
        "format": "sahcns-run",
        "format_version": 1,
        "baseline": {"name": baseline.name, **baseline.to_dict()},
        "data": {
            "fingerprint": whole.fingerprint,
            "users": split.n_users,
            "items": split.n_items,
            **{name: len(pairs) for name, pairs in whole.parts().items()},
            "whole_of": split.fingerprint,
        },
        "machine": {"sahcns": __version__, "torch": torch.__version__, "numpy": np.__version__, "device": "cpu"},
        "seconds": {"total": round(time.perf_counter() - began, 6)},
    }
    if isinstance(scorer, ItemWeights):
        scorer, item_weights = Factors(torch.zeros(split.n_users, 0), torch.zeros(split.n_items, 0)), scorer
    else:
        item_weights = None
    assert isinstance(scorer, Factors)
    return {
        "split": whole,
        "users": scorer.users,
        "items": scorer.items,
        "weights": {},
        "record": record,
        "item_weights": item_weights,
    }
