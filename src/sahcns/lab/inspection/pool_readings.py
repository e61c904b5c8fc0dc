"""Figs 1 and 5(a) under readings other than ours, as plain numbers; `reading_pools.py` measures them."""

from dataclasses import dataclass

from sahcns.lab.plain import Plain


@dataclass(frozen=True)
class Shares(Plain):
    """Of pools, by the paper's marks."""

    near: float  # with a gap under 0.10
    far: float  # with a gap over 0.20


@dataclass(frozen=True)
class Chosen(Plain):
    """SA's choice against DNS's from the same pools: relative changes of the means."""

    sigma: float | None
    mu: float | None


@dataclass(frozen=True)
class PoolReadings(Plain):
    """All of it on one model."""

    pairs: int
    gaps: dict[str, Shares]  # by what a gap is divided by
    similar: int  # pairs of candidates with |Δs| < 0.01
    over_020: float | None  # share of them with |Δσ| > 0.20
    over_050: float | None
    choices: dict[str, Chosen]  # by α
