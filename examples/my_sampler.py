"""A sampler of your own: one method, on any backbone, with nothing to register.

python examples/my_sampler.py
sahcns train ml-latest-small --import examples/my_sampler.py --sampler sometimes-hard --set share=0.7 --out runs/mine
"""

from dataclasses import dataclass
from typing import ClassVar

import sahcns


@dataclass(frozen=True)
class SometimesHard(sahcns.Sampler):
    """The hardest candidate with a given probability, a random one otherwise."""

    name: ClassVar[str] = "sometimes-hard"

    share: float = sahcns.setting(0.5, "how often the hardest candidate is taken", low=0, high=1)

    def choose(self, match: sahcns.Matching, rng: sahcns.Rng) -> sahcns.Mixture:
        hardest = match.scores.argmax(1)  # [B], positions in the pool
        return match.pick(hardest * (rng.uniform(len(hardest)) < self.share))  # position 0 is as random as any


def main(split: sahcns.Split, epochs: int = 10) -> None:
    protocol = sahcns.Protocol(epochs=epochs, batch=1024, learning_rate=0.01)
    for share in (0.0, 0.5, 1.0):
        run = sahcns.fit(split, sahcns.LightGCN(dim=32), SometimesHard(share=share), protocol=protocol)
        print(f"share {share}: test recall@20 {run.test['recall@20']:.2%}, ndcg@20 {run.test['ndcg@20']:.2%}")


if __name__ == "__main__":
    main(sahcns.prepare_named("ml-latest-small"))
