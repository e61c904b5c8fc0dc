"""docs/results.md says what the runs in results/ say: every table of ours is made again from them.

Nothing that a later run may change stands here: what tuning chose comes from the searches, how many seeds a table has
from the page itself.
"""

import re
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from sahcns.ranking.significance import Paired, holm, paired_t
from sahcns.studies.comparison.contrasts import ALPHA
from sahcns.studies.comparison.naming import long_name, number
from sahcns.studies.grid.result import Result
from sahcns.studies.paper.claims import BEYOND, CLAIMS, judge
from sahcns.studies.paper.design import FIRST_SEED, PAPER
from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.experiments import HARD, at_work, own_settings
from sahcns.studies.paper.leading import AT_20, METRICS
from sahcns.studies.paper.methods import METHOD, NINE, TUNABLE, Settings, equal, nine, sampler, variants
from sahcns.studies.paper.published import TABLE_2, TABLE_3, TABLE_4

ROOT = Path(__file__).parents[1]
SETS = {one.name: one for one in PAPER.sets}
TOYS, YELP, ML1M = SETS
WORDS = {"Three": 3, "Five": 5, "Thirty": 30}
STAR = r"\*"  # as Markdown writes it
POWERED = ("DNS(M,N)", "MixGCF", *(one for one in variants(sampler("sahc")) if one != "SAHC w/o Discrepancy"))
Table = list[list[str]]


@cache
def evidence() -> Evidence:
    return Evidence.of(ROOT / "results")


@cache
def sections() -> dict[str, str]:
    """Title → text; what stands above the first of them under `Results`."""
    page = (ROOT / "docs" / "results.md").read_text("utf-8")
    return dict(re.findall(r"^##? (.+)\n((?:(?!##? ).*\n)*)", page, re.MULTILINE))


def tables(section: str) -> list[Table]:
    """The tables of a section, each a list of rows of cells, the header first."""
    found = re.findall(r"^(\|.*\|)\n\|[-|]+\|\n((?:\|.*\|\n)+)", sections()[section], re.MULTILINE)
    return [
        [[cell.strip() for cell in row.split("|")[1:-1]] for row in (head, *rows.splitlines())] for head, rows in found
    ]


def seeds_of(section: str) -> int:
    """`Three seeds`, with which a section begins: how many its tables have."""
    found = re.match(rf"\n({'|'.join(WORDS)}) seeds\b", sections()[section])
    assert found is not None, section
    return WORDS[found[1]]


def runs(data: str, described: Settings | None, seeds: int, backbone: str = "lightgcn") -> list[Result]:
    """The first seeds of one setting on one set, with the protocol's defaults; all of them are there."""
    found = [
        one
        for one in evidence().results.values()
        if (one.data["name"], one.sampler) == (data, described)
        and (one.backbone, one.protocol) == (PAPER.backbone(backbone), PAPER.protocol)
        and one.seed < FIRST_SEED + seeds
    ]
    assert {one.seed for one in found} == {*range(FIRST_SEED, FIRST_SEED + seeds)}, (data, described)
    assert len(found) == seeds
    return sorted(found, key=lambda one: one.seed)


def values(metric: str, reading: str, *where: Any, **which: Any) -> list[float]:
    return [one.metric(metric, reading) for one in runs(*where, **which)]


def between(metric: str, data: str, first: Settings | None, second: Settings, seeds: int) -> Paired:
    """First − second, at the best epoch."""
    return paired_t(values(metric, "best", data, first, seeds), values(metric, "best", data, second, seeds))


def ours(*where: Any, reading: str = "best", **which: Any) -> str:
    """`13.30 / 7.51`: Recall@20 and NDCG@20 in percent, means over seeds."""
    return " / ".join(f"{100 * mean(values(metric, reading, *where, **which)):.2f}" for metric in AT_20)


def recall(*where: Any, reading: str = "best", **which: Any) -> str:
    return ours(*where, reading=reading, **which).split()[0]


def as_published(data: str, label: str) -> Settings:
    """The paper's settings, and those of SAHC-NS that validation chose."""
    return nine(SETS[data].like, own_settings(evidence().chosen, SETS[data].folder))[label]


def as_tuned(data: str, label: str) -> Settings | None:
    """What validation chose for each, with one pool."""
    return equal(evidence().chosen[SETS[data].folder], PAPER.pool)[label]


