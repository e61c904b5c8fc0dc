"""People and items by a few letters of their id or title: the page's search."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from sahcns.model.recommender import Recommender

ENTRIES = 2000  # looked at for one answer, those that most people have first
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
        words = folded_text(question[:LONGEST]).split()
        if not words:
            return [int(place) for place in self.order[:k]]
        rare = max(words, key=len)
        found: dict[int, int] = {}
        for hit in re.finditer(re.escape(rare), self.text):
            at = int(np.searchsorted(self.starts, hit.start(), side="right")) - 1
            if at not in found and all(word in self.entries[at] for word in words):
                found[at] = _rank(self.entries[at], words)
                if len(found) == ENTRIES:
                    break
        best = sorted(found, key=lambda at: (found[at], at))[:k]
        return [int(self.order[at]) for at in best]


def folded_text(text: str) -> str:
    """In small letters without accents, on one line: KÖLN and koln are one."""
    if text.isascii():
        return " ".join(text.lower().split())
    plain = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(letter for letter in plain if not unicodedata.combining(letter)).split())


def _rank(entry: str, words: Sequence[str]) -> int:
    whole = " ".join(words)
    if whole == entry:
        return 0
    if entry.startswith(whole):
        return 1
    return 2 if all(re.search(rf"(^|\W){re.escape(word)}", entry) for word in words) else 3


class Search:
    """Both indexes of a model."""

    def __init__(self, model: Recommender) -> None:
        self.model, n_users = model, len(model.user_ids)
        self.items_of_users = model.known_users.bincount(minlength=n_users)
        self.users = TextIndex(map(str, model.user_ids.decode(range(n_users))), self.items_of_users)
        ids = map(str, model.item_ids.decode(range(len(model.item_ids))))
        self.items = TextIndex((f"{model.title(item) or ''} {one}" for item, one in enumerate(ids)), model.holders)

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
