"""DNS(M,N): a random one of the hardest, so that hardness becomes a knob.

Shi, Chen, Feng, Zhang, Wu, Gao, He. On the Theories Behind Hard Negative Sampling for Recommendation. WWW 2023.

    top = the top_k largest of s[b, :],   r ~ Uniform{0 … top_k - 1},   j = C[b, top[r]]

The letters are swapped between papers (Shi et al.: N is the pool, M the top list; SAHC-NS prints (M,N) = (100,5) for
pool 100 and top 5), so the arguments are called `pool` and `top_k`.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.errors import SettingError
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import setting


@dataclass(frozen=True)
class DNSMN(Sampler):
    """One of the top_k candidates by score."""

    name: ClassVar[str] = "dns-mn"

    pool: int = setting(100, "candidates drawn for each pair (the paper: 100; ML-1m 50)", low=1)
    top_k: int = setting(5, "length of the top list (the paper: 5; ML-1m 10)", low=1, search=(1, 2, 3, 4, 5, 10, 20))
    pick: str = setting(
        "uniform",
        "one of the top list uniformly, one by 1/rank (DivNS's code), or all of them as negatives (Shi et al.)",
        choices=("uniform", "harmonic", "all"),
        search=(),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top_k > self.pool:
            raise SettingError(
                f"DNSMN: top_k={self.top_k} is larger than the pool of {self.pool}; lower it or draw more"
            )

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        if self.pick == "all":
            return Mixture.several(match.chosen(match.hardest(self.top_k)))  # [B, top_k], hardest first
        return Mixture.single(match.item_at_rank(self.draw_ranks(match, rng)))

    def draw_ranks(self, match: Matching, rng: Rng) -> Tensor:
        """r [B], 0 for the hardest."""
        pairs = len(match.users)
        if self.pick == "uniform":
            return rng.below(self.top_k, pairs)
        share = torch.cumsum(1.0 / torch.arange(1, self.top_k + 1, device=match.users.device), 0)
        return torch.searchsorted(share, rng.uniform(pairs) * share[-1], right=True)
