"""Every reading of a pool against plain loops over the same pools."""

import math

import pytest
import torch

from sahcns.lab.inspection.diagnosing import diagnose
from sahcns.lab.inspection.pool_readings import PoolReadings
from sahcns.lab.inspection.reading_pools import LARGEST, NORMALISERS, read_pools
from sahcns.lab.inspection.walk import Walk
from sahcns.samplers import DNS, SAOnly
from tests.lab.inspection.inspected import rebuilt

ALPHAS, POOL, SEED = (0.0, 0.5, 2.0), 6, 3


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def cosine(x: torch.Tensor, y: torch.Tensor) -> float:
    return float(x @ y / (x.norm() * y.norm()))


@pytest.fixture(params=["lightgcn", "ngcf"])
def gaps(request: pytest.FixtureRequest) -> tuple[PoolReadings, dict[str, list[float]]]:
    """What was read, and the gap of each pool in each way."""
    model = rebuilt(request.param)
    final = model.backbone.aggregation.pool_layers(model.layers)
    users, items = final[: model.graph.n_users], final[model.graph.n_users :]
    found: dict[str, list[float]] = {name: [] for name in NORMALISERS}
    for negatives in Walk(model, DNS(pool=POOL), SEED):
        match = negatives.match
        for user, positive, pool in zip(match.users, match.positives, match.candidates, strict=True):
            own = float(users[user] @ items[positive])
            scores = [float(users[user] @ items[one]) for one in pool]
            gap, most = own - max(scores), max(scores)
            found["the positive's score"].append(gap / abs(own))
            found["both scores"].append(gap / (abs(own) + abs(most)))
            found["the range of scores"].append(gap / (max(own, most) - min([own, *scores])))
            found[LARGEST].append(gap)
            angles = [cosine(users[user], items[one]) for one in pool]
            found["none, of cosines"].append(cosine(users[user], items[positive]) - max(angles))
            found["none, of probabilities"].append(sigmoid(own) - sigmoid(most))
    largest = max(found[LARGEST])
    found[LARGEST] = [gap / largest for gap in found[LARGEST]]
    return read_pools(model, ALPHAS, POOL, SEED), found


def test_shares_under_and_over_the_marks(gaps: tuple[PoolReadings, dict[str, list[float]]]) -> None:
    read, expected = gaps
    assert list(read.gaps) == list(expected)
    assert len({(shares.near, shares.far) for shares in read.gaps.values()}) > 2  # the ways do differ
    for name, every in expected.items():
        assert len(every) == read.pairs
        assert not [gap for gap in every if min(abs(gap - 0.1), abs(gap - 0.2)) < 1e-6]  # no coin to toss
        assert read.gaps[name].near == pytest.approx(sum(gap < 0.1 for gap in every) / read.pairs), name
        assert read.gaps[name].far == pytest.approx(sum(gap > 0.2 for gap in every) / read.pairs), name


def test_it_agrees_with_the_diagnosis_of_each_sampler() -> None:
    model = rebuilt("lightgcn")
    read = read_pools(model, ALPHAS, POOL, SEED)
    dns = diagnose(model, sampler=DNS(pool=POOL), seed=SEED)
    assert (read.pairs, read.similar) == (dns.pairs, dns.pools.similar)
    assert (read.over_020, read.over_050) == pytest.approx((dns.pools.over_020, dns.pools.over_050))
    first = read.gaps["the positive's score"]
    assert (first.near, first.far) == pytest.approx((dns.pools.near, dns.pools.far))
    assert read.choices["0"].sigma == read.choices["0"].mu == 0.0
    for alpha in ALPHAS[1:]:
        selection = diagnose(model, sampler=SAOnly(pool=POOL, alpha=alpha), seed=SEED).selection
        chosen = read.choices[f"{alpha:g}"]
        assert chosen.sigma == pytest.approx(selection.sigma_change, rel=1e-5)
        assert chosen.mu == pytest.approx(selection.mu_change, rel=1e-4)
    assert read.choices["2"].sigma > read.choices["0.5"].sigma > 0  # type: ignore[operator]


def test_it_comes_back_from_json() -> None:
    read = read_pools(rebuilt("lightgcn"), ALPHAS, POOL, SEED)
    assert PoolReadings.from_dict(read.to_dict()) == read
