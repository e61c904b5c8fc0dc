"""One training step: draw, propagate, match, choose, mix, loss, gradient, update."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sahcns.backbones.base import Backbone, Parameters
from sahcns.backbones.contract import check_layers
from sahcns.errors import SettingError
from sahcns.graph import Graph, Unseen
from sahcns.kernels import Read
from sahcns.objectives import bpr, l2, one_number
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.contract import answer, begun, drawn_from
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.training.clock import Clock
from sahcns.training.protocol import Protocol

SAMPLER = "sampler."  # prefix of a sampler's own parameters in the table of all of them
PARTS = ("draw", "propagate", "match", "loss", "backward", "step")  # what the clock tells apart
BETWEEN = 1 << 16  # calls of a step's random numbers that are left to the end of the epoch before it


@dataclass
class Streams:
    """The seed's separate streams, so that two samplers with one seed see the same start, order and pools."""

    start: Rng
    shuffle: Rng
    pools: Rng
    choice: Rng
    noise: Rng

    @classmethod
    def of(cls, seed: int, device: torch.device) -> "Streams":
        start, shuffle = Rng(seed, "start", device), Rng(seed, "shuffle", device)
        pools = Rng(seed, "pools", device)
        choice, noise = (Rng(seed, name, device, pools.step) for name in ("choice", "noise"))  # one counter of steps
        return cls(start, shuffle, pools, choice, noise)

    def next_step(self) -> None:
        self.pools.advance()
        self.choice.call = self.noise.call = 0


