"""Claims about data, pools, choices and time, checked against what was counted and measured."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reproduction.design import DataSet
from reproduction.evidence import Evidence
from reproduction.methods import METHOD
from reproduction.published import EFFICIENCY, FIGURE_1A, FIGURE_1B, FIGURE_5A, MEAN_HARDNESS, TABLE_1, hardness_kept
from reproduction.verdicts import UNRESOLVED, Instance, Verdict, within
from sahcns.lab import Diagnostics, Group

MODELS = {"dns": "trained with DNS", "sahc": "trained with SAHC-NS"}
POINTS = 5.0  # how far a measured share may be from a printed one and still be called the same


def counts(evidence: Evidence, data: str) -> tuple[int, int, int]:
    """Users, items and pairs of a set, from the runs on it."""
    about = evidence.about(data)
    return about["users"], about["items"], sum(about[part] for part in ("train", "valid", "test"))


def same_data(evidence: Evidence) -> list[Instance]:
    """Users, items and pairs as in Table I."""
    instances = []
    for one in evidence.design.sets:
        if one.printed:
            theirs, ours = TABLE_1[one.like], counts(evidence, one.folder)
            paper, own = (" / ".join(f"{count:,}" for count in numbers) for numbers in (theirs, ours))
            instances.append(Instance(one.name, paper, own, _verdict(ours == theirs)))
    return instances


def pool_shares(evidence: Evidence) -> list[Instance]:
    """Fig. 1(a)."""
    instances = []
    for one, diagnostics in _pools(evidence):
        if one.printed:
            near, far = FIGURE_1A[one.like]
            where = f"{one.name}, pools with a gap"
            cells = [
                within(f"{where} under 0.10", near, 100 * diagnostics.pools.near, POINTS),
                within(f"{where} over 0.20", far, 100 * diagnostics.pools.far, POINTS),
            ]
            instances += on_its_data(one, cells)
    return instances


def pool_variety(evidence: Evidence) -> list[Instance]:
    """Fig. 1(a) in words: hard pools and easy pools are both common, each more than a quarter."""
    instances = []
    for one, diagnostics in _pools(evidence):
        paper = "{:.0f} % hard, {:.0f} % easy".format(*FIGURE_1A[one.like]) if one.printed else "–"
        near, far = 100 * diagnostics.pools.near, 100 * diagnostics.pools.far
        ours = f"{near:.2f} % under 0.10, {far:.2f} % over 0.20"
        instances.append(Instance(one.name, paper, ours, _verdict(min(near, far) > 25)))
    return instances


def hidden_by_scores(evidence: Evidence) -> list[Instance]:
    """Fig. 1(b)."""
    most, quarter = FIGURE_1B
    instances = []
    for one, diagnostics in _pools(evidence):
        over_020, over_050 = diagnostics.pools.over_020, diagnostics.pools.over_050
        if over_020 is not None and over_050 is not None:
            where, shares = f"{one.name}, similar pairs with |Δσ|", (100 * over_020, 100 * over_050)
            near = abs(shares[1] - quarter) <= POINTS
            cells = [
                Instance(f"{where} over 0.20", "> 60 %", f"{shares[0]:.2f} %", _verdict(shares[0] > most)),
                Instance(f"{where} over 0.50", "about 25 %", f"{shares[1]:.2f} %", _verdict(near)),
            ]
            instances += on_its_data(one, cells)
    return instances


def discrepancy_raised(evidence: Evidence) -> list[Instance]:
    """Fig. 5(a): how much."""
    instances = []
    for one, where, diagnostics in _models(evidence, "SA-only"):
        if one.printed:
            instances += on_its_data(
                one, [within(where, FIGURE_5A[one.like], 100 * (diagnostics.selection.sigma_change or 0.0), POINTS)]
            )
    return instances


def harder_to_read(evidence: Evidence) -> list[Instance]:
    """Fig. 5(a) in words: more discrepancy at a mean hardness that hardly changes."""
    instances = []
    for one, where, diagnostics in _models(evidence, "SA-only"):
        paper = f"σ +{FIGURE_5A[one.like]:.2f} %, μ within {MEAN_HARDNESS} %" if one.printed else "–"
        sigma, mu = (
            100 * (change or 0.0) for change in (diagnostics.selection.sigma_change, diagnostics.selection.mu_change)
        )
        instances.append(
            Instance(where, paper, f"σ {sigma:+.2f} %, μ {mu:+.2f} %", _verdict(sigma > 0 and hardness_kept(mu)))
        )
    return instances


def easy_moved_more(evidence: Evidence) -> list[Instance]:
    """Fig. 5(b)."""
    instances = []
    for _, where, diagnostics in _models(evidence, METHOD):
        easy, hard = diagnostics.mixing.easy, diagnostics.mixing.hard
        ours = f"the margin goes from {_moved(easy)} in easy pools, from {_moved(hard)} in hard ones"
        instances.append(Instance(where, "easy more than hard", ours, _verdict(easy.reduction > hard.reduction)))
    return instances


def overhead(evidence: Evidence) -> list[Instance]:
    """The efficiency paragraph: no larger a share of an epoch than the paper's, by the parts and by whole epochs alike."""
    instances = []
    for one in evidence.design.sets:
        if not one.printed:
            continue
        times, (dns, *_, own) = EFFICIENCY[one.like], evidence.costs[one.folder]
        share, longer = 100 * own.extra_share, [100 * part for part in own.longer_than(dns)]
        ends = " to ".join(dict.fromkeys(f"{end:.2f}" for end in (min(longer), max(longer))))
        ours = f"{share:.2f} %: {1000 * own.extra:.1f} ms of {1000 * own.epoch:.1f} ms; by whole epochs {ends} %"
        ours += f", with DNS {1000 * dns.epoch:.1f} ms"
        paper = f"{times.share:.2f} %: {1000 * times.extra:.0f} ms of {1000 * times.epoch:,.0f} ms"
        inside = {round(measured, 2) <= times.share for measured in (share, *longer)}
        instances.append(Instance(one.name, paper, ours, UNRESOLVED if len(inside) == 2 else _verdict(True in inside)))
    return instances


def on_its_data(one: DataSet, instances: Sequence[Instance]) -> list[Instance]:
    """A number that the paper prints for a set is neither confirmed nor refuted by another set."""
    return [cell if one.same or not one.printed else replace(cell, verdict=UNRESOLVED) for cell in instances]


def _pools(evidence: Evidence) -> Iterator[tuple[DataSet, Diagnostics]]:
    """The pools that the model trained with DNS sees on each set."""
    for one in evidence.design.pair_sets:
        yield one, evidence.inspections[one.folder, "dns"].diagnostics["DNS"]


def _models(evidence: Evidence, label: str) -> Iterator[tuple[DataSet, str, Diagnostics]]:
    """A sampler at work on each model of each set."""
    for one in evidence.design.pair_sets:
        for trained, words in MODELS.items():
            yield one, f"{one.name}, {words}", evidence.inspections[one.folder, trained].diagnostics[label]


def _verdict(holds: bool) -> Verdict:
    return "holds" if holds else "does not hold"


def _moved(group: Group) -> str:
    """`8.18 to 7.49, closing by 0.69 (8 % of it)`; without the share where there is no gap to close."""
    share = f" ({100 * group.reduction / group.before:.0f} % of it)" if group.before > 0 else ""
    return f"{group.before:.2f} to {group.after:.2f}, closing by {group.reduction:.2f}{share}"