def in_parts(data: str) -> Settings:
    """SAHC-NS with both of its parts at work."""
    return at_work(evidence().chosen, SETS[data].folder)


def variant(data: str, label: str) -> Settings:
    """DNS(M,N), MixGCF or one of Table III."""
    return {**nine(SETS[data].like, in_parts(data)), **variants(in_parts(data))}[label]


def printed(data: str, label: str) -> str:
    numbers = TABLE_2[SETS[data].like][label]
    return f"{numbers['recall@20'][0]:.2f} / {numbers['ndcg@20'][0]:.2f}"


def strengths(own: Settings) -> str:
    return f"α = {own['alpha']:g}, λmax = {own['lambda_max']:g}"


def test_what_tuning_chose_for_sahc_ns() -> None:
    told = re.search(r"SAHC-NS has α and λmax by validation: (.*?)\.\s", sections()["Results"])
    assert told is not None
    named = {data: (alpha, most) for alpha, most, data in re.findall(r"([\d.]+) and ([\d.]+) on ([\w-]+)", told[1])}
    owns = {data: own_settings(evidence().chosen, one.folder) for data, one in SETS.items()}
    assert named == {data: (f"{own['alpha']:g}", f"{own['lambda_max']:g}") for data, own in owns.items()}
    assert all("sahc" in evidence().chosen[one.folder] for one in SETS.values())


def test_where_the_parts_are_at_work() -> None:
    assert f"SAHC-NS with {strengths(in_parts(TOYS))};" in sections()["The size of the pool"]
    assert f"SAHC-NS on Yelp-like ({strengths(in_parts(YELP))})" in sections()["The size of the pool"]
    for data in (TOYS, YELP):
        assert f"{strengths(in_parts(data))} on {data}" in sections()["SAHC-NS without one of its parts"]


def test_in_short() -> None:
    seeds, said = PAPER.seeds, sections()["In short"]

    def share(described: Settings | None, data: str = TOYS, reading: str = "best", many: int = seeds) -> float:
        return 100 * mean(values("recall@20", reading, data, described, many))

    gains = {
        label: [share(as_published(data, label), data) - share(as_published(data, "RNS"), data) for data in SETS]
        for label in ("DNS", "MixGCF", METHOD)
    }
    toys, yelp, ml1m = gains.pop(METHOD)
    assert f"by {toys:.1f} points of Recall@20 on {TOYS}, {yelp:.1f} on {YELP} and {ml1m:.1f} on {ML1M}." in said
    others = [one for both in gains.values() for one in both]
    assert f"DNS and MixGCF are so by {min(others):.1f} to {max(others):.1f}." in said

    tuned = {label: share(as_tuned(TOYS, label)) for label in NINE if label != "RNS"}
    assert max(tuned, key=lambda label: tuned[label]) == "MixGCF"
    assert f"are within {max(tuned.values()) - min(tuned.values()):.2f} points" in said
    assert f"{tuned['MixGCF'] - tuned[METHOD]:.2f} points of Recall@20 above SAHC-NS" in said
    mixed, own = (share(as_tuned(TOYS, label), reading="last") for label in ("MixGCF", METHOD))
    assert f"it is {mixed - own:.2f} above" in said
    assert f"keeps {mixed:.2f}." in said

    for reading, words in (("best", "{:+.2f} points over DNS"), ("last", "HC is {:.2f} points above DNS on Yelp-like")):
        calibrated, plain = (share(variant(YELP, label), YELP, reading) for label in ("HC-only", "DNS"))
        assert words.format(calibrated - plain) in said
    assert f"resolved by {PAPER.many} seeds in all four metrics" in said


def test_what_is_resolved() -> None:
    """The verdicts that the page puts into words."""
    found = {one.claim.words: one.instances for one in judge(evidence(), [*CLAIMS, *BEYOND])}

    def verdicts(words: str, where: str = "") -> list[str]:
        (instances,) = (one for claim, one in found.items() if claim.startswith(words))
        return [one.verdict for one in instances if one.where.startswith(where)]

    assert verdicts("With many seeds", TOYS) == ["does not hold"] * 4
    assert verdicts("SAHC-NS is best on every set", f"{YELP}, Recall@20") == ["not resolved"]
    assert verdicts("SAHC-NS is best on every set", ML1M) == ["not resolved"] * 4
    assert verdicts("With equal tuning", TOYS) == ["not resolved"] * 4
    assert verdicts("HC alone is better than DNS", YELP) == ["holds"] * 2
    assert verdicts("HC alone is better than DNS", f"{TOYS}, many seeds") == ["not resolved", "holds"]
    assert {*verdicts("SA alone is better than DNS")} == {"not resolved"}
    assert {*verdicts("SAHC-NS is best on NGCF")} == {"not resolved"}


