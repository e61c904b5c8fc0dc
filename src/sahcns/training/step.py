"""One training step: draw, propagate, match, choose, mix, loss, gradient, update."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.backbones.base import Backbone, Parameters, check_layers
from sahcns.errors import SettingError, TrainingError
from sahcns.graph import Batch, Graph
from sahcns.kernels import make_adam, make_rng
from sahcns.kernels.lean import Hopped
from sahcns.kernels.registry import PairLoss, Setup, find
from sahcns.objectives.base import Comparison, Objective, l2
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.contract import candidate_tables, check_choice, initial_state
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.samplers.sahc import SAHC
from sahcns.settings import by_name
from sahcns.training.profiler import Profiler
from sahcns.training.protocol import Protocol

SAMPLER = "sampler."  # prefix of a sampler's own parameters in the table of all of them
PARTS = ("draw", "propagate", "match", "loss", "backward", "step")  # what the profiler tells apart
BETWEEN = 1 << 16  # calls of a step's random numbers that are left to the end of the epoch before it


@dataclass
class Streams:
    """The seed's separate streams, so that two samplers with one seed see the same start, order and pools."""

    start: Rng
    shuffle: Rng
    pools: Rng
    choice: Rng
    noise: Rng
    objective: Rng  # between epochs

    @classmethod
    def of(cls, seed: int, device: torch.device) -> "Streams":
        start, shuffle, pools, objective = (
            make_rng(seed, name, device) for name in ("start", "shuffle", "pools", "objective")
        )
        choice, noise = (
            make_rng(seed, name, device, pools.step) for name in ("choice", "noise")
        )  # one counter of steps
        return cls(start, shuffle, pools, choice, noise, objective)

    def next_step(self) -> None:
        self.pools.advance()
        self.choice.call = self.noise.call = 0


