"""Every number of a diagnosis against plain Python loops over the same pools and mixtures."""

import itertools
import json
import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sahcns.data import Split
from sahcns.errors import DataError
from sahcns.lab.inspect.diagnose import Bins, RunningSpread, diagnose
from sahcns.lab.inspect.model import SampledEpoch, TrainedModel
from sahcns.lab.inspect.results import Diagnostics, Histogram, Spread
from sahcns.model import fit
from sahcns.samplers import DENS, DNS, DNSMN, RNS, SAHC, DivNS, MixGCF, Sampler
from sahcns.training.protocol import Protocol
from tests.lab.inspect.small_models import (
    BACKBONES,
    Chosen,
    all_chosen,
    counted,
    gaps,
    loss_of,
    opened,
    profile_of,
    pushes,
    sigma,
    small,
    trained,
    user_gradient,
)
from tests.samplers.oracle import Pair, mean

BATCH = 16  # five batches, the last of one pair
SAMPLERS: dict[str, Sampler] = {
    "dns": DNS(pool=6),
    "sahc": SAHC(pool=6, alpha=0.8, lambda_max=0.9),
    "mixgcf": MixGCF(pool=5),
    "several": RNS(pool=3),
    "dns-mn": DNSMN(pool=7, top_k=3),
    "dens": DENS(pool=5),
    "divns": DivNS(pool=6, ratio=3),
    "one": RNS(pool=1),
}


Case = tuple[Diagnostics, list[list[Chosen]]]


@pytest.fixture(scope="module", params=[(m, name) for m in ("lightgcn", "ngcf") for name in SAMPLERS], ids="-".join)
def case(request: pytest.FixtureRequest) -> Case:
    model, sampler = opened(request.param[0]), SAMPLERS[request.param[1]]
    return diagnose(model, sampler=sampler, seed=3, batch=BATCH), all_chosen(SampledEpoch(model, sampler, 3, BATCH))


def agrees(spread: Spread, values: list[float]) -> None:
    assert spread.count == len(values)
    assert spread.mean == pytest.approx(mean(values), rel=1e-9, abs=1e-12)
    assert spread.std == pytest.approx(statistics.pstdev(values), rel=1e-6, abs=1e-9)
    assert (spread.least, spread.most) == pytest.approx((min(values), max(values)), rel=1e-9, abs=1e-12)
    assert spread.histogram == counted(values, spread.histogram)


def share(values: Iterable[bool]) -> float:
    return mean([float(value) for value in values])


def over_chosen(chosen: list[list[Chosen]], value: Callable[[Pair, int], float]) -> float:
    """The mean over what was chosen, an item by its share at each layer."""
    flat = [(one.pair, layer) for several in chosen for one in several for layer in one.shares()]
    return mean([math.fsum(w * value(pair, item) for item, w in layer.items()) for pair, layer in flat])


def test_hardness_and_gradients(case: Case) -> None:
    diagnostics, chosen = case
    flat = [one for several in chosen for one in several]
    assert (diagnostics.pairs, diagnostics.negatives) == (len(chosen), len(flat)) == (65, 65 * len(chosen[0]))
    margins = [one.pair.score(one.pair.positive) - one.score(one.negative) for one in flat]
    agrees(diagnostics.hardness.score, [one.score(one.negative) for one in flat])
    agrees(diagnostics.hardness.margin, margins)
    agrees(diagnostics.hardness.push, [math.fsum(pushes(several)) for several in chosen])
    agrees(diagnostics.hardness.user_gradient, [user_gradient(several) for several in chosen])
    assert diagnostics.hardness.above_positive == pytest.approx(share(margin < 0 for margin in margins))
    assert diagnostics.hardness.loss == pytest.approx(mean([loss_of(several) for several in chosen]), rel=1e-9)


def test_pools_and_the_chosen_beside_dns(case: Case) -> None:
    diagnostics, chosen = case
    pools, selection, pairs = diagnostics.pools, diagnostics.selection, [several[0].pair for several in chosen]
    normal = []
    for pair in pairs:
        positive = pair.score(pair.positive)
        normal.append((positive - pair.score(pair.hardest())) / (abs(positive) + 1e-8))
    assert pools.size == len(pairs[0].pool)
    agrees(pools.gap, normal)
    assert pools.near == pytest.approx(share(gap < 0.1 for gap in normal))
    assert pools.far == pytest.approx(share(gap > 0.2 for gap in normal))
    assert 0 < pools.near < 1  # else these marks would tell nothing
    assert 0 < pools.far < 1
    profiles = [one.profile(one.shares()) for several in chosen for one in several]
    dns = [profile_of(pair, pair.hardest()) for pair in pairs]
    assert (selection.mu, selection.mu_dns) == pytest.approx(
        (mean(list(map(mean, profiles))), mean(list(map(mean, dns))))
    )
    assert (selection.sigma, selection.sigma_dns) == pytest.approx(
        (mean(list(map(sigma, profiles))), mean(list(map(sigma, dns)))), rel=1e-7
    )
    assert selection.mu_change == pytest.approx((selection.mu - selection.mu_dns) / abs(selection.mu_dns))
    same = over_chosen(chosen, lambda pair, item: float(item == pair.hardest()))
    assert selection.agreement == pytest.approx(same, abs=1e-12)


