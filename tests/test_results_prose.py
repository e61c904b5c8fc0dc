"""What docs/results.md and the README say in words is what the runs in results/ give: settings, numbers, verdicts."""

import re
from collections import Counter
from statistics import median

from sahcns.ranking.significance import holm
from sahcns.studies.comparison.contrasts import ALPHA
from sahcns.studies.comparison.naming import number
from sahcns.studies.paper.claims import BEYOND, CLAIMS, judge
from sahcns.studies.paper.design import PAPER
from sahcns.studies.paper.leading import METRICS
from sahcns.studies.paper.methods import METHOD, NINE, Settings, sampler
from sahcns.studies.tuning.going import foretold
from tests.results_page import (
    ML1M,
    ROOT,
    SETS,
    TOYS,
    YELP,
    as_published,
    as_tuned,
    between,
    evidence,
    in_parts,
    own_of,
    points,
    runs,
    sections,
    untuned,
    variant,
)

FEW, SEEDS, MANY = PAPER.few, PAPER.seeds, PAPER.many
RECALL = "recall@20"
EQUAL = "Equal tuning, equal pools"


def readme() -> str:
    return (ROOT / "README.md").read_text("utf-8")


def strengths(own: Settings) -> str:
    return f"α = {own['alpha']:g}, λmax = {own['lambda_max']:g}"


def test_what_tuning_chose_for_sahc_ns() -> None:
    told = re.search(r"SAHC-NS has α and λmax by validation: (.*?)\.\s", sections()["Results"])
    assert told is not None
    named = {data: (alpha, most) for alpha, most, data in re.findall(r"([\d.]+) and ([\d.]+) on ([\w-]+)", told[1])}
    owns = {data: own_of(data) for data in SETS}
    assert named == {data: (f"{own['alpha']:g}", f"{own['lambda_max']:g}") for data, own in owns.items()}
    assert all("sahc" in evidence().chosen[one.folder] for one in SETS.values())


def test_where_the_parts_are_at_work() -> None:
    assert f"SAHC-NS with {strengths(in_parts(TOYS))};" in sections()["The size of the pool"]
    assert f"SAHC-NS on Yelp-like ({strengths(in_parts(YELP))})" in sections()["The size of the pool"]
    for data in (TOYS, YELP):
        assert f"{strengths(in_parts(data))} on {data}" in sections()["SAHC-NS without one of its parts"]
    assert f"each minus SAHC-NS ({strengths(in_parts(TOYS))})" in sections()["Thirty seeds on Amazon-toys"]
    assert f"of SAHC-NS {strengths(untuned(TOYS, METHOD))}, since" in sections()[EQUAL]


def test_what_is_resolved() -> None:
    """The verdicts that the page puts into words."""
    found = {one.claim.words: one.instances for one in judge(evidence(), [*CLAIMS, *BEYOND])}

    def verdicts(words: str, where: str = "") -> list[str]:
        (instances,) = (one for claim, one in found.items() if claim.startswith(words))
        return [one.verdict for one in instances if one.where.startswith(where)]

    for words in (
        "SAHC-NS is best on every set",
        "The same, runs read",
        "SAHC-NS is best on NGCF",
        "With equal",
        "With many",
    ):
        assert "holds" not in verdicts(words)  # "nowhere yet is SAHC-NS ahead of all others"
    assert verdicts("With many seeds", TOYS) == ["does not hold"] * 4
    assert verdicts("SAHC-NS is best on every set", f"{YELP}, Recall@20") == ["not resolved"]
    assert verdicts("SAHC-NS is best on every set", ML1M) == ["not resolved"] * 4
    assert verdicts("With equal tuning", TOYS) == ["not resolved"] * 4
    assert verdicts("HC alone is better than DNS", YELP) == ["holds"] * 2
    assert verdicts("HC alone is better than DNS", f"{TOYS}, many seeds") == ["not resolved", "holds"]
    assert {*verdicts("SA alone is better than DNS")} == {"not resolved"}
    assert {*verdicts("SAHC-NS is best on NGCF")} == {"not resolved"}


def test_hard_negatives() -> None:
    gains = {
        label: [
            points(RECALL, data, as_published(data, label), SEEDS)
            - points(RECALL, data, as_published(data, "RNS"), SEEDS)
            for data in SETS
        ]
        for label in ("DNS", "MixGCF", METHOD)
    }
    toys, yelp, ml1m = gains.pop(METHOD)
    said = sections()["In short"]
    assert f"by {toys:.1f} points of Recall@20 on {TOYS}, {yelp:.1f} on {YELP} and {ml1m:.1f} on {ML1M}." in said
    others = [one for both in gains.values() for one in both]
    assert f"DNS and MixGCF are so by {min(others):.1f} to {max(others):.1f}." in said