def test_what_tuning_did_for_sahc_ns() -> None:
    cells = {
        (data, metric): between(metric, data, as_tuned(data, METHOD), sampler("sahc"), PAPER.seeds)
        for data in SETS
        for metric in METRICS
    }
    shown = [one for one, p in zip(cells.values(), holm([one.p for one in cells.values()]), strict=True) if p < ALPHA]
    assert [one.difference < 0 for one in shown] == [True, True]
    assert (
        "Of twelve cells (four metrics, three sets) two are resolved against untuned, and in both untuned is better."
        in sections()["Equal tuning, equal pools"]
    )


def test_nine_methods() -> None:
    section = "Nine methods on three sets"
    best, last = tables(section)
    seeds = seeds_of(section)
    assert [row[0] for row in best[1:]] == [row[0] for row in last[1:]] == [*NINE]
    for label, toys, paper_toys, yelp, ml1m, paper_ml1m in best[1:]:
        assert [toys, yelp, ml1m] == [ours(data, as_published(data, label), seeds) for data in SETS]
        assert [paper_toys, paper_ml1m] == [printed(data, label) for data in (TOYS, ML1M)]
    for label, *cells in last[1:]:
        assert cells == [ours(data, as_published(data, label), seeds, reading="last") for data in SETS]


def test_what_tuning_chose() -> None:
    (head, *rows), _ = tables("Equal tuning, equal pools")
    assert head[1:] == [*SETS]
    assert [NINE[label] for label, *_ in rows] == [name for name in NINE.values() if name in TUNABLE]
    for label, *cells in rows:
        for data, cell in zip(head[1:], cells, strict=True):
            chosen = dict(evidence().chosen[SETS[data].folder].get(NINE[label], {}))
            if chosen:
                assert chosen.pop("pool") == PAPER.pool
            told = [
                f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in chosen.items()
            ]
            assert cell == ", ".join(told), (label, data)


def test_equal_tuning() -> None:
    """Columns are a set, then what belongs to it, so that another set may be put beside it."""
    section = "Equal tuning, equal pools"
    head, *rows = tables(section)[1]
    seeds, data = seeds_of(section), ""
    assert [label for label, *_ in rows] == [*NINE]
    for at, column in list(enumerate(head))[1:]:
        data = column if column in SETS else data
        found = [
            ours(data, as_tuned(data, label), seeds, reading="last" if "stop" in column else "best") for label in NINE
        ]
        if column == "untuned":
            found = [ours(data, untuned(data, label), seeds) if name in TUNABLE else "" for label, name in NINE.items()]
        elif column in SETS:
            found = [marked(text, label, moved(data, seeds)) for text, label in zip(found, NINE, strict=True)]
        else:
            assert column == "where it stopped"
        assert [row[at] for row in rows] == found, column


def untuned(data: str, label: str) -> Settings:
    """As published; of SAHC-NS nothing is."""
    return sampler("sahc") if label == METHOD else as_published(data, label)


@cache
def moved(data: str, seeds: int) -> dict[tuple[str, str], float]:
    """(method, metric) → p of tuned against untuned, after Holm over all of them."""
    tests = {
        (label, metric): between(metric, data, as_tuned(data, label), untuned(data, label), seeds).p
        for label, name in NINE.items()
        if name in TUNABLE
        for metric in AT_20
    }
    return dict(zip(tests, holm([*tests.values()]), strict=True))


def marked(text: str, label: str, ps: dict[tuple[str, str], float]) -> str:
    """`13.54* / 7.73*`."""
    pairs = zip(text.split(" / "), AT_20, strict=True)
    return " / ".join(value + STAR * (ps.get((label, metric), 1.0) < ALPHA) for value, metric in pairs)


def test_trials_that_were_cut_off() -> None:
    search = evidence().searches[SETS[TOYS].folder]
    for name, label in (("sahc", "SAHC-NS"), ("mixgcf", "MixGCF")):
        trials = search.of(name)
        cut = sum(trial.state == "pruned" for trial in trials)
        assert f"{cut} of the {len(trials)} trials of {label}" in sections()["Equal tuning, equal pools"]
    best, after = search.best("mixgcf"), search.pruning["after_epochs"]
    assert best is not None
    soon = [
        trial.looks[after] for trial in search.of("mixgcf") if trial.state == "pruned" and trial.epochs_run == after + 1
    ]
    ahead = sum(look > best.looks[after] for look in soon)
    assert (
        f"below {ahead} of the {len(soon)} that were cut off at epoch {after}"
        in sections()["Equal tuning, equal pools"]
    )


