"""A method changed in one place by a subclass is changed on every path: no kernel may answer for the old one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.backbones import LightGCN
from sahcns.errors import TrainingError
from sahcns.kernels import Verbs, verbs_for
from sahcns.kernels.gpu import GpuVerbs
from sahcns.rng import Rng
from sahcns.samplers import BNS, DENS, DNS, DNSMN, SAHC, DivNS, Matching, MixGCF, Sampler
from sahcns.samplers.calibration import Calibration, GlobalGap, LayerGap, NoCalibration
from sahcns.samplers.sahc import SAHCGlobal
from sahcns.samplers.selection import Selection, StructureAware, selection_score
from tests.samplers.oracle import negatives_of
from tests.samplers.stepping import loss_of, small_graph, step_of
from tests.samplers.world import World, choice

PATHS = ("reference", "cpu") if torch.cuda.is_available() else ("reference", "cpu", "triton")
every_path = pytest.mark.parametrize("path", PATHS)


@dataclass(frozen=True)
class OtherParts(SAHC):
    """Global calibration, as `SAHCGlobal` has it."""

    def parts(self) -> tuple[Selection, Calibration]:
        return StructureAware(self.alpha), GlobalGap(self.lambda_max)


@every_path
def test_other_parts_of_sahc(path: str) -> None:
    world = World.random("mean", 3, 0, dtype=torch.float32)
    world = replace(world, graph=replace(world.graph, verbs=verbs_for(torch.device("cpu"), path)))
    match = world.match(SAHC(pool=6))
    found, expected, papers = (
        negatives_of(sampler.choose(match, choice()), match)
        for sampler in (OtherParts(pool=6), SAHCGlobal(pool=6), SAHC(pool=6))
    )
    assert found == expected != papers


@dataclass(frozen=True)
class Even(SAHC):
    """α below 0, which the settings do not allow: the candidates that the layers agree on."""

    def parts(self) -> tuple[Selection, Calibration]:
        return StructureAware(-2.0), LayerGap(self.lambda_max)


@dataclass(frozen=True)
class HardestOfEachLayer:
    """Positions [B, T]: MixGCF's choice."""

    def __call__(self, match: Matching) -> Tensor:
        return match.a.argmax(1)


@dataclass(frozen=True)
class PerLayer(SAHC):
    def parts(self) -> tuple[Selection, Calibration]:
        return HardestOfEachLayer(), LayerGap(self.lambda_max)


@dataclass(frozen=True)
class PerLayerAsItIs(SAHC):
    def parts(self) -> tuple[Selection, Calibration]:
        return HardestOfEachLayer(), NoCalibration()


@dataclass(frozen=True)
class TwoShares:
    """Shares [B, 2], where there should be one for each of three layers."""

    def __call__(self, match: Matching, rng: Rng) -> Tensor:
        return torch.full_like(match.p[:, :2], 0.5)


@dataclass(frozen=True)
class TooFewShares(SAHC):
    def parts(self) -> tuple[Selection, Calibration]:
        return StructureAware(self.alpha), TwoShares()


def match_on(path: str, sampler: Sampler) -> Matching:
    world = World.random("mean", 3, 0, dtype=torch.float32)
    world = replace(world, graph=replace(world.graph, verbs=verbs_for(torch.device("cpu"), path)))
    return world.match(sampler)


@every_path
def test_an_alpha_below_zero(path: str) -> None:
    match = match_on(path, SAHC(pool=6))
    chosen = Even(pool=6).choose(match, choice()).items[:, 0, 1, 0].tolist()
    assert chosen == match.chosen(selection_score(match.a, -2.0).argmax(1)).tolist()
    assert chosen != match.ranked().tolist()


@every_path
def test_a_position_for_each_layer(path: str) -> None:
    match = match_on(path, SAHC(pool=6))
    mixture = PerLayer(pool=6).choose(match, choice()).checked(len(match.users), 3, "it")
    assert mixture.items[:, 0, 1].tolist() == match.chosen(match.a.argmax(1)).tolist()
    assert mixture.weights is not None
    torch.testing.assert_close(mixture.weights[:, 0, 0], LayerGap(0.5)(match, choice()))
    unmixed = PerLayerAsItIs(pool=6).choose(match, choice()).checked(len(match.users), 3, "it")
    assert torch.equal(unmixed.items[:, 0, 0], mixture.items[:, 0, 1])
    assert unmixed.weights is None


@every_path
def test_shares_of_another_shape_are_refused(path: str) -> None:
    match = match_on(path, SAHC(pool=6))
    with pytest.raises(TrainingError, match=r"it returned weights of shape \[\d+, 1, 2, 2\]"):
        TooFewShares(pool=6).choose(match, choice()).checked(len(match.users), 3, "it")


