"""A report with one figure of each kind, made of numbers that tests can name."""

import math

from sahcns.lab.report.parts import Cell, Figure, Report, Section, Series, Table

SAMPLERS = ("rns", "bns", "dns", "dns-mn", "mixgcf", "dens", "ahns", "divns", "sahc")
EVIL = "</script><script>window.stolen = 1</script><img src=x onerror='window.stolen = 2'>"

CURVES = Figure(
    "curves",
    "Recall@20 over epochs",
    "epoch",
    "Recall@20",
    [
        Series(
            name.upper(),
            [5.0 * step for step in range(1, 21)],
            [0.1 + 0.002 * place + 0.001 * step for step in range(1, 21)],
            [0.099 + 0.002 * place + 0.001 * step for step in range(1, 21)],
            [0.102 + 0.002 * place + 0.001 * step for step in range(1, 21)],
            role=name,
            hints=["best of seed 3" if step == 8 else "" for step in range(1, 21)],
        )
        for place, name in enumerate(SAMPLERS)
    ],
    caption="Mean of five seeds with `one` standard deviation.",
)
CLOCK = Figure(
    "clock",
    "Recall@20 over time",
    "seconds",
    "Recall@20",
    [
        Series("DNS", [0.5, 2, 11, 90], [0.05, 0.08, math.nan, 0.12], role="dns"),
        Series("SAHC-NS", [0.7, 3, 12, 100], [0.06, 0.07, 0.1, 0.13], role="sahc"),
        Series("SAHC-NS, last", [0.7, 3, 12, 100], [0.06, 0.07, 0.09, 0.11], role="sahc", dashed=True),
    ],
    x_log=True,
)
BARS = Figure(
    "metrics",
    "Metrics",
    "",
    "percent",
    [
        Series(
            name, ["Recall@20", "NDCG@20"], [10.0 + at, 5.0 + at], [9.5 + at, 4.5 + at], [11 + at, 6 + at], role=name
        )
        for at, name in enumerate(("dns", "mixgcf", "sahc"))
    ],
    kind="bar",
)
CHANGES = Figure(
    "changes",
    "Change against DNS",
    "",
    "points",
    [Series("change", ["sahc", "rns", "a name that is far too long for its place"], [1.5, -2.0, 0.5])],
    kind="bar",
)
HISTOGRAM = Figure(
    "gaps", "Pool gaps", "gap", "share", [Series("pools", [0.0, 0.1, 0.2, 0.3], [0.1, 0.4, 0.3, 0.2])], kind="bar"
)
HISTOGRAMS = Figure(
    "hardness",
    "Hardness",
    "score",
    "share",
    [
        Series("rns", [0.0, 0.1, 0.2, 0.3], [0.5, 0.3, 0.2, 0.0], role="rns"),
        Series("dns", [0.0, 0.1, 0.3], [0.1, 0.2, 0.7], role="dns"),
    ],
    kind="bar",
)
HEAT = Figure(
    "strength",
    "Strength",
    "gap",
    "layer",
    [
        Series("0", ["small", "large"], [0.1, 0.5]),
        Series("1", ["small", "large"], [0.2, math.nan]),
        Series("2", ["small", "large"], [0.05, 0.3]),
    ],
    kind="heat",
    value_label="mean λ",
)
DELTAS = Figure(
    "deltas",
    "Differences",
    "set",
    "sampler",
    [Series("dns", ["toys", "yelp"], [-0.4, 0.2]), Series("sahc", ["toys", "yelp"], [0.1, 0.0])],
    kind="heat",
)
CLOUD = Figure(
    "trials",
    "Trials",
    "alpha",
    "Recall@20",
    [
        Series("mine", [0.1, 0.5, 0.9], [0.12, 0.13, 0.11], role="mine", hints=["trial 0", "trial 1", "trial 2"]),
        Series(EVIL, [0.2, 0.6], [0.125, 0.115], role=EVIL),
    ],
    kind="scatter",
)
EMPTY = Figure("empty", "Nothing yet", "epoch", "loss", [Series("loss", [1, 2], [math.nan, math.nan])])

FIGURES = (CURVES, CLOCK, BARS, CHANGES, HISTOGRAM, HISTOGRAMS, HEAT, DELTAS, CLOUD, EMPTY)

TABLE = Table(
    "overall",
    "Overall",
    ["sampler", *(f">{metric} {data}" for data in ("Toys", "ML-1m", "Yelp") for metric in ("R@10", "N@10", "R@20"))],
    [
        ["SAHC-NS", *(Cell(f"{13 + at}.26 ± 0.12", "best", "*", f"p = 0.0{at + 1}, d = 1.2") for at in range(9))],
        ["DNS", *(Cell(f"{12 + at}.66 ± 0.10", "second") for at in range(9))],
        ["SAHC w/o Discrepancy", *(Cell(f"{12 + at}.66 ± 0.10") for at in range(9))],
        [EVIL, *["–"] * 9],
    ],
    caption="Percent over five seeds; * is significant at 5 %.",
)
SETS = Table("sets", "Data", ["set", ">users", "split"], [["Toys", "19,412", "the authors' own"]])
WHY = "Where training stopped, those are ahead that lose least after their best epoch, and that is another order. " * 3
CLAIMS = Table(
    "claims",
    "Claims",
    ["where", "claim", "verdict", "why"],
    [
        ["Table II", "SAHC-NS is best.", "not resolved", WHY],
        ["Table II", "The same where it stopped.", Cell("holds", hint="all"), ""],
        ["Fig. 4", "A moderate pool is best.", "holds", WHY],
    ],
)

REPORT = Report(
    f"Nine samplers {EVIL}",
    ["SAHC-NS is ahead by 0.6 points, `p = 0.01`.", EVIL],
    [
        Section("Results", ["Paired over seeds.", TABLE, BARS, CHANGES, SETS, CLAIMS]),
        Section("Curves", [CURVES, CLOCK]),
        Section("Diagnostics", [HISTOGRAM, HISTOGRAMS, HEAT, DELTAS]),
        Section("Search & more", [CLOUD, EMPTY]),
    ],
    facts=[
        ("protocol", "batch 2048, at most 300 epochs"),
        ("versions", "sahcns 0.4.0, torch 2.9"),
        ("command", "sahcns compare films --seeds 5 --out study\nsahcns report study"),
        ("note", EVIL),
    ],
)
