"""What training refuses, each in one sentence that says what was wrong and what to do."""

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest
import torch

from sahcns.backbones import MF, LightGCN
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError, TrainingError
from sahcns.graph import Graph
from sahcns.model import fit
from sahcns.rng import Rng
from sahcns.samplers import BNS, DENS, RNS, SAHC, DivNS, Matching, Mixture, Sampler
from sahcns.training import Protocol
from tests.splits import random_split
from tests.training.spying import Answering

SPLIT = random_split(10, 20, each=5, seed=1)
PROTOCOL = Protocol(batch=16, epochs=3, evaluate_every=1)


def train(answer: Callable[[Matching], Mixture] | None = None, **arguments: Any) -> None:
    sampler = RNS() if answer is None else Answering(4, answer)
    fit(
        SPLIT,
        **{"backbone": LightGCN(dim=4, depth=2), "protocol": PROTOCOL, "device": "cpu", **arguments},
        sampler=sampler,
    )


def test_a_metric_that_is_not_watched_is_refused_before_training() -> None:
    def too_late(match: Matching) -> Mixture:
        raise AssertionError("training has begun")

    with pytest.raises(SettingError, match=r"monitor='recal@20' is not watched; choose one of recall@10, recall@20"):
        train(too_late, protocol=Protocol(monitor="recal@20"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"split": "films"}, "split='films'"),
        ({"backbone": LightGCN}, "backbone=LightGCN"),
        ({"sampler": "sahc"}, "sampler='sahc'"),
        ({"objective": "bpr"}, "objective='bpr'"),
        ({"protocol": {"epochs": 1}}, "protocol={'epochs': 1}"),
        ({"seed": 1.0}, "seed=1.0"),
        ({"seed": True}, "seed=True"),
    ],
)
def test_one_thing_for_another(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        fit(**{"split": SPLIT, "protocol": PROTOCOL, "device": "cpu", **arguments})


@pytest.mark.parametrize("device", ["gpu", "cpu:x", "tpu0", None])
def test_an_unknown_device(device: str | None) -> None:
    with pytest.raises(SettingError, match=rf"device={device!r} is not a device; use auto, cpu, cuda"):
        train(device=device)


def test_a_device_that_torch_knows_and_we_do_not() -> None:
    with pytest.raises(SettingError, match=r"device='meta' .*use auto, cpu, cuda"):
        train(device="meta")


def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(SettingError, match=r"device='cuda:99': torch sees \w+ GPU here; use device='cpu' or 'auto'"):
        train(device="cuda:99")
    if not torch.cuda.is_available():
        with pytest.raises(SettingError, match=r"device='cuda': torch sees no GPU here"):
            train(device="cuda")


def test_users_of_whom_each_has_everything() -> None:
    full = Split.from_pairs([[1, 0], [1, 1], [1, 2]], [[0, 1]], [[0, 2]])
    with pytest.raises(DataError, match="everybody with training pairs, user 1 first, has every one of the 3 items"):
        fit(full, MF(dim=2), RNS(), device="cpu")


@pytest.mark.parametrize("sampler", [RNS(), SAHC(), BNS(), DENS(), DivNS()], ids=lambda sampler: sampler.name)
def test_a_loss_that_explodes_names_the_step_and_what_to_try(sampler: Sampler) -> None:
    rules, kind = Protocol(batch=16, learning_rate=1e25, epochs=3), type(sampler).__name__
    with pytest.raises(TrainingError, match=rf"(nan|inf) at step 1 of epoch 0 with {kind}.* learning rate, 1e\+25"):
        fit(SPLIT, LightGCN(dim=4, depth=2), sampler, protocol=rules, device="cpu")


def test_weights_that_are_not_numbers_show_in_the_loss() -> None:
    """Not as weights with a wrong sum: scores that exploded make them too, and then the sampler is not to blame."""
    epochs: list[int] = []

    def later(match: Matching) -> Mixture:
        epochs.append(int(match.epoch))
        share = float("nan") if epochs[-2:] == [1, 1] else 0.5
        shares = torch.full((len(match.users), len(match.layers)), share)
        return Mixture.blend(match.positives, match.candidates[:, 0], shares)

    with pytest.raises(TrainingError, match=r"nan at step 1 of epoch 1 with Answering.* weights that Answering"):
        train(later)


def test_weights_that_are_not_numbers_where_all_scores_are() -> None:
    with pytest.raises(
        TrainingError, match=r"Answering returned weights that are not numbers \(NaN\), though all scores are"
    ):
        train(weighted(float("nan"), 1.0))


@pytest.mark.parametrize(
    "what",
    [
        *("users", "positives", "pairs", "epoch", "popularity"),
        *("layers[0]", "graph.pair_items", "graph.seen_items", "graph.seen_keys"),
    ],
)
def test_what_training_goes_on_with_is_not_changed_in_place(what: str) -> None:
    """The loss was that of other users, or the popularity another one, and nobody said so."""

    def changing(match: Matching) -> Mixture:
        tensor = match.layers[0] if what == "layers[0]" else attrgetter(what)(match)
        tensor.mul_(1)
        return Mixture.single(match.candidates[:, 0])

    with pytest.raises(
        TrainingError, match=rf"Answering.choose\(\) changed .*match\.{re.escape(what)} .*change a copy"
    ):
        train(changing)


def test_what_belongs_to_the_batch_may_be_changed_in_place() -> None:
    def changing(match: Matching) -> Mixture:
        match.scores.neg_()
        match.candidates.copy_(match.candidates.flip(1))
        return match.pick(match.scores.argmax(1))

    train(changing)


def weighted(first: float, second: float) -> Callable[[Matching], Mixture]:
    def answer(match: Matching) -> Mixture:
        items = torch.stack([match.positives, match.candidates[:, 0]], 1)[..., None]  # [B, 2, 1]
        weights = torch.tensor([first, second])[:, None].expand(len(items), 2, len(match.layers))
        return Mixture(items, weights)

    return answer


def seen_item(match: Matching) -> Mixture:
    return Mixture.single(match.positives)


def someone_elses(match: Matching) -> Mixture:
    """Mixed in beside the candidate: another item that the user has in training."""
    graph = match.graph
    first = graph.seen_items[graph.seen_offsets[match.users]]
    last = graph.seen_items[graph.seen_offsets[match.users + 1] - 1]
    other = torch.where(first == match.positives, last, first)
    shares = torch.full((len(match.users), len(match.layers)), 0.5)
    return Mixture.blend(other, match.candidates[:, 0], shares)


def in_one_layer(match: Matching) -> Mixture:
    items = match.candidates[:, : len(match.layers)].clone()
    items[3, 2] = match.positives[3]
    return Mixture.per_layer(items)


def of_several(match: Matching) -> Mixture:
    items = match.candidates.clone()
    items[0, -1] = match.positives[0]
    return Mixture.several(items)


@pytest.mark.parametrize("answer", [seen_item, someone_elses, in_one_layer, of_several], ids=lambda a: a.__name__)
def test_a_sampler_that_returns_a_seen_item(answer: Callable[[Matching], Mixture]) -> None:
    with pytest.raises(
        TrainingError,
        match=r"Answering returned item \d+ as a negative of user \d+, who has it in training; choose among",
    ):
        train(answer)


def test_the_pairs_own_positive_may_be_mixed_in() -> None:
    train(weighted(0.25, 0.75))


@pytest.mark.parametrize(("id_", "says"), [(-1, "-1"), (20, "20"), (10**9, "1000000000")])
def test_ids_out_of_range(id_: int, says: str) -> None:
    with pytest.raises(TrainingError, match=rf"Answering returned item {says}; items run from 0 to 19"):
        train(lambda match: Mixture.single(torch.full_like(match.users, id_)))


@pytest.mark.parametrize(("first", "second", "says"), [(0.5, 0.6, "1.1"), (0.0, 0.0, "0"), (float("inf"), 1.0, "inf")])
def test_weights_that_do_not_sum_to_one(first: float, second: float, says: str) -> None:
    with pytest.raises(TrainingError, match=rf"weights that sum to {says} over the mixed items; they must sum to 1"):
        train(weighted(first, second))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda match: Mixture(match.candidates), r"items of shape \[16, 4\] \(torch.int64\)"),
        (lambda match: Mixture.single(match.candidates[:-1, 0]), r"items of shape \[15, 1, 1, 1\]"),
        (lambda match: Mixture.per_layer(match.candidates[:, :2]), r"items of shape \[16, 1, 1, 2\]"),
        (lambda match: Mixture.single(match.candidates[:, 0].float()), r"\(torch.float32\).*whole-number ids"),
        (lambda match: Mixture(match.candidates[:, :2, None]), r"Answering mixes 2 items but returned no weights"),
        (
            lambda match: Mixture(match.candidates[:, :2, None], torch.ones(16, 2, 2) / 2),
            r"weights of shape \[16, 1, 2, 2\]; expected \[16, 1, 2, 3\], one for each item and layer \(or 1\)",
        ),
    ],
    ids=["two axes", "too few", "two of three layers", "float ids", "no weights", "weights for two layers"],
)
def test_a_wrong_shape(answer: Callable[[Matching], Mixture], says: str) -> None:
    with pytest.raises(TrainingError, match=says):
        train(answer)


