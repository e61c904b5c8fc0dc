"""How claims are checked against the results; what was not run raises `NotRun`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from statistics import fmean

from reproduction import published
from reproduction.design import DataSet
from reproduction.evidence import Evidence, Lookup, NotRun, Place
from reproduction.experiments import ARGUMENTS
from reproduction.measurements import MODELS
from reproduction.methods import (
    AT_20,
    BASELINES,
    FAMILY,
    METHOD,
    METRICS,
    NAMES,
    NINE,
    READINGS,
    RECALL,
    SOUND_AS_PRINTED,
    UNTUNED,
)
from reproduction.scores import Scores
from reproduction.verdicts import POINTS, UNRESOLVED, Comparison, Instance, Race, Verdict, above, first, judged, near
from sahcns import Result
from sahcns.lab import Diagnostics, Group, joined, number

Check = Callable[[Evidence], Iterable[Instance]]


def best(
    evidence: Evidence, part: str, reading: str = "best", metrics: Sequence[str] = METRICS, own: str = METHOD
) -> list[Instance]:
    """SAHC-NS, or another method, against the strongest other of a table, in each of its cells."""
    races = []
    for place in evidence.places(part, reading):
        if part == "splits" and place.data == evidence.design.single:
            continue  # not a random one
        wanted = {row.label for row in evidence.rows(part) if row.data == place.data} - {UNTUNED} - ({FAMILY} - {own})
        numbers = evidence.printed(place)
        for metric in metrics:
            methods = {label: one for label, one in evidence.methods(place, metric).items() if label in wanted}
            if wanted - methods.keys():  # the best of some may not be the best of all
                raise NotRun(part)
            rivals = {label: mean for (label, one), (mean, _) in numbers.items() if one == metric and label != METHOD}
            strongest = max(rivals, key=lambda label: rivals[label], default=METHOD)
            paper = published.lead(numbers, METHOD, strongest, metric)
            races.append(Race(f"{evidence.name(place)}, {NAMES[metric]}", paper, methods))
    return first(races, own)


def better(
    evidence: Evidence, one: str, other: str, part: str = "table3", metrics: Sequence[str] = AT_20
) -> list[Instance]:
    """One method against another wherever the paper has it above, and in the many seeds, which are not waited for."""
    cells = []
    for place in evidence.places(part):
        numbers = evidence.printed(place)
        if not numbers or numbers[one, metrics[0]][0] > numbers[other, metrics[0]][0]:
            cells += [_pair(evidence, place, one, other, metric) for metric in metrics]
    for place in evidence.places("power") if part == "table3" else []:
        with suppress(NotRun):
            cells += [_pair(evidence, place, one, other, metric, ", many seeds") for metric in metrics]
    return above(cells)


def _pair(evidence: Evidence, place: Place, one: str, other: str, metric: str, after: str = "") -> Comparison:
    methods, numbers = evidence.methods(place, metric), evidence.printed(place)
    own, its, where = methods[one], methods[other], f"{evidence.name(place)}{after}, {NAMES[metric]}"
    return Comparison(where, published.lead(numbers, one, other, metric), f"{one} {own}, {other} {its}", own.minus(its))


def better_than_baselines(evidence: Evidence) -> list[Instance]:
    """SAHC-NS as tuned with one pool against the strongest baseline without gradient, which has one value for all seeds."""
    cells = []
    for place in evidence.places("equal"):
        for metric in AT_20:
            own = evidence.methods(place, metric)[METHOD]
            reached = {BASELINES[key]: one["test"][metric] for key, one in evidence.baselines[place.data].items()}
            if len(reached) < len(BASELINES):
                raise NotRun("baselines")
            rival = max(reached, key=lambda label: reached[label])
            its = Scores(dict.fromkeys(own.values, reached[rival]))
            where = f"{evidence.name(place)}, {NAMES[metric]}"
            cells.append(Comparison(where, "–", f"{METHOD} {own}, {rival} {its}", own.minus(its)))
    return above(cells)


def best_epoch_is_what_is_printed(evidence: Evidence) -> list[Instance]:
    """Whether the printed numbers of the hard samplers are nearer to the best validation epoch than to the last.

    Metric by metric, since an average over them may hide that they disagree. Tested over seeds: how far each of them
    alone is away under either reading.
    """
    cells = []
    for one in evidence.design.sets:
        for metric in METRICS if one.printed and one.same else ():
            runs = evidence.methods(Place("table2", one.folder), metric)
            seeds = sorted(set.intersection(*(set(runs[label].values) for label in SOUND_AS_PRINTED)))
            away = {seed: distance_from_print(evidence, one, metrics=(metric,), seed=seed) for seed in seeds}
            last, best = (Scores({s: gaps[reading] / 100 for s, gaps in away.items()}) for reading in ("last", "best"))
            gaps = distance_from_print(evidence, one, metrics=(metric,))
            who = ", ".join(f"{READINGS[reading]} {number(gap)} away" for reading, gap in gaps.items())
            cells.append(Comparison(f"{one.name}, {NAMES[metric]}", "–", who, last.minus(best)))
    return above(cells)


def distance_from_print(
    evidence: Evidence,
    one: DataSet,
    methods: Sequence[str] = SOUND_AS_PRINTED,
    metrics: Sequence[str] = METRICS,
    seed: int | None = None,
) -> dict[str, float]:
    """Reading → mean |ours − paper| in points over some methods and metrics of Table II, of means or of one seed."""
    printed, distances = evidence.printed(Place("table2", one.folder)), {}
    for reading in READINGS:
        ours = {metric: evidence.methods(Place("table2", one.folder, reading=reading), metric) for metric in metrics}
        distances[reading] = fmean(
            abs(100 * (own[label].mean if seed is None else own[label].values[seed]) - printed[label, metric][0])
            for metric, own in ours.items()
            for label in methods
        )
    return distances


def moderate(evidence: Evidence, argument: str) -> list[Instance]:
    """The inner value of a grid that is best on validation against both of its ends."""
    cells, letter = [], ARGUMENTS[argument]
    grid = evidence.design.pools if argument == "pool" else evidence.design.grid
    for one in evidence.design.pair_sets:
        curve = evidence.sweep(one.folder, argument)
        validation = evidence.sweep(one.folder, argument, of="valid")
        inner = max(grid[1:-1], key=lambda value: validation[value].mean)
        for end in (grid[0], grid[-1]):
            who = f"{letter} = {inner:g} gives {curve[inner]}, {letter} = {end:g} {curve[end]}"
            cells.append(Comparison(one.name, "moderate is best", who, curve[inner].minus(curve[end])))
    return above(cells)


def soon(evidence: Evidence) -> list[Instance]:
    """When SAHC-NS has its best epoch, on average: its Recall@20 on validation against that of the others so far."""
    races = []
    for one in evidence.design.sets:
        runs = evidence.timed(one.folder)
        own = [run.look_seconds[run.history["looks"]["epoch"].index(run.best_epoch)] for run in runs[METHOD].values()]
        then = {
            label: Scores({seed: best_until(run, fmean(own)) for seed, run in sorted(every.items())})
            for label, every in runs.items()
        }
        races.append(Race(one.name, "better within a short time", then, f"after {fmean(own):.1f} s "))
    return first(races)


def best_until(run: Result, when: float) -> float:
    """The best Recall@20 on validation of a run's first so many seconds."""
    looks = zip(run.history["looks"][RECALL], run.look_seconds, strict=True)
    return max((value for value, at in looks if at <= when), default=0.0)


