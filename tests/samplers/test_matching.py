"""What a sampler looks at, against plain loops: the block reading of concat, the score as a sum over layers."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from sahcns.aggregation import Aggregation, Kind
from sahcns.errors import TrainingError
from sahcns.samplers import DNS, Matching
from tests.samplers.oracle import pairs_of
from tests.samplers.world import World, every_case, scored


@every_case
def test_scores_of_candidates_and_positive(kind: Kind, depth: int, seed: int) -> None:
    match = World.random(kind, depth, seed).match(DNS(pool=4), seed)
    for b, pair in enumerate(pairs_of(match)):
        for n, item in enumerate(pair.pool):
            assert match.a[b, n].tolist() == pytest.approx([pair.at(item, t) for t in pair.layers], abs=1e-12)
            assert float(match.scores[b, n]) == pytest.approx(pair.score(item), abs=1e-12)
        assert match.p[b].tolist() == pytest.approx([pair.at(pair.positive, t) for t in pair.layers], abs=1e-12)
        assert float(match.positive_score[b]) == pytest.approx(pair.score(pair.positive), abs=1e-12)
        assert match.user_vectors[b].tolist() == pytest.approx(pair.final_user, abs=1e-12)


@every_case
def test_embeddings_are_those_of_the_ids(kind: Kind, depth: int, seed: int) -> None:
    match = World.random(kind, depth, seed).match(DNS(pool=3), seed)
    items = match.item_vectors.tolist()
    for b, pair in enumerate(pairs_of(match)):
        assert match.user_layers[b].tolist() == pair.users[pair.user]
        assert match.positive_layers[b].tolist() == pair.items[pair.positive]
        assert match.candidate_layers[b].tolist() == [pair.items[j] for j in pair.pool]
        each = match.item_layers(match.candidates[:, [t % 3 for t in range(depth)]])[b].tolist()  # one for each layer
        assert each == [pair.items[pair.pool[t % 3]][t] for t in range(depth)]
        for j in pair.pool:
            assert items[j] == pytest.approx(pair.final_item(j), abs=1e-12)


@every_case
def test_seen_is_what_the_user_has_in_training(kind: Kind, depth: int, seed: int) -> None:
    match = World.random(kind, depth, seed).match(DNS(pool=3), seed)
    graph = match.graph
    everything = torch.arange(graph.n_items).expand(len(match.users), -1)  # [B, X]
    bounds = graph.seen_offsets.tolist()
    for user, found in zip(match.users.tolist(), match.seen(everything), strict=True):
        assert torch.nonzero(found)[:, 0].tolist() == graph.seen_items[bounds[user] : bounds[user + 1]].tolist()
    assert match.seen(match.positives).all()
    assert not match.seen(match.candidates).any()


def test_concat_reads_the_block_of_its_layer_and_mean_the_whole_anchor() -> None:
    user_layers = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    assert Aggregation("concat").anchor(user_layers).tolist() == [[[1, 2], [3, 4]]]
    assert Aggregation("mean").anchor(user_layers).tolist() == [[[2, 3], [2, 3]]]
    assert Aggregation("sum").anchor(user_layers).tolist() == [[[4, 6], [4, 6]]]


@pytest.mark.parametrize("kind", ["mean", "sum", "concat"])
def test_a_scored_world_has_the_scores_it_was_given(kind: Kind) -> None:
    a, p = [[0.9, 0.8], [-1.4, 0.9], [0.2, 0.1]], [1.2, 0.3]
    match = scored(a, p, kind)
    assert match.a[0].tolist() == [pytest.approx(row) for row in a]
    assert match.p[0].tolist() == pytest.approx(p)


def test_what_is_chosen_is_read_from_the_pool() -> None:
    match = World.random("mean", 2, 0).match(DNS(pool=4))
    n = torch.arange(len(match.users)) % 4
    assert match.chosen(n).tolist() == [pool[k] for pool, k in zip(match.candidates.tolist(), n.tolist(), strict=True)]
    two = torch.stack([n, 3 - n], dim=1)
    assert match.chosen(two).tolist() == [
        [pool[k], pool[3 - k]] for pool, k in zip(match.candidates.tolist(), n.tolist(), strict=True)
    ]


@every_case
def test_items_from_elsewhere_in_the_place_of_the_pool(kind: Kind, depth: int, seed: int) -> None:
    match = World.random(kind, depth, seed).match(DNS(pool=3), seed)
    assert match.scores.shape[1] == 3  # asked for before, and not kept
    ids = match.candidates.flip(0, 1)[:, :2]
    other = replace(match, candidates=ids)
    scores = (match.user_vectors[:, None] * match.item_vectors[ids]).sum(-1)
    torch.testing.assert_close(other.scores, scores)
    assert torch.equal(other.item_at_rank(), ids.gather(1, other.scores.argmax(1)[:, None])[:, 0])
    assert torch.equal(other.positive_score, match.positive_score)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (
            lambda m: m.pick(m.scores.max(1).values),
            r"match.chosen takes positions in the pool as a whole-number tensor .*\(torch.float64\)",
        ),
        (lambda m: m.pick(m.scores.max(1)), r"it was given max"),
        (lambda m: m.pick(m.scores.argmax(1) > 0), r"\(torch.bool\)"),
        (lambda m: m.pick(m.scores.argmax()), r"\[B\] or \[B, X\] with B=\d+; it was given a tensor of shape \[\] "),
        (lambda m: m.pick(0), r"it was given 0"),
        (lambda m: m.pick(m.scores.argmax(1)[1:]), r"it was given a tensor of shape \[\d+\]"),
        (lambda m: m.item_at_rank(4), "5"),
        (lambda m: m.item_at_rank(m.scores[:, 0]), r"item_at_rank.*\(torch.float64\)"),
        (lambda m: m.item_at_rank(m.hardest(2)), r"a tensor of shape \[\d+, 2\]"),
        (lambda m: m.nearest(0.5), r"match.nearest takes target scores as a tensor \[B\] with B=\d+; it was given 0.5"),
        (lambda m: m.nearest(m.positive_score[:, None]), r"a tensor of shape \[\d+, 1\]"),
        (lambda m: m.hardest(5), r"match.hardest\(5\): the pool has 4 candidates; set pool higher"),
    ],
)
def test_what_is_no_position_is_said(ask: Callable[[Matching], object], sentence: str) -> None:
    """hardest gave fewer than it was asked for; the others spoke of gather and of dim."""
    with pytest.raises(TrainingError, match=sentence):
        ask(World.random("mean", 2, 0).match(DNS(pool=4)))


def test_positions_of_any_whole_type() -> None:
    match = World.random("mean", 2, 0).match(DNS(pool=4))
    n = match.scores.argmax(1)
    for kind in (torch.int32, torch.int16, torch.uint8):
        assert torch.equal(match.chosen(n.to(kind)), match.item_at_rank())
        assert torch.equal(match.item_at_rank(torch.zeros_like(n, dtype=kind)), match.item_at_rank())
    assert torch.equal(match.item_at_rank(2), match.chosen(match.hardest(3)[:, 2]))
