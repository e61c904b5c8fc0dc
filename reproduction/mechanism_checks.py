"""Claims about data, pools, choices and time, checked against what was counted and measured."""

from collections.abc import Sequence
from dataclasses import replace

from reproduction.design import DataSet
from reproduction.evidence import Evidence
from reproduction.methods import METHOD
from reproduction.published import (
    EFFICIENCY,
    FIGURE_1A,
    FIGURE_1B,
    FIGURE_5A,
    MEAN_HARDNESS,
    TABLE_1,
    hardness_kept,
)
from reproduction.verdicts import UNRESOLVED, Instance, Verdict, missing, within
from sahcns.lab import Diagnostics, Group

MODELS = {"dns": "trained with DNS", "sahc": "trained with SAHC-NS"}
POINTS = 5.0  # how far a measured share may be from a printed one and still be called the same


def counts(evidence: Evidence, data: str) -> tuple[int, int, int] | None:
    """Users, items and pairs of a set, from the runs on it."""
    about = evidence.about(data)
    if about is None:
        return None
    return about["users"], about["items"], sum(about[part] for part in ("train", "valid", "test"))


def same_data(evidence: Evidence) -> list[Instance]:
    """Users, items and pairs as in Table I."""
    found = []
    for one in evidence.design.sets:
        if not one.printed:
            continue
        theirs, ours = TABLE_1[one.like], counts(evidence, one.folder)
        paper = " / ".join(f"{count:,}" for count in theirs)
        if ours is None:
            found.append(missing(one.name, paper))
            continue
        verdict: Verdict = "holds" if ours == theirs else "does not hold"
        found.append(Instance(one.name, paper, " / ".join(f"{count:,}" for count in ours), verdict))
    return found


def pool_shares(evidence: Evidence) -> list[Instance]:
    """Fig. 1(a)."""
    found = []
    for one in evidence.design.pair_sets:
        seen = _look(evidence, one.folder, "dns", "DNS")
        if not one.printed:
            continue
        near, far = FIGURE_1A[one.like]
        where = f"{one.name}, pools with a gap"
        shares = [
            within(f"{where} under 0.10", near, 100 * seen.pools.near if seen else None, POINTS),
            within(f"{where} over 0.20", far, 100 * seen.pools.far if seen else None, POINTS),
        ]
        found += on_its_data(one, shares)
    return found


def pool_variety(evidence: Evidence) -> list[Instance]:
    """Fig. 1(a) in words: hard pools and easy pools are both common, each more than a quarter."""
    found = []
    for one in evidence.design.pair_sets:
        seen = _look(evidence, one.folder, "dns", "DNS")
        paper = "{:.0f} % hard, {:.0f} % easy".format(*FIGURE_1A[one.like]) if one.printed else "–"
        if seen is None:
            found.append(missing(one.name, paper))
            continue
        near, far = 100 * seen.pools.near, 100 * seen.pools.far
        verdict: Verdict = "holds" if min(near, far) > 25 else "does not hold"
        found.append(Instance(one.name, paper, f"{near:.2f} % under 0.10, {far:.2f} % over 0.20", verdict))
    return found


def hidden_by_scores(evidence: Evidence) -> list[Instance]:
    """Fig. 1(b)."""
    most, quarter = FIGURE_1B
    found = []
    for one in evidence.design.pair_sets:
        seen = _look(evidence, one.folder, "dns", "DNS")
        where = f"{one.name}, similar pairs with |Δσ|"
        over = [None, None] if seen is None else [seen.pools.over_020, seen.pools.over_050]
        if over[0] is None or over[1] is None:
            found += [missing(f"{where} over 0.20", "> 60 %"), missing(f"{where} over 0.50", "about 25 %")]
            continue
        verdict: Verdict = "holds" if 100 * over[0] > most else "does not hold"
        near: Verdict = "holds" if abs(100 * over[1] - quarter) <= POINTS else "does not hold"
        shares = [
            Instance(f"{where} over 0.20", "> 60 %", f"{100 * over[0]:.2f} %", verdict),
            Instance(f"{where} over 0.50", "about 25 %", f"{100 * over[1]:.2f} %", near),
        ]
        found += on_its_data(one, shares)
    return found


