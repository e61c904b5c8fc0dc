"""Most popular: the same list for everybody, by how many people have each item."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.sparse import csr_matrix

from sahcns.baselines.base import Baseline, Factors


@dataclass(frozen=True)
class MostPopular(Baseline):
    """s_uj = number of training pairs of j."""

    name: ClassVar[str] = "popular"

    def fit(self, matrix: csr_matrix) -> Factors:
        counts = np.asarray(matrix.sum(0)).reshape(-1, 1)
        return Factors(torch.ones(matrix.shape[0], 1), torch.from_numpy(counts.astype(np.float32)))