class TrainingStep:
    """Everything a step needs, bound once; calling it on a batch of pairs updates the parameters in place."""

    def __init__(
        self,
        graph: Graph,
        backbone: Backbone,
        sampler: Sampler,
        protocol: Protocol,
        parameters: Parameters,
        streams: Streams,
        clock: Clock,
    ) -> None:
        self.graph, self.backbone, self.sampler, self.protocol = graph, backbone, sampler, protocol
        self.parameters, self.streams, self.clock = parameters, streams, clock
        self.aggregation = backbone.aggregation
        self.own = {k.removeprefix(SAMPLER): v for k, v in parameters.items() if k.startswith(SAMPLER)}
        self.unseen: Unseen = drawn_from(sampler, graph)
        self.state: Any = begun(sampler, graph)
        self.first_call = 0 if self.state is None else BETWEEN
        self.epoch = torch.zeros((), device=graph.device)
        self.checked = True
        # What the one-kernel loss knows: L2 on what was mixed.
        self.fusible = protocol.l2_on == "mixed"
        self.apart = protocol.l2 > 0 and not backbone.has_ego_layer  # L2 on the table, which is none of the layers
        if protocol.l2 > 0 and not (backbone.has_ego_layer and self.fusible) and "ego" not in parameters:
            raise SettingError(
                f"{type(backbone).__name__}: L2 looks for the trainable table under the name 'ego', and initial() gave "
                f"{', '.join(parameters)}; call it so, or set l2 to 0"
            )
        self.plain_sampler = not sampler.has_loss()
        self.optimiser = graph.verbs.adam(parameters.values(), protocol.learning_rate, streams.pools.step)

    def __call__(self, pairs: Tensor, users: Tensor, positives: Tensor) -> Tensor:
        """A batch: positions among the training pairs, their users and items, [B] each. Returns the loss, detached."""
        loss = self.loss(pairs, users, positives)
        with self.clock("backward"):
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
        with self.clock("step"):
            self.optimiser.step()
            self.streams.next_step()
        return loss.detach()

    def loss(self, pairs: Tensor, users: Tensor, positives: Tensor) -> Tensor:
        """The whole forward pass of a batch; nothing is updated."""
        graph, clock = self.graph, self.clock
        with clock("draw"):
            candidates = graph.draw(users, self.sampler.pool, self.streams.pools, self.unseen)  # [B, N]
        with clock("propagate"):
            layers = self.backbone.training_layers(self.parameters, graph, self.streams.noise)
        if self.checked:
            check_layers(layers, graph.n, type(self.backbone).__name__)
        # What a replayed step draws begins at the same call each time, so an eager one must too.
        self.streams.choice.call = max(self.streams.choice.call, self.first_call)
        with clock("match"), torch.no_grad():
            match = Matching(
                users,
                positives,
                candidates,
                pairs,
                tuple(layer.detach() for layer in layers),
                graph,
                self.aggregation,
                self.epoch,
                self.own,
                self.state,
            )
            mixture = answer(self.sampler, match, self.streams.choice, self.checked)
        with clock("loss"):
            return self._objective(layers, users, positives, mixture)

    def _objective(self, layers: tuple[Tensor, ...], users: Tensor, positives: Tensor, mixture: Mixture) -> Tensor:
        total = self._fused_objective(layers, users, positives, mixture)
        if total is None:
            total = self._plain_objective(layers, users, positives, mixture)
        extra = self.backbone.extra_loss(self.parameters, self.graph, users, positives, self.streams.noise, layers)
        return total if extra is None else total + one_number(extra, self.backbone)

    def _fused_objective(
        self, layers: tuple[Tensor, ...], users: Tensor, positives: Tensor, mixture: Mixture
    ) -> Tensor | None:
        """The same number from one kernel, where there is one and it knows this combination."""
        verbs, agg = self.graph.verbs, self.aggregation
        if not self.fusible or mixture.items.shape[1] != 1:
            return None
        weights = None if mixture.weights is None else mixture.weights[:, 0].contiguous()
        items = mixture.items[:, 0].contiguous()
        strength = 0.0 if self.apart else self.protocol.l2
        batch = self.graph.n_users, users, positives, items, weights
        if self.plain_sampler:
            rows, total = None, verbs.pair_loss(layers, agg, *batch, strength)
        else:
            rows = verbs.pair_loss_and_rows(layers, agg, *batch, strength)
            total = None if rows is None else rows[0]
        if total is None:
            return None
        if self.apart:
            ridge = verbs.ridge(self.parameters["ego"], *batch, self.protocol.l2)
            if ridge is None:
                return None
            total = total + ridge
        if rows is None:
            return total
        _, u, i, negatives = rows
        extra = self.sampler.extra_loss_through(verbs, self.own, u, i, negatives[:, None], agg)
        return total if extra is None else total + one_number(extra, self.sampler)

    def _plain_objective(
        self, layers: tuple[Tensor, ...], users: Tensor, positives: Tensor, mixture: Mixture
    ) -> Tensor:
        """BPR, L2 and the sampler's own loss, from the layers of the batch: the specification of `pair_loss`."""
        graph, agg = self.graph, self.aggregation
        batch, count = mixture.items.shape[:2]
        rows = mixture.items.flatten(0, 1) + graph.n_users  # [B·K, M, T]
        weights = None if mixture.weights is None else mixture.weights.flatten(0, 1)
        u, i, negatives = graph.verbs.mix(
            layers,
            Read(users[:, None, None], None),
            Read((positives + graph.n_users)[:, None, None], None),
            Read(rows, weights),
        )  # [B, T, d], [B, T, d], [B·K, T, d]
        negatives = negatives.view(batch, count, *negatives.shape[1:])
        anchor = agg.anchor(u)
        y_pos = agg.score((anchor * i).sum(-1))
        y_neg = agg.score((anchor[:, None] * negatives).sum(-1))
        total = bpr(y_pos, y_neg)
        if self.protocol.l2 > 0:
            total = total + l2(self.protocol.l2, *self._ego(u, i, negatives, users, positives, rows, weights))
        extra = self.sampler.extra_loss_through(graph.verbs, self.own, u, i, negatives, agg)
        return total if extra is None else total + one_number(extra, self.sampler)

    def _ego(
        self,
        u: Tensor,
        i: Tensor,
        negatives: Tensor,
        users: Tensor,
        positives: Tensor,
        rows: Tensor,
        weights: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Layer-0 rows for L2; where the stack has no layer 0 they are read from the table with the first layer's mix."""
        mixed = self.protocol.l2_on == "mixed"
        if self.backbone.has_ego_layer and mixed:
            return u[:, 0], i[:, 0], negatives[:, :, 0]
        first = None if weights is None or not mixed else weights[..., :1]
        chosen = rows[..., :1] if mixed else rows[:, -1:, :1]  # the real item stands last in every mixture
        read = self.graph.verbs.mix(  # [B, 1, d], [B, 1, d], [B·K, 1, d]
            (self.parameters["ego"],),
            Read(users[:, None, None], None),
            Read((positives + self.graph.n_users)[:, None, None], None),
            Read(chosen, first),
        )
        return read[0][:, 0], read[1][:, 0], read[2].view_as(negatives[:, :, :1])[:, :, 0]