def test_equals() -> None:
    said, more = sections()["In short"], sections()[EQUAL]
    tuned = {label: points(RECALL, TOYS, as_tuned(TOYS, label), SEEDS) for label in NINE if label != "RNS"}
    widest = f"within {max(tuned.values()) - min(tuned.values()):.2f} points of Recall@20"
    assert widest in said
    assert widest in readme()
    for metric, place in (("recall@20", 3), ("ndcg@20", 2), ("recall@10", 3), ("ndcg@10", 2)):
        means = {label: points(metric, TOYS, as_tuned(TOYS, label), SEEDS) for label in NINE}
        order = sorted(means, key=lambda label: -means[label])
        assert (order[0], order.index(METHOD) + 1) == ("MixGCF", place)
    lead = between(RECALL, TOYS, as_tuned(TOYS, "MixGCF"), own_of(TOYS), SEEDS)
    assert f"{number(100 * lead.difference)} points of Recall@20 above SAHC-NS" in said
    low, high = (number(100 * end, sign=True) for end in (lead.low, lead.high))
    assert f"MixGCF is {number(100 * lead.difference)} above it in Recall@20, 95 % from {low} to {high}." in more
    mixed, own = (points(RECALL, TOYS, as_tuned(TOYS, label), SEEDS, reading="last") for label in ("MixGCF", METHOD))
    assert f"it is {mixed - own:.2f} above" in said
    assert f"keeps {mixed:.2f}." in said
    dens, ahns = (tuned[label] - points(RECALL, TOYS, as_published(TOYS, label), SEEDS) for label in ("DENS", "AHNS"))
    assert f"DENS and AHNS gain {dens:.1f} and {ahns:.1f} points" in more
    epochs = [
        sum(one.best_epoch + 1 for one in runs(TOYS, as_tuned(TOYS, label), SEEDS)) for label in ("MixGCF", "DNS")
    ]
    assert 3 < epochs[0] / epochs[1] < 4
    assert "three to four times as many epochs" in more


def test_pools() -> None:
    def at(label: str, pool: int) -> float:
        own = in_parts(TOYS) if label == METHOD else sampler(NINE[label])
        return points(RECALL, TOYS, {**own, "pool": pool}, FEW)

    said = sections()["In short"]
    gains = [at(label, 20) - at(label, 5) for label in ("DNS", "MixGCF", METHOD)]
    assert f"From 5 candidates to 20 DNS, MixGCF and SAHC-NS gain {min(gains):.1f} to {max(gains):.1f} points" in said
    apart = max(abs(at("DNS", pool) - at(METHOD, pool)) for pool in PAPER.wide_pools)
    assert f"DNS and SAHC-NS are within {apart:.2f} of each other" in said
    assert f"DNS and SAHC-NS differ by {apart:.2f} points at most" in readme()
    assert at("DNS", 50) >= at("DNS(M,N)", 100)
    yelp = {pool: points(RECALL, YELP, {**in_parts(YELP), "pool": pool}, FEW) for pool in PAPER.pools}
    assert max(yelp, key=lambda pool: yelp[pool]) == 20
    assert yelp[50] < yelp[5]


def test_parts() -> None:
    said = sections()["In short"]
    for reading, words in (("best", "{:+.2f} points over DNS"), ("last", "HC is {:.2f} points above DNS on Yelp-like")):
        hard = [points(RECALL, YELP, variant(YELP, label), SEEDS, reading=reading) for label in ("HC-only", "DNS")]
        assert words.format(hard[0] - hard[1]) in said
    first, second = (
        number(100 * between(metric, TOYS, variant(TOYS, "HC-only"), variant(TOYS, "DNS"), MANY).difference, sign=True)
        for metric in ("recall@20", "ndcg@20")
    )
    assert f"On Amazon-toys {MANY} seeds give {first}, and {second} in NDCG@20, just resolved." in said
    gain = between(RECALL, TOYS, variant(TOYS, "SA-only"), variant(TOYS, "DNS"), MANY)
    assert f"with {MANY} seeds its gain on Amazon-toys is no more than {100 * gain.high:.2f}." in said
    mixed = between("ndcg@20", TOYS, variant(TOYS, "MixGCF"), variant(TOYS, METHOD), MANY)
    assert (
        f"resolved by {MANY} seeds in all four metrics, and MixGCF by {100 * mixed.difference:.2f} in NDCG@20" in said
    )
    much, none = (
        points(RECALL, TOYS, {**in_parts(TOYS), "lambda_max": most}, FEW, reading="last") for most in (0.9, 0.0)
    )
    assert f"a λmax of 0.9 keeps {much:.2f} where none keeps {none:.2f}." in said


def test_other_backbones() -> None:
    def at(label: str, data: str, backbone: str) -> float:
        return points(RECALL, data, as_published(data, label), FEW, backbone=backbone)

    said = sections()["In short"]
    leads = [at("MixGCF", data, "ngcf") - at(METHOD, data, "ngcf") for data in (TOYS, YELP)]
    assert "On NGCF MixGCF leads SAHC-NS by {:.1f} and {:.1f} points".format(*leads) in said
    short = max(max(at(label, data, "simgcl") for label in NINE) - at("RNS", data, "simgcl") for data in (TOYS, YELP))
    assert f"random negatives are within {short:.1f} points of the best" in said
    assert at("RNS", YELP, "simgcl") >= at(METHOD, YELP, "simgcl")


