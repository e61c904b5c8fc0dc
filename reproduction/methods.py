"""The paper's nine methods with its settings for each data set, the variants of its ablation, and its metrics, as plain data.

Every description is complete, as a run writes it down, so that runs are found by it without torch.
"""

from collections.abc import Mapping
from typing import Any

Settings = dict[str, Any]
"""`{"name": "dns", "pool": 10}`: a sampler, a backbone or a protocol with all of its arguments."""

TOYS, YELP, ML1M = "amazon-toys", "yelp-like", "ml-1m"
METHOD, UNTUNED, FAMILY = "SAHC-NS", "SAHC-NS, untuned", "SAHC family"

METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
RECALL, NDCG = AT_20 = METRICS[2:]
NAMES = {"recall@10": "Recall@10", "ndcg@10": "NDCG@10", RECALL: "Recall@20", NDCG: "NDCG@20"}
READINGS = {"best": "best epoch", "last": "where it stopped"}
"""A run is read at the best validation epoch, which is the headline, and at the epoch where training stopped."""

SAMPLERS: Mapping[str, Settings] = {
    "rns": {"pool": 1},
    "dns": {"pool": 10},
    "dns-mn": {"pool": 100, "top_k": 5, "pick": "uniform"},
    "mixgcf": {"pool": 10, "beta_low": 0.0, "beta_high": 1.0},
    "dens": {"pool": 10, "alpha": 1.0, "gamma": 0.3, "schedule": "fixed", "warmup": 100},
    "bns": {"pool": 10, "lam": 5.0, "ranks_among": "all"},
    "ahns": {"pool": 10, "alpha": 1.0, "beta": 0.1, "p": -2},
    "divns": {"pool": 10, "ratio": 4, "lam": 0.8, "selector": "kdpp", "cap": 512},
    "sahc": {"pool": 10, "alpha": 0.3, "lambda_max": 0.5},  # the paper does not print its α and λmax
    "sahc-family": {
        "pool": 10,
        "common": 0.5,
        "alpha": 0.0,
        "floor": 0.1,
        "lambda_max": 0.5,
        "scale": "batch",
        "softness": 0.0,
        "sides": "one",
    },
    "sa-only": {"pool": 10, "alpha": 0.3},
    "hc-only": {"pool": 10, "lambda_max": 0.5},
    "sahc-no-mean": {"pool": 10, "lambda_max": 0.5},
    "sahc-fixed": {"pool": 10, "alpha": 0.3, "high": 0.5},
    "sahc-global": {"pool": 10, "alpha": 0.3, "lambda_max": 0.5},
}
BACKBONES: Mapping[str, Settings] = {
    "lightgcn": {"dim": 64, "depth": 3},
    "ngcf": {"dim": 64, "depth": 3, "pool": "concat", "variant": "mixgcf", "dropout": 0.0},
    "simgcl": {"dim": 64, "depth": 3, "cl_weight": 0.1, "noise": 0.1, "temperature": 0.2, "include_layer0": False},
}
PROTOCOL: Settings = {
    "batch": 2048,
    "learning_rate": 0.001,
    "l2": 0.0001,
    "l2_on": "mixed",
    "epochs": 1000,
    "evaluate_every": 5,
    "patience": 10,
    "monitor": "recall@20",
    "select_on": "valid",
    "mask": "train",
    "drop_last": True,
}

NINE = {
    "RNS": "rns",
    "DNS": "dns",
    "DNS(M,N)": "dns-mn",
    "MixGCF": "mixgcf",
    "DENS": "dens",
    "BNS": "bns",
    "AHNS": "ahns",
    "DivNS": "divns",
    METHOD: "sahc",
}
"""Table II's rows, top to bottom."""
ALL_TUNED = {**NINE, FAMILY: "sahc-family"}
"""The rows where everything is searched: with a family that has SAHC-NS and MixGCF at its ends."""
OWN = ("sahc",)
RIVALS = ("dns-mn", "mixgcf", "dens", "bns", "ahns", "divns")  # RNS and DNS have nothing to tune
TUNABLE = (*OWN, *RIVALS)
OF_PROTOCOL = "protocol."  # how its settings are called in a search

