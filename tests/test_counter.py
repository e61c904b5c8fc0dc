"""Counter-based numbers: SplitMix64's published outputs, pure functions of (seed, stream, k), independent streams."""

import numpy as np
import pytest
from scipy.stats import chisquare

from sahcns.counter import MASK, bits, mix, stream_key


def test_outputs_of_splitmix64() -> None:
    """The first outputs of the reference implementation (Vigna) for the seeds 0 and 1234567."""
    assert [hex(x) for x in bits(0, 3)] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]
    assert bits(1234567, 5).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_the_mixer_on_one_number_is_the_mixer_on_many() -> None:
    key = stream_key(3, "pools")
    golden = 0x9E3779B97F4A7C15
    assert bits(key, 20).tolist() == [mix((key + (k + 1) * golden) & MASK) for k in range(20)]


@pytest.mark.parametrize("seed", [np.int64(3), np.uint32(3), np.int8(3)])
def test_a_seed_of_numpy_is_the_same_seed(seed: int) -> None:
    assert stream_key(seed, "pools") == stream_key(3, "pools")


def test_a_number_depends_on_its_place_alone() -> None:
    key = stream_key(1, "a")
    whole = bits(key, 100)
    assert np.array_equal(bits(key, 30, start=70), whole[70:])
    assert np.array_equal(bits(key, 0, start=5), whole[:0])
    assert whole.dtype == np.uint64


def test_keys_differ_by_seed_by_name_and_by_order() -> None:
    keys = [
        stream_key(seed, *names)
        for seed in (-1, 0, 1, 2020, 2**63, 2**64 - 2)
        for names in ((), ("pools",), ("choice",), ("pools", 0), ("pools", 1), (0, "pools"), ("pools", "choice"))
    ]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key <= MASK for key in keys)


def test_a_key_is_the_same_on_every_machine() -> None:
    """Written down once: a change here would silently change every recorded result."""
    assert stream_key(0, "pools") == 8881508789009969598
    assert bits(stream_key(0, "shuffle", 1), 8).argsort().tolist() == [2, 0, 3, 6, 4, 7, 5, 1]


@pytest.mark.parametrize("shift", [0, 11, 40, 56])
def test_every_byte_is_uniform(shift: int) -> None:
    numbers = (bits(stream_key(0, "x"), 100_000) >> np.uint64(shift)) & np.uint64(255)
    assert chisquare(np.bincount(numbers.astype(np.int64), minlength=256)).pvalue > 1e-3