def stronger_backbones(evidence: Evidence) -> list[Instance]:
    """For how many of the nine methods SimGCL is above LightGCN: holds where most are and are resolved.

    Holm over all methods and sets.
    """
    cells = []
    for one in evidence.design.pair_sets:
        base, strong = (evidence.methods(place, RECALL) for place in _base_and_strong(one))
        cells += [Comparison(one.folder, label, "", strong[label].minus(base[label])) for label in NINE]
    tested, instances = list(zip(cells, above(cells), strict=True)), []
    for one in evidence.design.pair_sets:
        own = [(cell, found.verdict) for cell, found in tested if cell.where == one.folder]
        up, down = ([cell.paper for cell, verdict in own if verdict == side] for side in ("holds", "does not hold"))
        half = len(own) / 2
        verdict: Verdict = "holds" if len(up) > half else "does not hold" if len(down) > half else UNRESOLVED
        words = f"; resolved for {joined(up)}" * bool(up) + f"; resolved the other way for {joined(down)}" * bool(down)
        lower, upper = (evidence.printed(place) for place in _base_and_strong(one))
        more = sum(upper[key][0] > lower[key][0] for key in upper if key[1] == RECALL)
        paper = f"{more} of {len(upper) // 2} methods" if upper else "–"
        ours = f"{sum(cell.paired.difference > 0 for cell, _ in own)} of {len(own)} methods{words}"
        instances.append(Instance(f"{one.name}, SimGCL over LightGCN in Recall@20", paper, ours, verdict))
    return instances


def _base_and_strong(one: DataSet) -> tuple[Place, Place]:
    return Place("table2", one.folder), Place("table4", one.folder, "simgcl")


def same_data(evidence: Evidence) -> Iterator[Instance]:
    """Users, items and pairs as in Table I."""
    known = Lookup({run.data["name"]: run.data for run in evidence.results.values()})
    for one in (one for one in evidence.design.sets if one.printed):
        about, printed = known[one.name], published.TABLE_1[one.like]
        counts = about["users"], about["items"], sum(about[part] for part in ("train", "valid", "test"))
        paper, ours = (" / ".join(f"{count:,}" for count in numbers) for numbers in (printed, counts))
        yield judged(one, one.name, paper, ours, counts == printed)


def pool_shares(evidence: Evidence) -> Iterator[Instance]:
    """Fig. 1(a)."""
    for one, seen in _pools(evidence):
        marks = zip(("under 0.10", "over 0.20"), (seen.pools.near, seen.pools.far), strict=True)
        for (words, share), paper in zip(marks, published.FIGURE_1A[one.like] if one.printed else (), strict=False):
            yield near(one, f"{one.name}, pools with a gap {words}", paper, 100 * share)