def test_an_answer_that_is_no_mixture() -> None:
    with pytest.raises(TrainingError, match=r"Answering.choose\(\) must return a Mixture; it returned Tensor"):
        train(lambda match: match.candidates)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("path", ["cpu", "reference"])
@pytest.mark.parametrize("kind", [torch.float64, torch.float16])
def test_weights_in_another_float_type_are_those_of_the_layers(kind: torch.dtype, path: str) -> None:
    def blended(kind: torch.dtype) -> Callable[[Matching], Mixture]:
        def answer(match: Matching) -> Mixture:
            shares = torch.full((len(match.users), len(match.layers)), 0.25, dtype=kind)
            return Mixture.blend(match.positives, match.candidates[:, 0], shares)

        return answer

    rules = Protocol(batch=16, epochs=1)
    runs = [
        fit(SPLIT, MF(dim=4), Answering(4, blended(one)), protocol=rules, device="cpu", kernels=path)
        for one in (kind, torch.float32)
    ]
    assert torch.equal(*(run.recommender.weights["ego"] for run in runs))


class Returning(Sampler):
    """Hands a new state over, as if somebody took it."""

    def begin(self, graph: Graph) -> torch.Tensor:
        return torch.zeros(graph.n_items)

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return match.pick(match.state[match.candidates].argmin(1))

    def end_epoch(self, state: Any, item_vectors: torch.Tensor, graph: Graph, rng: Rng) -> None:
        return state + 1  # type: ignore[no-any-return]


