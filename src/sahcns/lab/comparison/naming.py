"""Names of metrics and rows, and numbers as they stand in a table."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LONG = {name: name.capitalize() for name in ("recall", "precision", "coverage", "popularity", "bias", "gini")}
LONG |= {"ndcg": "NDCG", "hit": "Hit rate", "mrr": "MRR", "map": "MAP"}
SHORT = {"recall": "R", "ndcg": "N", "precision": "P", "hit": "HR", "coverage": "Cov", "popularity": "Pop"}
BETTER_HIGHER = ("recall", "ndcg", "precision", "hit", "mrr", "map", "coverage")  # of the others more is not better
COUNTS = ("popularity", "bias")  # not shares, so not in percent


def long_name(metric: str) -> str:
    """`recall@20` as `Recall@20`."""
    name, at, k = metric.partition("@")
    return LONG.get(name, name) + at + k


def short_name(metric: str) -> str:
    """`recall@20` as `R@20`, as the paper heads its columns."""
    name, at, k = metric.partition("@")
    return SHORT.get(name, long_name(name)) + at + k


def ranked(metric: str) -> bool:
    """Whether more of it is better, so that there is a best."""
    return metric.partition("@")[0] in BETTER_HIGHER


def scale(metric: str) -> float:
    """100 for shares, which are shown in percent."""
    return 1.0 if metric.partition("@")[0] in COUNTS else 100.0


def number(value: float, digits: int = 2, sign: bool = False) -> str:
    """`13.26`, with sign `+13.26`, zero always without; a dash for what is not a number."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text if float(text) else text.lstrip("+-")  # no -0.00


def chance(p: float) -> str:
    """A p-value with two digits that count: `0.031`, `0.00012`, `2.1e-09`."""
    return "–" if math.isnan(p) else f"{p:.2g}"


def listed(numbers: Iterable[int]) -> str:
    """`2020–2024` or `1, 5, 7`."""
    ordered = sorted(numbers)
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]}–{ordered[-1]}"
    return ", ".join(map(str, ordered))


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def frozen(settings: Mapping[str, Any]) -> str:
    """Settings as one text, equal where they are equal."""
    return json.dumps(settings, sort_keys=True, default=str)


def distinct_names(given: Sequence[tuple[str, str, Mapping[str, Any]]], always: str = "") -> list[str]:
    """A name for each (place, label, settings).

    The label alone wherever it stands for one setting at each place, which includes settings tuned for each place; else
    with the settings that differ: `sahc (pool=20)`. The setting `always` is named wherever there is one.
    """
    at_place: dict[tuple[str, str], set[str]] = defaultdict(set)
    by_label: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for place, label, settings in given:
        at_place[place, label].add(frozen(settings))
        by_label[label].append(settings)
    differing: dict[str, list[str]] = {}
    for label in {label for (_, label), texts in at_place.items() if len(texts) > 1}:
        keys = sorted({key for one in by_label[label] for key in one} - {always})
        differing[label] = [key for key in keys if len({str(one.get(key)) for one in by_label[label]}) > 1]
    names = []
    for _, label, settings in given:
        words = ", ".join(f"{key}={settings[key]}" for key in (*differing.get(label, ()), always) if key in settings)
        names.append(f"{label} ({words})" if words else label)
    return names
