"""Counter-based randomness: the k-th number of a stream is a pure function of (seed, stream, k).

No state is kept, so a run resumes from its counters alone, two samplers with one seed see the same numbers,
and numpy here, torch in `rng.py` and the GPU kernels all give the same bits. The function is SplitMix64
(Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014): a Weyl sequence through a mixer.
"""

import hashlib
from operator import index

import numpy as np
import numpy.typing as npt

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio, the Weyl increment
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB
MASK = (1 << 64) - 1


def mix(z: int) -> int:
    """SplitMix64's output function on one Python integer."""
    z = ((z ^ (z >> 30)) * MIX_1) & MASK
    z = ((z ^ (z >> 27)) * MIX_2) & MASK
    return z ^ (z >> 31)


def stream_key(seed: int, *names: str | int) -> int:
    """64-bit key of a named stream: `stream_key(seed, "pools")`, `stream_key(seed, "shuffle", epoch)`."""
    key = mix((index(seed) + GOLDEN) & MASK)  # a number of numpy would overflow
    for name in names:
        part = name if isinstance(name, int) else int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
        key = mix((key ^ (part & MASK)) + GOLDEN & MASK)
    return key


def bits(key: int, count: int, start: int = 0) -> npt.NDArray[np.uint64]:
    """Numbers `start … start + count - 1` of the stream, as uint64."""
    k = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64(key) + k * np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return z ^ (z >> np.uint64(31))
