"""The comparison of equals: every method with a pool of its own size and what validation chose for it."""

from reproduction.evidence import Evidence
from reproduction.methods import AS_DNS, METHOD, NINE, TUNABLE
from reproduction.scores import ALPHA, AT_20, METRICS, NDCG, READINGS, RECALL, Scores, joined, twin_cell
from reproduction.sections import Blocks
from reproduction.sections.comparison import (
    Column,
    Place,
    differences_figure,
    methods_table,
    pairs_table,
    resolved_in_words,
)
from reproduction.sections.nine_methods import TWINS, nine_table
from sahcns.lab import Figure, Table, holm


def equal_places(evidence: Evidence) -> list[Place]:
    return [Place("equal", one.folder) for one in evidence.design.sets if evidence.methods("equal", one.folder, RECALL)]


def tuned_table(evidence: Evidence) -> Table:
    """The nine tuned alike beside untuned, with a star where tuning made a resolved difference; Holm over the table."""
    tests = {}
    for one in evidence.design.sets:
        for metric in AT_20:
            tuned, before = evidence.methods("equal", one.folder, metric), _untuned(evidence, one.folder, metric)
            for label, scores in tuned.items():
                if NINE[label] in TUNABLE and label in before:
                    tests[one.folder, label, metric] = scores.minus(before[label]).p
    stars = {key for key, p in zip(tests, holm(list(tests.values())), strict=True) if p < ALPHA}
    columns: dict[str, Column] = {}
    for one in evidence.design.sets:
        columns[one.name] = _starred(evidence, one.folder, stars)
        columns[f"{one.name}, untuned"] = _before(evidence, one.folder)
    caption = (
        f"{TWINS} A pool of {evidence.design.pool} for all when tuned, RNS has one candidate. Untuned is as published, of "
        f"{METHOD} α = 0.3, λmax = 0.5. * differs from untuned, p < 0.05 after Holm over the table."
    )
    return methods_table("equal-tuned", "Nine methods tuned alike", NINE, columns, caption)


def _untuned(evidence: Evidence, data: str, metric: str) -> dict[str, Scores]:
    """As published; of SAHC-NS with its defaults."""
    methods = evidence.methods("table2", data, metric)
    own = evidence.untuned(data, metric)
    return {**methods, **({METHOD: own} if own is not None else {})}


def _starred(evidence: Evidence, data: str, stars: set[tuple[str, str, str]]) -> Column:
    recall, ndcg = (evidence.methods("equal", data, metric) for metric in (RECALL, NDCG))
    return lambda label: twin_cell(
        recall.get(label),
        ndcg.get(label),
        ("*" * ((data, label, RECALL) in stars), "*" * ((data, label, NDCG) in stars)),
    )


def _before(evidence: Evidence, data: str) -> Column:
    recall, ndcg = (_untuned(evidence, data, metric) for metric in (RECALL, NDCG))
    return lambda label: twin_cell(recall.get(label), ndcg.get(label)) if NINE[label] in TUNABLE else ""


def tuned_to_dns(evidence: Evidence) -> list[str]:
    """A sentence for each set where tuning took from a method what makes it differ from DNS; else nothing."""
    phrases = []
    for one in evidence.design.sets:
        chosen = evidence.chosen.get(one.folder, {})
        plain = [
            f"{label} ({', '.join(f'{name}={value:g}' for name, value in AS_DNS[sampler].items())})"
            for label, sampler in NINE.items()
            if sampler in AS_DNS and sampler in chosen and AS_DNS[sampler].items() <= chosen[sampler].items()
        ]
        phrases += [f"On {one.name} tuning made DNS of {joined(plain)}."] * bool(plain)
    return phrases


def equal_figure(evidence: Evidence) -> Figure:
    """The figure that the report opens with."""
    title = f"Each method minus {METHOD}, tuned alike with equal pools"
    return differences_figure(evidence, equal_places(evidence), "equal-differences", title)


def equal_blocks(evidence: Evidence) -> Blocks:
    places = equal_places(evidence)
    blocks: Blocks = [tuned_table(evidence), nine_table(evidence, "equal", "last"), *tuned_to_dns(evidence)]
    blocks += resolved_in_words(evidence, places)
    return [*blocks, *(pairs_table(evidence, places, f"equal-pairs-{one}", METRICS, one) for one in READINGS)]