class TrainingStep:
    """Everything a step needs, bound once; calling it on a batch of pairs updates the parameters in place.

    Each method of a part is looked up in the registry of fast paths before the first step, and never again.
    """

    def __init__(
        self,
        graph: Graph,
        backbone: Backbone,
        sampler: Sampler,
        objective: Objective,
        protocol: Protocol,
        parameters: Parameters,
        streams: Streams,
        profiler: Profiler,
    ) -> None:
        self.graph, self.backbone, self.sampler, self.objective = graph, backbone, sampler, objective
        self.protocol, self.parameters, self.streams, self.profiler = protocol, parameters, streams, profiler
        self.aggregation = backbone.aggregation
        self.own = {k.removeprefix(SAMPLER): v for k, v in parameters.items() if k.startswith(SAMPLER)}
        self.unseen = candidate_tables(sampler, graph)
        self.state: Any = initial_state(sampler, graph)
        self.objective_state: Any = objective.begin(graph)
        self.first_call = 0 if self.state is None else BETWEEN
        self.epoch = torch.zeros((), device=graph.device)
        self.checked = True
        mixed = protocol.l2_on == "mixed"
        if protocol.l2 > 0 and not (backbone.has_ego_layer and mixed) and "ego" not in parameters:
            raise SettingError(
                f"{type(backbone).__name__}: L2 looks for the trainable table under the name 'ego', and initial() gave "
                f"{', '.join(parameters)}; call it so, or set l2 to 0"
            )
        # The table that L2 reads where it is none of the layers.
        apart = protocol.l2 > 0 and not backbone.has_ego_layer
        self.table = parameters["ego"] if apart else None
        setup = Setup(graph, backbone, sampler, objective, protocol.l2_on)
        self.choose = find(sampler, "choose", setup) or sampler.choose
        self.sampler_loss = (find(sampler, "extra_loss", setup) or sampler.extra_loss) if sampler.has_loss() else None
        self.end_epoch = find(sampler, "end_epoch", setup) or sampler.end_epoch
        self.training_layers = find(backbone, "training_layers", setup) or backbone.training_layers
        self.backbone_loss = find(backbone, "extra_loss", setup) or backbone.extra_loss
        self.fast_layers = find(backbone, "layers", setup)
        self.fast_loss: PairLoss | None = find(objective, "loss", setup)
        self.shared_loss: PairLoss | None = find(objective, "shared_loss", setup)
        # Whether a gradient needs the layers once more, besides those that mixtures of their rows have.
        self.looks_again = sampler.taught_by_choice or type(backbone).extra_loss is not Backbone.extra_loss
        self.optimiser = make_adam(graph, parameters.values(), protocol.learning_rate, streams.pools.step)

    def __call__(self, pairs: Tensor, users: Tensor, positives: Tensor) -> Tensor:
        """A batch: positions among the training pairs, their users and items, [B] each. Returns the loss, detached."""
        loss = self.loss(pairs, users, positives)
        with self.profiler("backward"):
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
        with self.profiler("step"):
            self.optimiser.step()
            if self.graph.lean:  # or the gradient holds on to the tables of these layers while the next are made
                self.optimiser.zero_grad(set_to_none=True)
            self.streams.next_step()
        return loss.detach()

    def loss(self, pairs: Tensor, users: Tensor, positives: Tensor) -> Tensor:
        """The whole forward pass of a batch; nothing is updated."""
        graph, profiler = self.graph, self.profiler
        with profiler("draw"):
            candidates = graph.draw(users, self.sampler.pool, self.streams.pools, self.unseen)  # [B, N]
        with profiler("propagate"):
            layers = self.training_layers(self.parameters, graph, self.streams.noise)
        if self.checked:
            check_layers(layers, graph.n, type(self.backbone).__name__)
        if isinstance(layers, Hopped):
            layers.spare = not self.looks_again
        # What a replayed step draws begins at the same call each time, so an eager one must too.
        self.streams.choice.call = max(self.streams.choice.call, self.first_call)
        with profiler("match"), torch.set_grad_enabled(self.sampler.taught_by_choice):
            mixture = self.negatives(self.matching(pairs, users, positives, candidates, layers))
        with profiler("loss"):
            return self.total_loss(self.batch(pairs, users, positives, layers), mixture)

    def batch(self, pairs: Tensor, users: Tensor, positives: Tensor, layers: tuple[Tensor, ...]) -> Batch:
        """The pairs as the losses see them."""
        weights = None if self.graph.pair_weights is None else self.graph.pair_weights[pairs]
        return Batch(users, positives, layers, self.aggregation, weights)

    def matching(
        self, pairs: Tensor, users: Tensor, positives: Tensor, candidates: Tensor, layers: tuple[Tensor, ...]
    ) -> Matching:
        """What the sampler looks at."""
        detached = tuple(layer.detach() for layer in layers)
        told = self.graph, self.aggregation, self.epoch, self.own, self.state
        return Matching(users, positives, candidates, pairs, detached, *told)

    def negatives(self, match: Matching) -> Mixture:
        """The sampler's mixture, in its full form."""
        if self.checked:
            return check_choice(self.sampler, match, self.streams.choice, self.choose)
        mixture: Mixture = self.choose(match, self.streams.choice)
        sizes = len(match.users), len(match.layers)
        return mixture.checked(*sizes, type(self.sampler).__name__, match.layers[0].dtype)

    def total_loss(self, batch: Batch, mixture: Mixture) -> Tensor:
        """The objective, L2, and the losses of the sampler's and the backbone's own."""
        total, *more = self.losses(batch, mixture, self.streams.noise).values()
        for loss in more:
            total = total + loss
        return total

    def losses(self, batch: Batch, mixture: Mixture, noise: Rng, fast: bool = True) -> dict[str, Tensor]:
        """The parts that there are, each a number; with `fast` the objective's may be one with L2."""
        strength = self.protocol.l2
        known = self.fast_loss if mixture.plain else self.shared_loss if mixture.shared else None
        fast = fast and known is not None
        pairs = Comparison(
            batch, mixture.items, mixture.weights, self.graph,
            mixture.left_out if fast else mixture.excluded(batch.positives), mixture.log_q, mixture.own, mixture.shift,
            self.objective_state, same=fast and mixture.same,
        )  # fmt: skip
        if fast and known is not None:
            parts = {"objective": known(pairs, strength, self.table)}
        else:
            parts = {"objective": one_number(self.objective.loss(pairs), self.objective, "loss")}
            if batch.weights is not None and not pairs.averaged:
                raise TrainingError(
                    f"{type(self.objective).__name__}.loss() does not weigh its pairs, and these data have weights: let it "
                    "end in pairs.mean(losses), of one loss a pair, or prepare the set without weight and half_life"
                )
            if pairs.log_q is not None and not pairs.corrected:
                raise TrainingError(
                    f"{type(self.objective).__name__} is no softmax, so there is no logit to take log q from, as "
                    f"{type(self.sampler).__name__} asks; set its correct to false, or take another objective"
                )
            if strength > 0:
                mixed = self.protocol.l2_on == "mixed"
                table = self.table if mixed else self.parameters["ego"]
                parts["l2"] = self.graph.columns.sum(l2(strength, *pairs.ego_rows(table, mixed)))
        if self.sampler_loss is not None:
            taught = mixture.taught
            rows = pairs if taught is None else Comparison(batch, taught[:, :, None, None], None, self.graph)
            extra = self.sampler_loss(self.own, *rows.layers, self.aggregation)
            parts |= {} if extra is None else {"sampler": one_number(extra, self.sampler)}
        ids = batch.users, batch.positives
        extra = self.backbone_loss(self.parameters, self.graph, *ids, noise, batch.layers)
        return parts if extra is None else parts | {"backbone": one_number(extra, self.backbone)}

    def vectors(self, parameters: Parameters) -> tuple[Tensor, Tensor]:
        """User [n_users, D] and item [n_items, D] embeddings, for ranking: `final`, of length 1 where cosines rank."""
        users, items = self.final(parameters)
        return (normalize(users, dim=1), normalize(items, dim=1)) if self.objective.ranks_by_cosine else (users, items)

    def final(self, parameters: Parameters) -> tuple[Tensor, Tensor]:
        """Final user [n_users, D] and item [n_items, D] embeddings."""
        if self.fast_layers is None:
            users, items = map(self.graph.columns.gather, self.backbone.vectors(parameters, self.graph))
            return users, items
        with torch.no_grad():
            final = self.aggregation.pool_layers(self.fast_layers(parameters, self.graph))
        return final[: self.graph.n_users], final[self.graph.n_users :]


