"""Users who have every item: no negative can be drawn for them, and nobody else is held up by it."""

import numpy as np
import pytest
import torch

from sahcns.backbones import MF, NGCF, Backbone, LightGCN, SimGCL
from sahcns.data.split import Split
from sahcns.errors import DataError
from sahcns.lab.inspect.pairs import inspect_pairs
from sahcns.model import fit
from sahcns.samplers import (
    AHNS,
    ANS,
    BNS,
    DENS,
    DINS,
    DNS,
    DNSMN,
    RNS,
    SAHC,
    SRNS,
    DivNS,
    MixGCF,
    Popularity,
    Sampler,
    Softmax,
)
from sahcns.training import Protocol
from tests.splits import random_split
from tests.training.spying import spying

FULL = (2, 5)
ITEMS = 9
PROTOCOL = Protocol(batch=8, epochs=2, evaluate_every=1, drop_last=False)
SAMPLERS = (
    *(RNS(), Popularity(), DNS(pool=4), DNSMN(pool=6), MixGCF(pool=4), DENS(pool=4)),
    *(BNS(pool=4), BNS(pool=4, ranks_among="unseen"), AHNS(pool=4), DivNS(pool=6, ratio=2), SAHC(pool=4)),
    *(SRNS(pool=6), Softmax(pool=6), DINS(pool=4), ANS(pool=4)),
)


def with_full_users() -> Split:
    """Seven users of three training items and one of each held-out part, but two who have everything."""
    some = random_split(7, ITEMS, each=3, seed=4)
    parts = []
    for part in some.parts().values():
        rows = np.stack([part.users, part.items], 1)
        parts.append(rows[~np.isin(part.users, FULL)])
    everything = np.array([[user, item] for user in FULL for item in range(ITEMS)])
    return Split.from_pairs(np.concatenate([parts[0], everything]), *parts[1:])


@pytest.mark.parametrize(
    ("sampler", "kernels"),
    [
        *((sampler, kernels) for sampler in SAMPLERS for kernels in ("reference", "auto")),
        *(
            (sampler, "triton")
            for sampler in (RNS(), Popularity(), DivNS(pool=6, ratio=2), SRNS(pool=6), DINS(pool=4), ANS(pool=4))
        ),  # each way to draw, keep and mix
    ],
    ids=lambda part: getattr(part, "name", part),
)
def test_every_sampler_trains_on_the_others_only(sampler: Sampler, kernels: str) -> None:
    spy, notes = spying(sampler)
    split = with_full_users()
    run = fit(split, LightGCN(dim=4, depth=2), spy, protocol=PROTOCOL, device="cpu", kernels=kernels)
    others = [
        pair
        for pair in sorted(zip(split.train.users.tolist(), split.train.items.tolist(), strict=True))
        if pair[0] not in FULL
    ]
    assert len(others) == 15
    for epoch in range(2):
        seen = [one for one in notes if one.epoch == epoch]
        pairs = [pair for one in seen for pair in zip(one.users, one.positives, strict=True)]
        assert sorted(pairs) == others
        assert sorted(place for one in seen for place in one.pairs) == list(range(15))
        for one in seen:
            for user, candidates in zip(one.users, one.candidates, strict=True):
                assert not {item for who, item in others if who == user} & set(candidates)
    assert run.record.data["users_with_every_item"] == 2
    assert run.record.data["train"] == 15 + 2 * ITEMS
    assert all(bool(table.isfinite().all()) for table in (run.recommender.user_vectors, run.recommender.item_vectors))


@pytest.mark.parametrize("backbone", [MF(dim=4), NGCF(dim=4, depth=2), SimGCL(dim=4, depth=2)])
def test_every_backbone(backbone: Backbone) -> None:
    run = fit(with_full_users(), backbone, protocol=PROTOCOL, device="cpu")
    assert run.record.epochs_run == 2
    assert run.recommender.recommend([2], 3) == [[]]
    assert len(run.recommender.recommend([2], 3, exclude="nothing")[0]) == 3


def test_their_pairs_stay_in_the_graph() -> None:
    split = with_full_users()
    rest = ~np.isin(split.train.users, FULL)
    train = np.stack([split.train.users[rest], split.train.items[rest]], 1)
    held_out = [np.stack([part.users, part.items], 1) for part in (split.valid, split.test)]
    without = Split.from_pairs(train, *held_out, n_users=split.n_users, n_items=ITEMS)

    def items(one: Split, backbone: Backbone) -> torch.Tensor:
        return fit(one, backbone, RNS(), protocol=PROTOCOL, device="cpu").recommender.item_vectors

    assert torch.equal(items(split, MF(dim=4)), items(without, MF(dim=4)))  # the same pairs, order and pools
    assert not torch.equal(items(split, LightGCN(dim=4)), items(without, LightGCN(dim=4)))
    assert "users_with_every_item" not in fit(without, MF(dim=4), protocol=PROTOCOL, device="cpu").record.data


def test_a_run_that_was_judged_can_be_trained_whole() -> None:
    """Who has everything, some of it held out, is judged like anybody; with nothing held out they have everything."""
    split = random_split(6, ITEMS, each=3, seed=1)
    rows = [np.stack([part.users, part.items], 1) for part in split.parts().values()]
    known = set(np.concatenate(rows)[np.concatenate(rows)[:, 0] == 4][:, 1].tolist())
    rows[0] = np.concatenate([rows[0], [[4, item] for item in range(ITEMS) if item not in known]])
    split = Split.from_pairs(*rows)
    judged = fit(split, MF(dim=4), RNS(), protocol=PROTOCOL, device="cpu")
    assert "users_with_every_item" not in judged.record.data
    live = fit(split, MF(dim=4), RNS(), protocol=PROTOCOL, device="cpu", whole=True)
    assert live.record.data["users_with_every_item"] == 1
    assert live.recommender.recommend([4, 0], 20)[0] == []
    assert len(live.recommender.recommend([4, 0], 20)[1]) == ITEMS - 5
    assert live.recommender.recommend_new(list(range(ITEMS))) == []


def test_looking_at_their_pairs_says_that_there_is_nothing_to_see() -> None:
    model = fit(with_full_users(), LightGCN(dim=4), RNS(), protocol=PROTOCOL, device="cpu").recommender
    assert len(inspect_pairs(model, device="cpu", user=0, count=5)) == 3
    with pytest.raises(DataError, match="user 5 has every item, so there is nothing to choose negatives from"):
        inspect_pairs(model, device="cpu", user=5)
