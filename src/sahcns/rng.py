"""Randomness as an argument: counter-based numbers as torch tensors, the same bits on every device.

    number k of call c at step s  =  mix(base(s) + (c · 2^40 + k + 1) · GOLDEN),   base(s) = mix(key + (s + 1) · GOLDEN)

`s` lives in a tensor on the device, so a captured CUDA graph draws new numbers at each replay, and a resumed run only
needs the counter. int64 arithmetic wraps like uint64, so these are the bits of `counter.bits`.
"""

import math
from functools import cache

import torch
from torch import Tensor

from sahcns.counter import GOLDEN, MIX_1, MIX_2, stream_key

CALL = 1 << 40  # numbers reserved for one call within a step
LOW = 0x7FFFFFFFFFFFFFFF  # all bits but the sign
ROUNDS = 6  # of the network


def signed(value: int) -> int:
    """The int64 with the same 64 bits."""
    return value - (1 << 64) if value >= 1 << 63 else value


def mix(z: Tensor) -> Tensor:
    """SplitMix64's output function, element by element (>> is arithmetic, so the sign bits are cut off)."""
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * signed(MIX_1)
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * signed(MIX_2)
    return z ^ ((z >> 31) & 0x1FFFFFFFF)


class Rng:
    """One named stream of one seed. `advance()` moves to the next step; calls within a step are numbered."""

    def __init__(self, seed: int, stream: str, device: torch.device | str = "cpu", step: Tensor | None = None) -> None:
        """Streams that move together may share one `step` counter, an int64 scalar on the device."""
        self.device = torch.device(device)
        self.seed, self.stream = seed, stream
        self.key = signed(stream_key(seed, stream))
        self.step = torch.zeros((), dtype=torch.int64, device=self.device) if step is None else step
        self.call = 0

    def __repr__(self) -> str:
        return f"Rng({self.seed}, {self.stream!r}, step {int(self.step)})"

    def advance(self) -> None:
        """To the next step, whose calls are numbered from 0 again."""
        self.step += 1
        self.call = 0

    def seek(self, step: int) -> None:
        """Continue at a given step: all that an exact resume needs."""
        self.step.fill_(step)
        self.call = 0

    def base(self) -> Tensor:
        """Key of the current step, a scalar int64 tensor."""
        return mix((self.step + 1) * signed(GOLDEN) + self.key)

    def bits(self, *shape: int) -> Tensor:
        """Uniform 64-bit integers (int64, any sign)."""
        size = math.prod(shape)
        start = self.call * CALL
        self.call += 1
        k = torch.arange(start + 1, start + size + 1, dtype=torch.int64, device=self.device)
        return mix(self.base() + k * signed(GOLDEN)).view(shape)

    def numbers(self, k: Tensor) -> Tensor:
        """Some of the numbers of one call, each what `bits` would have at that place."""
        self.call += 1
        return mix(self.base() + (k + ((self.call - 1) * CALL + 1)) * signed(GOLDEN))

    def uniform(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Uniform in [0, 1), from 24 bits (exact in every float type the trainer uses)."""
        return ((self.bits(*shape) >> 40) & 0xFFFFFF).to(dtype) * 2.0**-24

    def below(self, bound: int | Tensor, *shape: int) -> Tensor:
        """Uniform integers in [0, bound); the bias of the 63-bit remainder is under bound / 2^63."""
        return (self.bits(*shape) & LOW) % bound

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers (Box–Muller)."""
        u, v = 1.0 - self.uniform(*shape), self.uniform(*shape)
        return torch.sqrt(-2.0 * torch.log(u)) * torch.cos(2.0 * torch.pi * v)

    def gumbel(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Standard Gumbel numbers: added to logarithms of weights, the k largest are a draw of k without replacement."""
        return -torch.log(-torch.log(self.uniform(*shape, dtype=dtype)))

    def permutation(self, count: int) -> Tensor:
        """A uniformly random order of 0 … count-1."""
        return torch.argsort(self.bits(count), stable=True)

    def shuffled(self, at: Tensor, count: int) -> Tensor:
        """What stands at places `at` of a random order of 0 … count-1 that nobody keeps: a bijection, place by place.

        A Feistel network (Luby, Rackoff 1988; unbalanced moduli as in Black, Rogaway, CT-RSA 2002) permutes 0 … a·b-1 with
        a·b ≥ count; what comes out at count or beyond goes in again, at most a·b - count times, until it does not.

            x = h·m + l,   x ← ((l + F_r(h)) mod m) · n + h      (m, n) = (a, b), (b, a), … and F_r(h) number h of call r
        """
        a, b = sides(count)
        first = self.call

        def network(x: Tensor) -> Tensor:
            self.call = first
            for turn in range(ROUNDS):
                m, n = (a, b) if turn % 2 == 0 else (b, a)
                high, low = x // m, x % m
                x = (low + (self.numbers(high) & LOW) % m) % m * n + high
            return x

        x = network(at)
        for _ in range(a * b - count):
            x = torch.where(x < count, x, network(x))
        return x


@cache
def sides(count: int) -> tuple[int, int]:
    """(a, b) with a·b ≥ count, nearly equal, and as little beyond as that allows, mostly below ten."""
    root = math.isqrt(count - 1) + 1
    a = min(range(root, root + root // 2 + 1), key=lambda a: -count % a)
    return a, -(-count // a)
