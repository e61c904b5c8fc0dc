"""The four hot verbs: all the time of a training step goes into these. The rest of the code never knows which path ran.

    hops(Ã, X, L)             X, ÃX, … Ã^L X               sparse × dense; Ã is symmetric, so backward is the same product
    draw(unseen, users, N)    [B, N] unseen items          exactly uniform, no rejection
    match(layers, …)          [B, N, T] layer-wise scores  gather and dot
    mix(layers, *reads)       [R, T, d] mixtures of rows   gather and combine; backward is one scatter-add for all reads

`layers` is a tuple of T tensors [n, d]; rows count users first, then items. `reference` is the specification in plain
torch; the fast paths are tested against it.
"""

from sahcns.kernels.verbs import Read as Read
from sahcns.kernels.verbs import Verbs as Verbs
from sahcns.kernels.verbs import verbs_for as verbs_for
