"""Holm's correction: many tests in one table, one chance of a false alarm for all of them together."""

from collections.abc import Sequence

import numpy as np


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given; one below 0.05 is significant with all the tests of the table counted.

    The k-th smallest of m is multiplied by m − k + 1, and none may be smaller than the one before it. NaN, a test that
    could not be made, stays NaN and is not counted.

    Holm: A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 1979.
    """
    given = np.asarray(ps, float)
    adjusted = np.full(given.shape, np.nan)
    made = np.flatnonzero(~np.isnan(given))
    order = made[np.argsort(given[made], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * given[order]))
    return [float(p) for p in adjusted]
