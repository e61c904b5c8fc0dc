"""The trainer's check of a backbone's layers: on a GPU a table that is too short would be read past its end."""

from collections.abc import Sequence

from torch import Tensor

from sahcns.errors import TrainingError


def check_layers(layers: Sequence[Tensor], n: int, backbone: str) -> None:
    """Raise a `TrainingError` unless these are T ≥ 1 tables [n, d], all of one width d."""
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