class Forgetful(Returning):
    begin = Sampler.begin


def test_a_state_that_is_returned_and_not_changed() -> None:
    with pytest.raises(TrainingError, match=r"Returning.end_epoch\(\)"):
        fit(SPLIT, MF(dim=4), Returning(), protocol=PROTOCOL, device="cpu")


def test_an_end_of_epochs_without_a_state() -> None:
    with pytest.raises(TrainingError, match=r"Forgetful.end_epoch\(\) would never be called, .* begin\(self, graph\)"):
        fit(SPLIT, MF(dim=4), Forgetful(), protocol=PROTOCOL, device="cpu")


def test_weights_may_be_made_from_popularity_in_place() -> None:
    class Smoothed(Sampler):
        def weights(self, popularity: torch.Tensor) -> torch.Tensor:
            return popularity.add_(100)

        def choose(self, match: Matching, rng: Rng) -> Mixture:
            assert int(match.popularity.sum()) == len(SPLIT.train)
            return Mixture.single(match.candidates[:, 0])

    fit(SPLIT, MF(dim=4), Smoothed(), protocol=PROTOCOL, device="cpu")


def test_a_fault_in_a_later_epoch_is_found_too() -> None:
    def later(match: Matching) -> Mixture:
        return seen_item(match) if match.epoch == 1 else match.pick(torch.zeros_like(match.users))

    with pytest.raises(TrainingError, match="who has it in training"):
        train(later)


def test_a_last_step_that_overshoots_is_said_by_the_look_after_it() -> None:
    """One step an epoch: its loss is a number, what it leaves is none, and DivNS would select from that."""
    rules = Protocol(batch=1000, learning_rate=1e38, epochs=3)
    with pytest.raises(TrainingError, match="not finite, the model has diverged; lower the learning rate"):
        fit(SPLIT, LightGCN(dim=4, depth=2), DivNS(), protocol=rules, device="cpu")


def test_a_model_of_the_whole_set_is_not_handed_over_broken() -> None:
    """No look follows its last step, so nothing else would find out."""
    rules = Protocol(batch=1000, learning_rate=1e38, epochs=1)
    with pytest.raises(TrainingError, match="vectors that are not finite; lower the learning rate"):
        fit(SPLIT, LightGCN(dim=4, depth=2), RNS(), protocol=rules, device="cpu", whole=True)