def test_strength_by_layer_and_by_pool(case: Case) -> None:
    diagnostics, chosen = case
    mixing, pairs = diagnostics.mixing, [several[0].pair for several in chosen]
    flat = [one for several in chosen for one in several]
    agrees(mixing.lam, [lam for one in flat for lam in one.strength()])
    order = sorted(range(len(pairs)), key=lambda b: mean(gaps(pairs[b])))
    count = len(pairs) // 5  # 13 of 65, a whole number
    for group, members in ((mixing.hard, order[:count]), (mixing.easy, order[-count:])):
        assert group.gap == pytest.approx(mean([mean(gaps(pairs[b])) for b in members]), rel=1e-9)
        positive = mean([pairs[b].score(pairs[b].positive) for b in members])
        before = mean([mean([one.score(one.shares()) for one in chosen[b]]) for b in members])
        after = mean([mean([one.score(one.negative) for one in chosen[b]]) for b in members])
        assert (group.before, group.after) == pytest.approx((positive - before, positive - after))
        assert group.reduction == pytest.approx(after - before, abs=1e-9)
        of_group = [one for b in members for one in chosen[b]]
        for t, (lam, all_lam, gap) in enumerate(zip(group.strength, mixing.strength, mixing.gap, strict=True)):
            assert lam == pytest.approx(mean([one.strength()[t] for one in of_group]), abs=1e-12)
            assert all_lam == pytest.approx(mean([one.strength()[t] for one in flat]), abs=1e-12)
            assert gap == pytest.approx(mean([gaps(pair)[t] for pair in pairs]), rel=1e-9)
    assert [group.gap for group in mixing.tenths] == sorted(group.gap for group in mixing.tenths)


def test_false_negatives_and_variety(case: Case) -> None:
    diagnostics, chosen = case
    split, pairs, rates = small(), [several[0].pair for several in chosen], diagnostics.false_negatives
    held = {
        key for part in (split.valid, split.test) for key in zip(part.users.tolist(), part.items.tolist(), strict=True)
    }
    of_pools = [(pair.user, item) for pair in pairs for item in pair.pool]
    expected = over_chosen(chosen, lambda pair, item: float((pair.user, item) in held))
    assert rates.chosen == pytest.approx(expected, abs=1e-12)
    assert rates.pool == pytest.approx(share(key in held for key in of_pools))
    assert rates.dns == pytest.approx(share((pair.user, pair.hardest()) in held for pair in pairs))
    counts = [split.train.items.tolist().count(item) for item in range(split.n_items)]
    variety = diagnostics.variety
    assert variety.popularity == pytest.approx(over_chosen(chosen, lambda _, item: float(counts[item])))
    assert variety.pool_popularity == pytest.approx(mean([float(counts[item]) for _, item in of_pools]))
    assert variety.cold == pytest.approx(over_chosen(chosen, lambda _, item: float(counts[item] == 0)), abs=1e-12)
    assert variety.pool_cold == pytest.approx(share(counts[item] == 0 for _, item in of_pools))
    assert variety.pool_cold > 0
    used = {item for several in chosen for one in several for layer in one.shares() for item in layer}
    assert (variety.distinct, variety.items) == (len(used), 18)


@pytest.mark.parametrize("name", ["lightgcn", "ngcf"])
def test_score_similar_pairs_of_candidates(name: str) -> None:
    """On scores so small that many are similar; a pool drawn with replacement holds items twice."""
    model = opened(name)
    model = replace(model, layers=tuple(layer * 0.1 for layer in model.layers))
    found = diagnose(model, sampler=DNS(pool=9), batch=BATCH).pools
    differences, repeated = [], 0
    for several in all_chosen(SampledEpoch(model, DNS(pool=9), 0, BATCH)):
        pair = several[0].pair
        for one, other in itertools.combinations(pair.pool, 2):
            repeated += one == other
            if one != other and abs(pair.score(one) - pair.score(other)) < 0.01:
                differences.append(abs(sigma(profile_of(pair, one)) - sigma(profile_of(pair, other))))
    assert repeated > 0
    assert found.similar == len(differences) > 100
    assert found.discrepancy_gap is not None
    agrees(found.discrepancy_gap, differences)
    assert found.over_020 == pytest.approx(share(gap > 0.2 for gap in differences))
    assert found.over_050 == pytest.approx(share(gap > 0.5 for gap in differences))
    assert found.over_020 is not None
    assert 0 < found.over_020 < 1


