"""What a backbone is: tables to learn, the layers they give, and how layers become one embedding."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.errors import TrainingError
from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.settings import Configured, setting

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Backbone(Configured):
    """A graph recommender, described by its constructor arguments; its parameters are a plain dict of tensors.

    `layers` gives the layers that `aggregation` combines, each [n, d] over users then items.
    """

    dim: int = setting(64, "size d of an embedding", low=1)
    depth: int = setting(3, "propagation layers L", low=0)
    normal_start: float = setting(0.0, "σ of tables that start as N(0, σ²); 0 is Xavier-uniform", low=0, late=True)

    has_ego_layer: ClassVar[bool] = True  # layers()[0] is the trainable table itself
    # Column c of every layer is made of column c of the tables alone, in training too, and there is no loss of its own:
    # such a model can be cut over processes. A class says so of itself; a subclass may mean something else.
    by_columns: ClassVar[bool] = False

    @property
    def aggregation(self) -> Aggregation:
        """How layers become one embedding, with weights if they are not to count alike."""
        return Aggregation("mean")

    @property
    def normalisation(self) -> tuple[float, float]:
        """Exponents (a, b) of the graph that layers propagate over, D^-a A D^-b; symmetric by default."""
        return 0.5, 0.5

    def initial(self, graph: Graph, rng: Rng, dtype: torch.dtype = torch.float32) -> Parameters:
        """Xavier-uniform tables, users and items each with its own bound (the lineage's start), or normal ones (LightGCN's)."""
        if self.normal_start > 0:
            return {"ego": self.normal_start * rng.normal(graph.n, self.dim).to(dtype)}
        users = xavier(rng, graph.n_users, self.dim, dtype=dtype)
        items = xavier(rng, graph.n_items, self.dim, dtype=dtype)
        return {"ego": torch.cat([users, items])}

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        """T tensors [n, d] for training and ranking alike (no noise, no dropout)."""
        raise TrainingError(
            f"{type(self).__name__} does not define layers(self, parameters, graph), which returns tables [n, d]"
        )

    def training_layers(self, parameters: Parameters, graph: Graph, rng: Rng) -> tuple[Tensor, ...]:
        """The layers the loss sees; a backbone with dropout overrides this."""
        return self.layers(parameters, graph)

    def extra_loss(
        self,
        parameters: Parameters,
        graph: Graph,
        users: Tensor,
        positives: Tensor,
        rng: Rng,
        layers: tuple[Tensor, ...] | None = None,
    ) -> Tensor | None:
        """A loss of the backbone's own (SimGCL's InfoNCE), or None; `layers` are the batch's `training_layers`."""
        return None

    def vectors(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, Tensor]:
        """Final user [n_users, D] and item [n_items, D] embeddings, for ranking and serving."""
        with torch.no_grad():
            final = self.aggregation.pool_layers(self.layers(parameters, graph))
        return final[: graph.n_users], final[graph.n_users :]


def xavier(rng: Rng, rows: int, columns: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Uniform in ±√(6 / (rows + columns))  (Glorot & Bengio 2010)."""
    bound = math.sqrt(6.0 / (rows + columns))
    return (rng.uniform(rows, columns, dtype=torch.float64) * (2 * bound) - bound).to(dtype)


def check_layers(layers: Sequence[Tensor], n: int, backbone: str) -> None:
    """Raise a `TrainingError` unless these are T ≥ 1 tables [n, d]: on a GPU a short one would be read past its end."""
    if not isinstance(layers, tuple | list | Tensor):  # a generator could be read once only
        raise TrainingError(
            f"{backbone}.layers() must return a tuple of tables [n, d]; it returned {type(layers).__name__}"
        )
    shapes = [list(layer.shape) for layer in layers]
    if not shapes or any(shape != [n, *shapes[0][-1:]] for shape in shapes):
        raise TrainingError(
            f"{backbone} returned layers of shapes {shapes[:8]}; layers() must return tables [n, d], all of one width, "
            f"with n={n} rows: users, then items"
        )