def pool_variety(evidence: Evidence) -> Iterator[Instance]:
    """Fig. 1(a) in words: hard pools and easy pools are both common, each more than a quarter."""
    for one, seen in _pools(evidence):
        paper = "{:.0f} % hard, {:.0f} % easy".format(*published.FIGURE_1A[one.like]) if one.printed else "–"
        easy, hard = 100 * seen.pools.far, 100 * seen.pools.near
        ours = f"{hard:.2f} % under 0.10, {easy:.2f} % over 0.20"
        yield judged(one, one.name, paper, ours, min(easy, hard) > 25)


def hidden_by_scores(evidence: Evidence) -> Iterator[Instance]:
    """Fig. 1(b)."""
    most, quarter = published.FIGURE_1B
    for one, seen in _pools(evidence):
        if seen.pools.over_020 is not None and seen.pools.over_050 is not None:
            many, some = 100 * seen.pools.over_020, 100 * seen.pools.over_050
            where = f"{one.name}, similar pairs with |Δσ|"
            yield from [
                judged(one, f"{where} over 0.20", "> 60 %", f"{many:.2f} %", many > most, True),
                judged(one, f"{where} over 0.50", "about 25 %", f"{some:.2f} %", abs(some - quarter) <= POINTS, True),
            ]


def discrepancy_raised(evidence: Evidence) -> Iterator[Instance]:
    """Fig. 5(a): how much."""
    for one, where, own in _models(evidence, "SA-only"):
        if one.printed:
            yield near(one, where, published.FIGURE_5A[one.like], 100 * (own.selection.sigma_change or 0.0))


def harder_to_read(evidence: Evidence) -> Iterator[Instance]:
    """Fig. 5(a) in words: more discrepancy at a mean hardness that hardly changes."""
    for one, where, seen in _models(evidence, "SA-only"):
        paper = (
            f"σ +{published.FIGURE_5A[one.like]:.2f} %, μ within {published.MEAN_HARDNESS} %" if one.printed else "–"
        )
        sigma, mu = (100 * (own or 0.0) for own in (seen.selection.sigma_change, seen.selection.mu_change))
        holds = sigma > 0 and published.hardness_kept(mu)
        yield judged(one, where, paper, f"σ {sigma:+.2f} %, μ {mu:+.2f} %", holds)


def easy_moved_more(evidence: Evidence) -> Iterator[Instance]:
    """Fig. 5(b)."""
    for one, where, seen in _models(evidence, METHOD):
        easy, hard = seen.mixing.easy, seen.mixing.hard
        ours = f"margins close by {_closed(easy)} in easy pools, by {_closed(hard)} in hard ones"
        yield judged(one, where, "easy more than hard", ours, easy.reduction > hard.reduction)


def _closed(group: Group) -> str:
    """`0.69 of 8.18 (8 %)`; without the share where there is no gap to close."""
    share = f" ({100 * group.reduction / group.before:.0f} %)" if group.before > 0 else ""
    return f"{group.reduction:.2f} of {group.before:.2f}{share}"


def overhead(evidence: Evidence) -> Iterator[Instance]:
    """The efficiency paragraph: no larger a share of an epoch than the paper's, by the parts and by whole epochs alike."""
    for one in (one for one in evidence.design.sets if one.printed):
        times, (dns, *_, own) = published.EFFICIENCY[one.like], evidence.costs[one.folder]
        share, longer = 100 * own.extra_share, [100 * part for part in own.longer_than(dns)]
        ends = " to ".join(dict.fromkeys(f"{end:.2f}" for end in (min(longer), max(longer))))
        ours = f"{share:.2f} %: {1000 * own.extra:.1f} ms of {1000 * own.epoch:.1f} ms; by whole epochs {ends} %"
        paper = f"{times.share:.2f} %: {1000 * times.extra:.0f} ms of {1000 * times.epoch:,.0f} ms"
        inside = [round(measured, 2) <= times.share for measured in (share, *longer)]
        cell = judged(one, one.name, paper, f"{ours}, with DNS {1000 * dns.epoch:.1f} ms", all(inside))
        yield cell if len({*inside}) == 1 else cell._replace(verdict=UNRESOLVED)


def _pools(evidence: Evidence) -> Iterator[tuple[DataSet, Diagnostics]]:
    """The pools that the model trained with DNS sees on each set."""
    for one in evidence.design.pair_sets:
        yield one, evidence.inspections[one.folder, "dns"].diagnostics["DNS"]


def _models(evidence: Evidence, label: str) -> Iterator[tuple[DataSet, str, Diagnostics]]:
    """A sampler at work on each model of each set."""
    for one in evidence.design.pair_sets:
        for trained, words in MODELS.items():
            yield one, f"{one.name}, {words}", evidence.inspections[one.folder, trained].diagnostics[label]
