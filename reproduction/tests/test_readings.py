"""Every reading of a pool against plain loops over the same pools."""

import json
from pathlib import Path

import pytest

from reproduction.readings import LARGEST, read_pools
from sahcns.lab.inspect.diagnose import diagnose
from sahcns.lab.inspect.model import SampledEpoch
from sahcns.samplers import DNS
from tests.lab.inspect.small_models import opened
from tests.samplers.oracle import cosine, pairs_of, sigmoid

ALPHAS, POOL, SEED = (0.0, 0.5, 2.0), 6, 3


@pytest.mark.parametrize("name", ["lightgcn", "ngcf"])
def test_shares_under_and_over_the_marks(name: str) -> None:
    model = opened(name)
    gaps: dict[str, list[float]] = {}
    pairs = [pair for batch in SampledEpoch(model, DNS(pool=POOL), SEED) for pair in pairs_of(batch.match)]
    for pair in pairs:
        own, scores = pair.score(pair.positive), [pair.score(j) for j in pair.pool]
        most = max(scores)
        angles = [cosine(pair.final_user, pair.final_item(j)) for j in [pair.positive, *pair.pool]]
        for reading, gap in {
            "the positive's score": (own - most) / abs(own),
            "both scores": (own - most) / (abs(own) + abs(most)),
            "the range of scores": (own - most) / (max(own, most) - min([own, *scores])),
            LARGEST: own - most,
            "none, of cosines": angles[0] - max(angles[1:]),
            "none, of probabilities": sigmoid(own) - sigmoid(most),
        }.items():
            gaps.setdefault(reading, []).append(gap)
    gaps[LARGEST] = [gap / max(gaps[LARGEST]) for gap in gaps[LARGEST]]
    readings = read_pools(model, ALPHAS, POOL, SEED)
    assert list(readings["gaps"]) == list(gaps)
    assert len({tuple(shares.values()) for shares in readings["gaps"].values()}) > 2  # the readings do differ
    for reading, every in gaps.items():
        assert readings["pairs"] == len(every)
        assert readings["gaps"][reading]["near"] == pytest.approx(sum(gap < 0.1 for gap in every) / len(every)), reading
        assert readings["gaps"][reading]["far"] == pytest.approx(sum(gap > 0.2 for gap in every) / len(every)), reading


def test_choices_grow_apart_with_alpha() -> None:
    model = opened("lightgcn")
    readings = read_pools(model, ALPHAS, POOL, SEED)
    dns = diagnose(model, sampler=DNS(pool=POOL), seed=SEED)
    assert (readings["pairs"], readings["similar"]) == (dns.pairs, dns.pools.similar)
    assert readings["gaps"]["the positive's score"] == pytest.approx({"near": dns.pools.near, "far": dns.pools.far})
    none, some, much = (readings["choices"][alpha]["sigma"] or 0.0 for alpha in ("0", "0.5", "2"))
    assert none == 0 < some < much


def test_the_stored_ones_have_the_same_form() -> None:
    form = read_pools(opened("lightgcn"), ALPHAS, POOL, SEED)
    for path in (Path(__file__).parents[1] / "results" / "readings").glob("*.json"):
        stored = json.loads(path.read_text("utf-8"))["readings"]
        assert stored.keys() == form.keys()
        assert stored["gaps"].keys() == form["gaps"].keys()
