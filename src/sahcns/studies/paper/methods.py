"""The paper's nine methods with its settings for each data set, and the variants of its ablation."""

from collections.abc import Mapping
from typing import Any

from sahcns.samplers import (
    AHNS,
    BNS,
    DENS,
    DNS,
    DNSMN,
    RNS,
    SAHC,
    DivNS,
    HCOnly,
    MixGCF,
    SAHCFixed,
    SAHCGlobal,
    Sampler,
    SAOnly,
    WithoutDiscrepancy,
    WithoutMean,
)

TOYS, YELP, ML1M = "amazon-toys", "yelp-like", "ml-1m"
SETS = {TOYS: "Amazon-toys", YELP: "Yelp-like", ML1M: "ML-1m"}  # a folder's name, and the one in tables

METHOD = "SAHC-NS"
UNTUNED = SAHC(alpha=0.3, lambda_max=0.5)  # the paper does not print its α and λmax

# What the paper names for each set (§ Baselines); where it names none, the default of the method's own paper holds.
_DNS_MN = {TOYS: (100, 5), YELP: (100, 5), ML1M: (50, 10)}
_DENS = {TOYS: (1.0, 0.3), YELP: (0.0, 0.05), ML1M: (0.0, 0.01)}
_DIVNS = {TOYS: (4, 0.8), YELP: (0, 1.0), ML1M: (4, 0.8)}


def nine(data: str, own: SAHC = UNTUNED) -> dict[str, Sampler]:
    """Table II's rows, top to bottom. On Yelp the paper's DivNS (0, 1.0) is DNS."""
    pool, top_k = _DNS_MN[data]
    alpha, gamma = _DENS[data]
    ratio, lam = _DIVNS[data]
    return {
        "RNS": RNS(),
        "DNS": DNS(),
        "DNS(M,N)": DNSMN(pool=pool, top_k=top_k),
        "MixGCF": MixGCF(),
        "DENS": DENS(alpha=alpha, gamma=gamma),
        "BNS": BNS(lam=5.0),
        "AHNS": AHNS(alpha=1.0, beta=0.1, p=-2),
        "DivNS": DivNS(ratio=ratio, lam=lam),
        METHOD: own,
    }


def variants(own: SAHC = UNTUNED) -> dict[str, Sampler]:
    """Table III's rows: parts taken away, or replaced by a simpler one."""
    alpha, most = own.alpha, own.lambda_max
    return {
        "DNS": DNS(),
        "SA-only": SAOnly(alpha=alpha),
        "HC-only": HCOnly(lambda_max=most),
        "SAHC w/o Discrepancy": WithoutDiscrepancy(lambda_max=most),
        "SAHC w/o Mean": WithoutMean(lambda_max=most),
        "SAHC-Fixed": SAHCFixed(alpha=alpha, high=most),
        "SAHC-Global": SAHCGlobal(alpha=alpha, lambda_max=most),
        METHOD: own,
    }


def own_settings(tuned: Mapping[str, Mapping[str, Any]], data: str) -> SAHC:
    """SAHC-NS with what tuning chose for a set, or untuned."""
    return SAHC(**tuned[data]) if data in tuned else UNTUNED
