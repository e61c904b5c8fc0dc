"""The page docs/results.md: what the runs say about the samplers, and which one to use."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from reproduction.does_it_hold import MADE_BY, markdown
from reproduction.evidence import Evidence
from reproduction.experiments import HARD
from reproduction.methods import METHOD, NINE
from reproduction.reasons import loss_after_best
from reproduction.report import missing_parts, runs_in_words
from reproduction.scores import ALPHA, AT_20, METRICS, NAMES, READINGS, RECALL, joined, number, points
from reproduction.sections.ablation import ALIKE, many_seeds_table, parts_table, places_of_parts, strengths
from reproduction.sections.comparison import Place, against, resolved_in_words
from reproduction.sections.equal import equal_places, tuned_table, tuned_to_dns
from reproduction.sections.figure_4 import pool_sweep_in_words, pools_table, sweep_table
from reproduction.sections.nine_methods import BACKBONE_NAMES as BACKBONES
from reproduction.sections.nine_methods import backbones_table, highest_means, nine_table
from reproduction.sections.robustness import choices_table, splits_table
from reproduction.sections.tuning import chosen_table, settings_in_words
from sahcns.lab import holm

USE = (
    "**What to use.** Stop on validation, take DNS, MixGCF or SAHC-NS, and look for the pool first: `--set pool=20`, or "
    "[`sahcns tune`](tune.md) with `--pool 10,20,50`. Take MixGCF on NGCF, or where training cannot be stopped in time; its "
    "β is worth tuning upwards, if you have the epochs. Then [compare](compare.md) on your own data: these sets do not agree "
    "with each other."
)


def results_page(folder: str | os.PathLike[str]) -> str:
    """The page as Markdown, from the results in a folder."""
    return "\n\n".join(filter(None, _parts(Evidence.of(folder)))).rstrip() + "\n"


def _parts(evidence: Evidence) -> Iterator[str]:
    design = evidence.design
    yield "# Results"
    if all(one.complete for one in evidence.progress.values()):
        yield "\n".join(f"* {line}" for line in in_short(evidence))
        yield USE
    yield from missing_parts(evidence)
    yield (
        f"Every cell is Recall@20 / NDCG@20 in percent on the test part, a mean over seeds; LightGCN with {design.dim} numbers "
        f"and {design.depth} layers, the [protocol](protocol.md)'s defaults. *Resolved*, or \\*, is p < 0.05 in a paired "
        f"t-test over seeds after Holm over the table. The page is {MADE_BY}: {runs_in_words(evidence)}. Spreads, tests and "
        "figures are in the report beside them; the paper's claims are on [another page](does-it-hold.md)."
    )
    yield settings_in_words(evidence)
    yield "## Nine methods on three sets"
    yield f"The paper's settings, {design.seeds} seeds. Its Yelp is not public, and Yelp-like is another set."
    yield markdown(nine_table(evidence))
    yield "The same runs where training stopped, after the patience ran out:"
    yield markdown(nine_table(evidence, reading="last"))
    yield "Why [AHNS](ahns.md) and [DENS](dens.md) fail with their published settings."
    yield "## Equal tuning, equal pools"
    yield (
        f"{design.seeds} seeds, a pool of {design.pool} for all, and for each method what validation chose in {design.trials} "
        "trials, or in as many as it has settings to try ([how](tune.md)):"
    )
    yield markdown(chosen_table(evidence))
    yield f"*Untuned* is as published, of {METHOD} α = 0.3, λmax = 0.5. \\* differs from untuned."
    yield markdown(tuned_table(evidence))
    yield "The tuned ones where training stopped:"
    yield markdown(nine_table(evidence, "equal", "last"))
    yield _list([*resolved_in_words(evidence, equal_places(evidence)), *tuned_to_dns(evidence)])
    yield "## The size of the pool"
    table = pools_table(evidence)
    yield f"{design.few} seeds on {design.data(design.single).name}. {_after_first(table.caption)}"
    yield markdown(table)
    yield " ".join(pool_sweep_in_words(evidence))
    yield "## SAHC-NS without one of its parts"
    settings = [f"{strengths(evidence, one.data)} on {design.data(one.data).name}" for one in places_of_parts(evidence)]
    yield f"{'; '.join(settings)}. {ALIKE} Why it fails [without the mean](without-mean.md)."
    yield markdown(parts_table(evidence))
    yield "## Thirty seeds"
    yield f"Each minus {METHOD} in points, with its 95 % interval. \\* resolved (Holm over the set)."
    yield markdown(many_seeds_table(evidence))
    yield "## How much of each part"
    yield f"{design.few} seeds, Recall@20 by α and λmax."
    yield markdown(sweep_table(evidence))
    yield "## Other backbones"
    yield f"{design.few} seeds. {_after_first(backbones_table(evidence).caption)}"
    yield markdown(backbones_table(evidence))
    yield "## What else moves the numbers"
    yield f"{design.few} seeds on {design.data(design.single).name}; \\* differs from the first row."
    yield markdown(choices_table(evidence))
    yield "Recall@20 on random splits of the same pairs, 8:1:1, beside the one given:"
    yield markdown(splits_table(evidence))


def in_short(evidence: Evidence) -> list[str]:
    """The page's answer: one line for each question, with the numbers that decide it."""
    return [
        _hard_against_random(evidence),
        _as_published(evidence),
        _tuned_alike(evidence),
        _pools(evidence),
        _part(evidence, "Calibration alone (HC-only)", "HC-only"),
        _part(evidence, "The structure-aware choice alone (SA-only)", "SA-only"),
        _after_the_best_epoch(evidence),
        _backbones(evidence),
    ]