WITHOUT_GRADIENT: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "popular": {},
    "item-knn": {"neighbours": (5, 10, 20, 50, 100, 200, 500, 1000), "shrinkage": (0, 10, 30, 100, 300, 1000)},
    "ease": {"l2": (20, 50, 100, 200, 500, 1000, 2000, 5000)},
    "als": {"dim": (32, 64, 128), "l2": (1, 2, 5, 10, 20, 50, 100, 200), "alpha": (1, 2, 5, 10, 20, 50)},
    "gf-cf": {"weight": (0, 0.1, 0.3, 1, 3, 10), "vectors": (32, 64, 128, 256, 512)},
}
"""Baselines, each with the grid that its settings are chosen from."""
BASELINES = {"popular": "Most popular", "item-knn": "Item-kNN", "ease": "EASE", "als": "ALS", "gf-cf": "GF-CF"}
"""Their rows in tables."""

SOUND_AS_PRINTED = ("DNS", "DNS(M,N)", "MixGCF", "BNS", "DivNS")  # DENS and AHNS do not train so everywhere
# What the paper names for each set (§ Baselines); where it names none, the default of the method's own paper holds.
_OF_SET: Mapping[str, Mapping[str, Settings]] = {
    TOYS: {},
    YELP: {"dens": {"alpha": 0.0, "gamma": 0.05}, "divns": {"ratio": 0, "lam": 1.0}},
    ML1M: {"dns-mn": {"pool": 50, "top_k": 10}, "dens": {"alpha": 0.0, "gamma": 0.01}},
}


def sampler(name: str, **changed: Any) -> Settings:
    """A sampler with its defaults, with some of them changed."""
    return {"name": name, **SAMPLERS[name], **changed}


def as_printed(like: str, name: str) -> Settings:
    """What the paper says of a sampler on a set, all of its settings. On Yelp its DivNS (0, 1.0) is DNS."""
    return {**SAMPLERS[name], **_OF_SET[like].get(name, {})}


def nine(like: str, own: Settings) -> dict[str, Settings]:
    """Table II's methods with the paper's settings for a set."""
    return {label: own if label == METHOD else sampler(name, **as_printed(like, name)) for label, name in NINE.items()}


def variants(own: Settings) -> dict[str, Settings]:
    """Table III's methods: parts of SAHC-NS taken away, or replaced by a simpler one.

    Without the discrepancy it selects by the mean over the layers, which on LightGCN is the score itself: HC-only, which
    is run once for both.
    """
    alpha, most = own["alpha"], own["lambda_max"]
    calibrated = sampler("hc-only", lambda_max=most)
    return {
        "DNS": sampler("dns"),
        "SA-only": sampler("sa-only", alpha=alpha),
        "HC-only": calibrated,
        "SAHC w/o Discrepancy": calibrated,
        "SAHC w/o Mean": sampler("sahc-no-mean", lambda_max=most),
        "SAHC-Fixed": sampler("sahc-fixed", alpha=alpha, high=most),
        "SAHC-Global": sampler("sahc-global", alpha=alpha, lambda_max=most),
        METHOD: own,
    }


def alike(chosen: Mapping[str, Settings]) -> dict[str, tuple[Settings | None, Settings]]:
    """All methods with what validation chose for each: the sampler, None while its search goes on, and its protocol."""
    found: dict[str, tuple[Settings | None, Settings]] = {}
    for label, name in ALL_TUNED.items():
        every = chosen.get(name, {})
        terms = {key: value for key, value in every.items() if key.startswith(OF_PROTOCOL)}
        own = {key: value for key, value in every.items() if key not in terms}
        found[label] = (
            sampler(name, **own) if every else None,
            {key.removeprefix(OF_PROTOCOL): value for key, value in terms.items()},
        )
    return found


def equal(chosen: Mapping[str, Settings], pool: int) -> dict[str, Settings | None]:
    """The nine with one pool and what tuning chose for each; None for those whose tuning is not finished."""
    known = {"rns": SAMPLERS["rns"], "dns": {"pool": pool}}
    known |= {name: {**chosen[name], "pool": pool} for name in TUNABLE if name in chosen}
    return {label: sampler(name, **known[name]) if name in known else None for label, name in NINE.items()}