def test_first_in_the_readme() -> None:
    firsts = Counter(
        max(NINE, key=lambda label: points(metric, data, as_published(data, label), SEEDS))
        for data in SETS
        for metric in METRICS
    )
    assert (sum(firsts.values()), firsts[METHOD]) == (12, 1)
    assert "Of twelve cells (four metrics, three sets) it has the highest mean in one." in readme()


def test_what_tuning_did_for_sahc_ns() -> None:
    cells = {
        (data, metric): between(metric, data, as_tuned(data, METHOD), untuned(data, METHOD), SEEDS)
        for data in SETS
        for metric in METRICS
    }
    shown = [one for one, p in zip(cells.values(), holm([one.p for one in cells.values()]), strict=True) if p < ALPHA]
    assert [one.difference < 0 for one in shown] == [True, True]
    assert (
        "Of twelve cells (four metrics, three sets) two are resolved against untuned, and in both untuned is better."
        in sections()[EQUAL]
    )


def test_who_is_told_apart_when_tuned_alike() -> None:
    gaps = {
        (label, metric): between(metric, TOYS, as_tuned(TOYS, label), own_of(TOYS), SEEDS)
        for label in NINE
        if label != METHOD
        for metric in METRICS
    }
    corrected = zip(gaps, holm([gap.p for gap in gaps.values()]), strict=True)
    apart = {pair: gaps[pair].difference for pair, p in corrected if p < ALPHA and pair[0] != "RNS"}
    assert {*apart} == {("BNS", "recall@10"), ("BNS", "ndcg@10"), ("BNS", "ndcg@20")}
    assert max(apart.values()) < 0
    assert f"below in NDCG@20, by {-100 * apart['BNS', 'ndcg@20']:.2f} points" in sections()[EQUAL]


def test_trials_that_were_cut_off() -> None:
    """What the search on Amazon-toys had cut off, and what became of it when it was made again."""
    search = evidence().searches[SETS[TOYS].folder]
    assert all(trial.state == "complete" for trial in search.trials if trial.counts)
    better, count, gains, told = 0, 0, {}, {}
    for name in search.samplers:
        cut = [trial.settings for trial in search.trials if (trial.sampler, trial.state) == (name, "replaced")]
        ranked = search.complete(name)
        again = [trial.settings in cut for trial in ranked]
        assert sum(again) == len(cut)
        better, count = better + sum(again[: len(ranked) // 2]), count + len(cut)
        if again[0]:
            gains[name] = (ranked[0].value or 0.0) - (ranked[again.index(False)].value or 0.0)
        told[name] = foretold(search, name) or 0.0
    wanted = sum(search.wanted(name) for name in search.samplers)
    texts = {
        place: " ".join((ROOT / place).read_text("utf-8").split()) for place in ("docs/results.md", "docs/tune.md")
    }
    assert {*gains} == {"dens", "bns"}
    dens, bns = (f"{100 * gains[name]:.2f}" for name in ("dens", "bns"))
    assert f"{count} of {wanted}, which is hard" in texts["docs/results.md"]
    assert f"{better} of them turned out to be in the better half" in texts["docs/results.md"]
    assert (
        f"two of seven choices changed, for gains on validation of {dens} points (DENS) and {bns}"
        in (texts["docs/results.md"])
    )
    assert f"its {count} cut-off trials" in texts["docs/tune.md"]
    assert f"{better} of the {count} are in the better half" in texts["docs/tune.md"]
    assert f"the best setting of DENS and of BNS, by {dens} and {bns} points" in texts["docs/tune.md"]
    slow = [number(told[name]) for name in ("mixgcf", "dens", "bns")]
    assert f"is {slow[0].replace('-', '−')} for MixGCF, {slow[1]} for DENS, {slow[2]} for BNS" in texts["docs/tune.md"]
    assert all(0.8 <= told[name] <= 1 for name in ("sahc", "ahns", "divns", "dns-mn"))


def test_seconds() -> None:
    """What docs/reproduce.md says of time."""
    said = (ROOT / "docs" / "reproduce.md").read_text("utf-8")
    alone = {
        data: median(
            one.seconds["total"]
            for label in NINE
            for one in runs(data, as_published(data, label), SEEDS)
            if one.processes == 1
        )
        for data in SETS
    }
    toys, yelp, ml1m = alone.values()
    assert f"takes about {toys:.0f} s on Toys, {yelp:.0f} on Yelp-like and {ml1m:.0f} on ML-1m: medians" in said
    minutes = {}
    for data, samplers in ((TOYS, None), (ML1M, ["sahc"])):
        search = evidence().searches[SETS[data].folder]
        own = [trial for name in samplers or search.samplers for trial in search.of(name)]
        minutes[data] = (sum(trial.seconds or 0.0 for trial in own) / 60, len(own))
        assert (2 * sum(trial.state == "pruned" for trial in own) > len(own)) == (data == ML1M)
    assert "{:.0f} minutes for the {} trials on Toys".format(*minutes[TOYS]) in said
    assert (
        f"{minutes[ML1M][1]} trials of SAHC-NS on ML-1m, most of them cut off early, come to {minutes[ML1M][0]:.0f}."
        in said
    )