def _hard_against_random(evidence: Evidence) -> str:
    gains = []
    below: dict[str, list[str]] = {}
    for one in evidence.design.sets:
        methods = evidence.methods("table2", one.folder, RECALL)
        gains.append(f"{number(methods[METHOD].percent - methods['RNS'].percent, 1, sign=True)} on {one.name}")
        for label in HARD:
            if methods[label].mean < methods["RNS"].mean:
                below.setdefault(label, []).append(one.name)
    failing = [f"{label} on {joined(names)}" for label, names in below.items()]
    words = f"**Hard against random negatives**: {METHOD} minus RNS in points of Recall@20 is {joined(gains)}."
    return f"{words} Below random as published: {joined(failing)}." if failing else words


def _as_published(evidence: Evidence) -> str:
    cells, first = highest_means(evidence)
    ahead = _ahead_of_method(evidence, [Place("power", data) for data in evidence.design.powered], AT_20)
    return (
        f"**With the paper's settings** {METHOD} has the highest mean in {first} of {cells} cells (a metric on a set). "
        f"Resolved ahead of it with {evidence.design.many} seeds: {ahead}."
    )


def _tuned_alike(evidence: Evidence) -> str:
    leaders: Counter[str] = Counter()
    spans = []
    for one in evidence.design.sets:
        for metric in METRICS:
            methods = evidence.methods("equal", one.folder, metric)
            leaders[max(methods, key=lambda label: methods[label].mean)] += 1
        methods = evidence.methods("equal", one.folder, RECALL)
        means = [methods[label].percent for label in HARD if methods[label].mean > methods["RNS"].mean]
        spans.append(f"{number(max(means, default=0.0) - min(means, default=0.0))} on {one.name}")
    best, last = (_ahead_of_method(evidence, equal_places(evidence), METRICS, reading) for reading in READINGS)
    leads = joined([f"{label} in {count}" for label, count in leaders.most_common()])
    return (
        f"**Tuned alike with one pool**, those above random are within {joined(spans)} points of Recall@20. The highest mean "
        f"is that of {leads} of {sum(leaders.values())} cells; resolved ahead of {METHOD}: at the best epoch {best}, where "
        f"training stopped {last}."
    )


def _ahead_of_method(evidence: Evidence, places: list[Place], metrics: Sequence[str], reading: str = "best") -> str:
    """`DNS(M,N) on Amazon-toys (+0.30 Recall@20)`: corrected over all methods, metrics and sets."""
    leads: dict[str, list[str]] = {}
    for (place, metric), differences in against(evidence, places, metrics, reading).items():
        for one in differences:
            if one.p < ALPHA and one.paired.difference > 0:
                where = f"{one.label} on {evidence.design.data(place.data).name}"
                leads.setdefault(where, []).append(f"{points(one.paired)} {NAMES[metric]}")
    return joined([f"{where} ({', '.join(by)})" for where, by in leads.items()]) or "none"


def _pools(evidence: Evidence) -> str:
    data, sizes = evidence.design.single, [str(size) for size in evidence.design.wide_pools]
    cells = {key: own.percent for key, own in evidence.groups("pools", data, RECALL).items()}
    gains = [cells[label, sizes[2]] - cells[label, sizes[0]] for label in HARD]
    apart = max(abs(cells["DNS", size] - cells[METHOD, size]) for size in sizes)
    best: dict[str, list[str]] = {}
    for label in HARD:
        best.setdefault(max(sizes, key=lambda size: cells[label, size]), []).append(label)
    return (
        f"**The pool**: from {sizes[0]} candidates to {sizes[2]} the hard samplers gain {number(min(gains), 1)} to "
        f"{number(max(gains), 1)} points on {evidence.design.data(data).name}, while DNS and {METHOD} differ by at most "
        f"{number(apart)} at any size. Best with {'; with '.join(f'{n}: {joined(best[n])}' for n in sizes if n in best)}."
    )


def _part(evidence: Evidence, words: str, label: str) -> str:
    """A part of SAHC-NS alone against DNS, with as many seeds as there are."""
    tests = {}
    for place in places_of_parts(evidence):
        for metric in AT_20:
            methods = evidence.methods(place.part, place.data, metric)
            tests[place.data, metric] = methods[label].minus(methods["DNS"])
    ps = dict(zip(tests, holm([one.p for one in tests.values()]), strict=True))
    shown = {key: points(one) + "\\*" * (ps[key] < ALPHA) for key, one in tests.items()}
    phrases = [
        f"{' / '.join(shown[place.data, metric] for metric in AT_20)} on {evidence.design.data(place.data).name}"
        for place in places_of_parts(evidence)
    ]
    return f"**{words}** minus DNS: {', '.join(phrases)}."


def _after_the_best_epoch(evidence: Evidence) -> str:
    return f"**If training is not stopped in time**: {loss_after_best(evidence)[:1].lower()}{loss_after_best(evidence)[1:]}"


def _backbones(evidence: Evidence) -> str:
    phrases = []
    for backbone, shown in BACKBONES.items():
        for one in evidence.design.pair_sets:
            methods = evidence.methods("table4", one.folder, RECALL, backbone=backbone)
            first = max(NINE, key=lambda label: methods[label].mean)
            behind = [f"{label} {number(methods[label].percent - methods[first].percent)}" for label in ("RNS", METHOD)]
            phrases.append(f"{first} on {shown}, {one.name} ({', '.join(behind)})")
    return f"**On other backbones** the highest Recall@20, and how far behind others are: {'; '.join(phrases)}."


def _after_first(caption: str) -> str:
    """A caption without its first sentence, which the page says once for all tables."""
    return caption.partition(". ")[2]


def _list(lines: list[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)