def discrepancy_raised(evidence: Evidence) -> list[Instance]:
    """Fig. 5(a): how much."""
    found = []
    for one in evidence.design.pair_sets:
        for trained, words in MODELS.items():
            seen = _look(evidence, one.folder, trained, "SA-only")
            if one.printed:
                ours = change(seen, "sigma") if seen else None
                found += on_its_data(one, [within(f"{one.name}, {words}", FIGURE_5A[one.like], ours, POINTS)])
    return found


def harder_to_read(evidence: Evidence) -> list[Instance]:
    """Fig. 5(a) in words: more discrepancy at a mean hardness that hardly changes."""
    found = []
    for one in evidence.design.pair_sets:
        for trained, words in MODELS.items():
            where, seen = f"{one.name}, {words}", _look(evidence, one.folder, trained, "SA-only")
            paper = f"σ +{FIGURE_5A[one.like]:.2f} %, μ within {MEAN_HARDNESS} %" if one.printed else "–"
            sigma, mu = (change(seen, "sigma"), change(seen, "mu")) if seen else (None, None)
            if sigma is None or mu is None:
                found.append(missing(where, paper))
                continue
            verdict: Verdict = "holds" if sigma > 0 and hardness_kept(mu) else "does not hold"
            found.append(Instance(where, paper, f"σ {sigma:+.2f} %, μ {mu:+.2f} %", verdict))
    return found


def easy_moved_more(evidence: Evidence) -> list[Instance]:
    """Fig. 5(b)."""
    found = []
    for one in evidence.design.pair_sets:
        for trained, words in MODELS.items():
            where, seen = f"{one.name}, {words}", _look(evidence, one.folder, trained, METHOD)
            if seen is None:
                found.append(missing(where, "easy more than hard"))
                continue
            easy, hard = seen.mixing.easy, seen.mixing.hard
            verdict: Verdict = "holds" if easy.reduction > hard.reduction else "does not hold"
            ours = f"the margin goes from {_moved(easy)} in easy pools, from {_moved(hard)} in hard ones"
            found.append(Instance(where, "easy more than hard", ours, verdict))
    return found


def overhead(evidence: Evidence) -> list[Instance]:
    """The efficiency paragraph: no larger a share of an epoch than the paper's, by the parts and by whole epochs alike."""
    found = []
    for one in evidence.design.sets:
        paper = f"{EFFICIENCY[one.like].share:.2f} %" if one.printed else "–"
        costs = evidence.costs.get(one.folder)
        if not costs or not one.printed:
            found += [missing(one.name, paper)] if one.printed else []
            continue
        share, times = 100 * costs[-1].extra_share, EFFICIENCY[one.like]
        longer = [100 * one for one in costs[-1].longer_than(costs[0])]
        ours = f"{share:.2f} %: {1000 * costs[-1].extra:.1f} ms of {1000 * costs[-1].epoch:.1f} ms; by whole epochs "
        ours += f"{longer[0]:.2f} %" if len(longer) == 1 else f"{min(longer):.2f} to {max(longer):.2f} %"
        ours += f", with DNS {1000 * costs[0].epoch:.1f} ms"
        paper += f": {1000 * times.extra:.0f} ms of {1000 * times.epoch:,.0f} ms"
        within = {round(measured, 2) <= times.share for measured in (share, *longer)}
        verdict: Verdict = "not resolved" if len(within) == 2 else "holds" if True in within else "does not hold"
        found.append(Instance(one.name, paper, ours, verdict))
    return found


def on_its_data(one: DataSet, instances: Sequence[Instance]) -> list[Instance]:
    """A number that the paper prints for a set is neither confirmed nor refuted by another set."""
    if one.same or not one.printed:
        return list(instances)
    return [cell if cell.verdict == "not run yet" else replace(cell, verdict=UNRESOLVED) for cell in instances]


def _moved(group: Group) -> str:
    """`8.18 to 7.49, closing by 0.69 (8 % of it)`; without the share where there is no gap to close."""
    share = f" ({100 * group.reduction / group.before:.0f} % of it)" if group.before > 0 else ""
    return f"{group.before:.2f} to {group.after:.2f}, closing by {group.reduction:.2f}{share}"


def change(one: Diagnostics, what: str) -> float | None:
    """Of σ or μ, in percent, of the chosen items against DNS's from the same pools."""
    found = one.selection.sigma_change if what == "sigma" else one.selection.mu_change
    return None if found is None else 100 * found


def _look(evidence: Evidence, folder: str, trained: str, label: str) -> Diagnostics | None:
    seen = evidence.inspections.get((folder, trained))
    return None if seen is None else seen.diagnostics[label]
