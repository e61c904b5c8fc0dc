"""A vector for somebody the model has never met, from the items they have, without training again.

    ē_new = Σ_{i ∈ S} ē_i / √(|S| · d_i)

S is what they have and d_i the training pairs of item i: one step of the graph's propagation Ã, taken over the final
vectors. For LightGCN and SimGCL this is what a user without a table row of their own comes to, up to the last layer; for
the other backbones it is the same weighted mean, and a rule of thumb.
"""

from torch import Tensor


def folded(vectors: Tensor, degrees: Tensor) -> Tensor:
    """Item vectors [S, D] and their training pairs [S] → the new user's vector [D]."""
    weights = (degrees.clamp(min=1) * len(vectors)).to(vectors.dtype).rsqrt()
    return weights @ vectors