def test_large_pools_are_compared_by_their_first_32() -> None:
    model = opened("lightgcn")
    model = replace(model, layers=tuple(layer * 0.1 for layer in model.layers))
    small_pool, large = (diagnose(model, sampler=DNS(pool=size), batch=BATCH).pools for size in (32, 40))
    assert large.similar == small_pool.similar > 0  # a pool of 32 is the first part of a pool of 40
    assert large.discrepancy_gap == small_pool.discrepancy_gap


def test_one_layer_has_no_discrepancy_and_layers_are_numbered_as_in_the_paper() -> None:
    single = diagnose(opened("mf"), sampler=SAHC(pool=5), batch=BATCH)
    assert (single.selection.sigma, single.selection.sigma_change) == (0.0, None)
    assert single.layers == ["layer 0"]
    assert diagnose(trained("simgcl"), sampler=DNS(), device="cpu").layers == ["layer 1", "layer 2"]


def test_the_same_seed_gives_all_samplers_the_same_pools_and_bins() -> None:
    model = opened("lightgcn")
    dns, sahc, again, other = (
        diagnose(model, sampler=sampler, seed=seed, batch=BATCH)
        for sampler, seed in ((DNS(), 0), (SAHC(), 0), (DNS(), 0), (DNS(), 1))
    )
    assert dns == again
    assert (sahc.pools, sahc.selection.mu_dns, sahc.mixing.gap) == (dns.pools, dns.selection.mu_dns, dns.mixing.gap)
    margins = [one.hardness.margin.histogram for one in (sahc, dns)]
    assert (margins[0].low, margins[0].step) == (margins[1].low, margins[1].step)
    assert other.pools != dns.pools
    for sampler in (RNS(), DNS()):
        hardness = diagnose(model, sampler=sampler).hardness
        for spread in (hardness.score, hardness.margin, hardness.user_gradient):
            assert spread.histogram.below + spread.histogram.above <= 1  # of 65
            assert sum(count > 0 for count in spread.histogram.counts) > 10


def test_a_run_and_its_folder_do_as_well_and_json_brings_all_back(tmp_path: Path) -> None:
    run = fit(small(), BACKBONES["lightgcn"], DNS(pool=4), protocol=Protocol(epochs=1, batch=16), device="cpu")
    folder = run.recommender.save(tmp_path / "run")
    assert diagnose(run, small(), SAHC(), 5) == diagnose(folder, sampler=SAHC(), seed=5)
    own = diagnose(run)  # the run's own sampler
    assert own.sampler == {"name": "dns", "pool": 4} == own.model["sampler"]
    assert Diagnostics.from_dict(json.loads(json.dumps(own.to_dict()))) == own


def test_held_out_items_none_and_all() -> None:
    train = [[0, 0], [1, 1], [2, 2]]
    model = trained("lightgcn", split=Split.from_pairs(train, [[0, 1]], n_items=5))
    bare = replace(TrainedModel.of(model, device="cpu"), split=Split.from_pairs(train, n_items=5))
    rates = diagnose(bare).false_negatives
    assert (rates.chosen, rates.pool, rates.dns) == (None, None, None)
    split = Split.from_pairs([[0, 0], [1, 1]], [[0, 1], [1, 2]], [[0, 2], [1, 0]])  # all that is left is held out
    rates = diagnose(trained("lightgcn", split=split), device="cpu").false_negatives
    assert (rates.chosen, rates.pool, rates.dns) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(("least", "most"), [(-3.2, 7.9), (0.0, 1.0), (-0.0013, 0.0021), (1e4, 1.2e4)])
def test_bins_have_round_edges_and_cover_the_range(least: float, most: float) -> None:
    bins = Bins.over(least, most)
    assert f"{bins.step:.3e}"[:5] in ("1.000", "2.000", "5.000")
    assert bins.low / bins.step == pytest.approx(round(bins.low / bins.step))
    assert least - bins.step < bins.low <= least
    assert most <= bins.low + bins.count * bins.step + 1e-12
    assert 25 <= bins.count <= 70


def test_a_spread_is_that_of_all_values_together() -> None:
    """An edge belongs to the bin on its right."""
    running = RunningSpread(torch.device("cpu"), Bins(-1.0, 0.5, 4))
    values = [-1.0, -0.5, -0.5, 0.0, 1.0, -1.1]
    for part in (values[:2], [], values[2:]):
        running.add(torch.tensor(part, dtype=torch.float64))
    agrees(Spread.from_dict(running.spread()), values)
    assert Spread.from_dict(running.spread()).histogram == Histogram(-1.0, 0.5, (1, 2, 1, 0), 1, 1)


@pytest.mark.parametrize(("low", "step"), [(0.0, 0.0), (0.0, math.inf), (math.nan, 1.0)])
def test_bins_are_finite(low: float, step: float) -> None:
    with pytest.raises(DataError):
        Histogram.from_dict({"low": low, "step": step, "counts": [1]})