@dataclass(frozen=True)
class NoGateLoss(DENS):
    def extra_loss(
        self, parameters: dict[str, Tensor], users: Tensor, positives: Tensor, negatives: Tensor, agg: Aggregation
    ) -> Tensor | None:
        return None


@dataclass(frozen=True)
class ThroughOnly(DNS):
    """Says its loss in the hook that the trainer calls, and in no other."""

    def extra_loss_through(
        self,
        verbs: Verbs,
        parameters: dict[str, Tensor],
        users: Tensor,
        positives: Tensor,
        negatives: Tensor,
        agg: Aggregation,
    ) -> Tensor | None:
        return positives.sum() * 0 + 100.0


@dataclass(frozen=True)
class LossOfEach(DNS):
    def extra_loss(
        self, parameters: dict[str, Tensor], users: Tensor, positives: Tensor, negatives: Tensor, agg: Aggregation
    ) -> Tensor | None:
        return positives.sum((1, 2))


def loss(sampler: Sampler, path: str) -> float:
    graph = small_graph(torch.float32, path)
    return loss_of(step_of(LightGCN(dim=3, depth=2), sampler, dtype=torch.float32, graph=graph)).item()


@every_path
def test_another_loss_of_dens(path: str) -> None:
    assert loss(NoGateLoss(pool=4), path) == pytest.approx(loss(DENS(pool=4, gamma=0.0), path), rel=1e-5)
    assert loss(DENS(pool=4), path) > loss(NoGateLoss(pool=4), path) + 0.1


@every_path
def test_a_loss_said_in_the_other_hook_counts_too(path: str) -> None:
    assert loss(ThroughOnly(pool=4), path) == pytest.approx(loss(DNS(pool=4), path) + 100.0, rel=1e-5)


@every_path
def test_a_loss_of_its_own_is_one_number(path: str) -> None:
    with pytest.raises(TrainingError, match=r"LossOfEach.extra_loss\(\) returned a loss of shape \[14\]; .*one number"):
        loss(LossOfEach(pool=4), path)


@every_path
@pytest.mark.parametrize("sampler", [SAHC(pool=8), MixGCF(pool=8), DNS(pool=8), BNS(pool=8)], ids=lambda one: one.name)
def test_a_part_of_the_pool_and_of_the_pairs(sampler: Sampler, path: str) -> None:
    world = World.random("mean", 3, 0, dtype=torch.float32)
    world = replace(world, graph=replace(world.graph, verbs=verbs_for(torch.device("cpu"), path)))
    match = world.match(sampler)
    gaps = match.users[::2], match.positives[::2], match.candidates[::2, :3], match.pairs[::2]
    found = []
    for users, positives, pools, pairs in (
        gaps,
        [column.clone(memory_format=torch.contiguous_format) for column in gaps],
    ):
        part = replace(match, users=users, positives=positives, candidates=pools, pairs=pairs)
        found.append(negatives_of(sampler.choose(part, choice()), part))
    assert found[0] == found[1]


@every_path
@pytest.mark.parametrize("sampler", [DNS(pool=6), DNSMN(pool=6, top_k=1), DivNS(pool=6)], ids=lambda one: one.name)
def test_scores_of_its_own(sampler: Sampler, path: str) -> None:
    """Put in the place of the model's before the method of the class above is asked."""
    world = World.random("mean", 3, 0, dtype=torch.float32)
    world = replace(world, graph=replace(world.graph, verbs=verbs_for(torch.device("cpu"), path)))
    match = world.match(sampler, state=sampler.begin(world.graph))
    expected = match.chosen(match.scores.argmin(1))
    match.scores = -match.scores
    assert sampler.choose(match, choice()).items[:, 0, 0, 0].tolist() == expected.tolist()


@pytest.mark.parametrize("path", PATHS[2:])
def test_and_the_published_ones_have_their_kernels(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    for verb in ("calibrated", "gate_loss", "ranked", "mixgcf"):
        real = getattr(GpuVerbs, verb)

        def noted(*arguments: object, verb: str = verb, real: Callable[..., object] = real) -> object:
            asked.append(verb)
            return real(*arguments)

        monkeypatch.setattr(GpuVerbs, verb, noted)
    for sampler in (SAHC(pool=4), DENS(pool=4), DNS(pool=4), DNSMN(pool=4, top_k=2), MixGCF(pool=4)):
        loss(sampler, path)
    for changed in (OtherParts(pool=4), NoGateLoss(pool=4)):
        loss(changed, path)
    assert asked == ["calibrated", "gate_loss", "ranked", "ranked", "mixgcf", "calibrated"]