def test_pools() -> None:
    section = "The size of the pool"
    ((head, *rows),) = tables(section)
    assert [label for label, *_ in rows] == [*HARD]
    for label, *cells in rows:
        usual = in_parts(TOYS) if label == METHOD else sampler(NINE[label])
        sizes = [int(cell.removeprefix("N = ")) for cell in head[1:]]
        assert cells == [ours(TOYS, {**usual, "pool": size}, seeds_of(section)) for size in sizes]


def test_pools_on_yelp_like() -> None:
    section = "The size of the pool"
    sentence = re.search(
        r"^SAHC-NS on Yelp-like .* with ([\d, and]+): ([\d., ]+)\.$", sections()[section], re.MULTILINE
    )
    assert sentence is not None
    sizes = [int(size) for size in re.findall(r"\d+", sentence[1])]
    found = [recall(YELP, {**in_parts(YELP), "pool": size}, seeds_of(section)) for size in sizes]
    assert sentence[2].split(", ") == found


def test_parts() -> None:
    ((head, *rows),) = tables("SAHC-NS without one of its parts")
    where = re.findall(r"([\w-]+), (\d+) seeds", " ".join(head))
    assert [data for data, _ in where] == [TOYS, YELP]
    for name, toys, paper, yelp, *stopped in rows:
        label = name.split(",")[0]
        for reading, cells in (("best", [toys, yelp]), ("last", stopped)):
            assert cells == [ours(data, variant(data, label), int(seeds), reading=reading) for data, seeds in where]
        assert paper == "{:.2f} / {:.2f}".format(*TABLE_3["amazon-toys"][label])


def test_intervals() -> None:
    section = "Thirty seeds on Amazon-toys"
    ((head, *rows),) = tables(section)
    assert head[1:] == [long_name(metric) for metric in AT_20]
    labels = [label for label, *_ in rows]
    assert {*labels, METHOD} == {*POWERED}
    tests = {
        (label, metric): between(metric, TOYS, variant(TOYS, label), variant(TOYS, METHOD), seeds_of(section))
        for label in labels
        for metric in AT_20
    }
    ps = dict(zip(tests, holm([one.p for one in tests.values()]), strict=True))
    for label, *cells in rows:
        assert cells == [interval(tests[label, metric], ps[label, metric]) for metric in AT_20], label


def interval(paired: Paired, p: float) -> str:
    """`+0.30* (+0.24 to +0.35)`."""
    by, low, high = (number(100 * value, sign=True) for value in (paired.difference, paired.low, paired.high))
    return f"{by}{STAR * (p < ALPHA)} ({low} to {high})"


def test_strengths() -> None:
    section = "How much of each part"
    ((head, *rows),) = tables(section)
    data, varied = "", ""
    for name, *cells in rows:
        if not name.startswith("…"):
            data = TOYS if TOYS in name else YELP
            alpha, most = (f"{in_parts(data)[setting]:g}" for setting in ("alpha", "lambda_max"))
            varied = "alpha" if name.startswith("α") else "lambda_max"
            assert name == (f"α, {data} (λmax = {most})" if varied == "alpha" else f"λmax, {data} (α = {alpha})")
        reading = "last" if name.startswith("…") else "best"
        settings = [{**in_parts(data), varied: float(value)} for value in head[1:]]
        assert cells == [recall(data, one, seeds_of(section), reading=reading) for one in settings]


@pytest.mark.parametrize(("backbone", "first"), [("ngcf", 1), ("simgcl", 4)])
def test_other_backbones(backbone: str, first: int) -> None:
    ((_, *rows),) = tables("Other backbones")
    seeds = seeds_of("Other backbones")
    for label, *cells in rows:
        toys, paper, yelp = cells[first - 1 : first + 2]
        assert [toys, yelp] == [
            ours(data, as_published(data, label), seeds, backbone=backbone) for data in (TOYS, YELP)
        ]
        assert paper == "{:.2f} / {:.2f}".format(*TABLE_4[backbone][label][:2])