def sampler_for(objective: Objective, sampler: Sampler | None) -> Sampler:
    """The sampler that was asked for, or else the one that is taken; one that would choose for nothing is refused."""
    if not (only := objective.only_sampler):
        return sampler or SAHC()
    if sampler is not None and sampler != by_name(Sampler, only, {}):
        raise SettingError(
            f"{type(objective).__name__} looks at the batch's own users and items, and at no negative that {sampler!r} would "
            f"choose; leave the sampler out, which takes {only!r}"
        )
    return by_name(Sampler, only, {})


def initial_parameters(backbone: Backbone, sampler: Sampler, graph: Graph, streams: Streams) -> Parameters:
    """All that is trained, by name, on the graph's device; a sampler's names begin with `SAMPLER`."""
    tables = _copies(backbone.initial(graph, streams.start), f"{type(backbone).__name__}.initial()", graph.device)
    tables = {name: graph.columns.own(table.detach()).requires_grad_() for name, table in tables.items()}
    trainable = sampler.trainable(backbone.dim, streams.choice, torch.float32)
    own = _copies(trainable, f"{type(sampler).__name__}.trainable()", graph.device)
    if own and not sampler.has_loss():
        raise TrainingError(
            f"nothing would train what {type(sampler).__name__}.trainable() returned, since choose() runs without gradient: "
            "write extra_loss() too, or keep what is not to be trained in begin()"
        )
    return tables | {SAMPLER + name: value for name, value in own.items()}


def _copies(values: Parameters, source: str, device: torch.device) -> Parameters:
    """Tensors that belong to the run: they are changed in place, and only one without a past receives gradient."""
    if not isinstance(values, dict):
        raise TrainingError(
            f"{source} must return a dict of float tensors by name; it returned {type(values).__name__}"
        )
    for name, value in values.items():
        if not isinstance(value, Tensor) or not value.is_floating_point():
            found = value.dtype if isinstance(value, Tensor) else type(value).__name__
            raise TrainingError(f"{source} must return float tensors, which can be trained; {name!r} is {found}")
    return {name: value.detach().to(device, copy=True).requires_grad_() for name, value in values.items()}


def one_number(loss: Tensor, part: object, method: str = "extra_loss") -> Tensor:
    """A part's loss; anything but a scalar is an error that names its class."""
    if isinstance(loss, Tensor) and loss.dim() == 0:
        return loss
    found = f"a loss of shape {list(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
    raise TrainingError(
        f"{type(part).__name__}.{method}() returned {found}; it must be one number, say a mean, as a tensor"
    )
