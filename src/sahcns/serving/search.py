"""People and items by a few letters of their id or title: the page's search."""

import itertools
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
from torch import Tensor

from sahcns.model.recommender import Recommender

ENTRIES = 2000  # compared for one answer, those that most people have first
HITS = 20_000  # of the rarest word that are looked at for the others
LONGEST = 100  # letters of a question


class TextIndex:
    """Texts in one string, the weightiest first, so that a search is a scan that may stop early."""

    def __init__(self, texts: Iterable[str], weights: Tensor) -> None:
        folded = [folded_text(text) for text in texts]
        self.order = weights.argsort(descending=True, stable=True).numpy()
        self.entries = [folded[place] for place in self.order]
        self.text = "\n" + "\n".join(self.entries)
        lengths = [len(entry) + 1 for entry in self.entries]
        self.starts = np.cumsum([1, *lengths])[:-1] if lengths else np.zeros(0, np.int64)

    def find(self, question: str, k: int) -> list[int]:
        """Positions of the k best: the whole text, then its beginning, then the beginning of a word, then anywhere."""
        whole = folded_text(question[:LONGEST])
        words = list(dict.fromkeys(whole.split()))
        if not words:
            return [int(place) for place in self.order[:k]]
        rare = min(words, key=self.text.count)
        places = (hit.start() for hit in re.finditer(re.escape(rare), self.text))
        hits = np.fromiter(itertools.islice(places, HITS), np.int64)
        holding = np.unique(np.searchsorted(self.starts, hits, side="right") - 1).tolist()
        found = itertools.islice((at for at in holding if all(word in self.entries[at] for word in words)), ENTRIES)
        beginnings = [re.compile(rf"(^|\W){re.escape(word)}") for word in words]

        def rank(at: int) -> int:
            entry = self.entries[at]
            if entry.startswith(whole):
                return 0 if whole == entry else 1
            return 2 if all(beginning.search(entry) for beginning in beginnings) else 3

        best = sorted(found, key=rank)[:k]  # of equals the weightiest
        return [int(self.order[at]) for at in best]


def folded_text(text: str) -> str:
    """In small letters without accents, on one line: KÖLN and koln are one."""
    if text.isascii():
        return " ".join(text.lower().split())
    plain = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(letter for letter in plain if not unicodedata.combining(letter)).split())


class Search:
    """Both indexes of a model."""

    def __init__(self, model: Recommender) -> None:
        self.model, n_users = model, len(model.user_ids)
        self.items_of_users = model.known_users.bincount(minlength=n_users)
        self.users = TextIndex(map(str, model.user_ids), self.items_of_users)
        texts = (f"{model.title(item) or ''} {one}" for item, one in enumerate(model.item_ids))
        self.items = TextIndex(texts, model.holders)

    def find(self, question: str, k: int) -> dict[str, list[dict[str, Any]]]:
        users = self.users.find(question, k)
        return {
            "users": [{"user": self.model.user_ids[at], "items": int(self.items_of_users[at])} for at in users],
            "items": [item_row(self.model, at) for at in self.items.find(question, k)],
        }


def item_row(model: Recommender, item: int) -> dict[str, Any]:
    """An item by position, with what a person wants to know of it."""
    return {
        "item": model.item_ids[item],
        "title": model.title(item),
        "category": None if model.categories is None else model.categories[item] or None,
        "people": int(model.holders[item]),
    }
