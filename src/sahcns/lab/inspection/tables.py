"""Tables of what was seen inside a sampler: one pair in full, and samplers side by side."""

from collections.abc import Callable, Mapping, Sequence

from sahcns.lab.inspection.cost import Cost
from sahcns.lab.inspection.diagnostics import Diagnostics, Group
from sahcns.lab.inspection.pair_view import Candidate, Negative, PairView
from sahcns.lab.report.parts import Cell, Table

NONE = "–"
TITLE = 24  # letters of a title that a table shows


def pool_table(view: PairView, number: int = 1) -> Table:
    """The pool, hardest first: profiles, μ, σ, z-scores, q, and who chooses what."""
    titled = any(one.title for one in view.pool)
    scored = any(abs(one.score - one.mu) > 1e-5 * (abs(one.mu) + 1e-5) for one in view.pool)  # mean over the layers?
    by_q = any(one.q is not None for one in view.pool)
    columns = [
        "item",
        *(["title"] if titled else []),
        *(f">a{view.first_layer + t}" for t in range(len(view.positive))),
        *([">score"] if scored else []),
        *(">μ", ">σ", ">z(μ)", ">z(σ)"),
        *([">q"] if by_q else []),
        "",
    ]
    best = max((one.q for one in view.pool if one.q is not None), default=None)

    def row(one: Candidate) -> list[Cell | str]:
        return [
            str(one.item),
            *([_title(one.title)] if titled else []),
            *(f"{value:.3f}" for value in one.profile),
            *([f"{one.score:.3f}"] if scored else []),
            *(f"{value:.3f}" for value in (one.mu, one.sigma)),
            *(f"{value:+.2f}" for value in (one.z_mu, one.z_sigma)),
            *([Cell("" if one.q is None else f"{one.q:+.2f}", "best" if one.q == best else "")] if by_q else []),
            _marks(one),
        ]

    return Table(
        f"pool-{number}",
        f"user {view.user}, positive {_named(view.item, view.title)}: the pool under {view.sampler['name']}",
        columns,
        [row(one) for one in sorted(view.pool, key=lambda one: -one.score)],
    )


def layer_table(view: PairView, number: int = 1) -> Table:
    """The positive, the pool's best, gap, hardness and strength, and the negative before and after, layer by layer."""
    rows: list[Sequence[Cell | str]] = [
        ["positive p", *_shown(view.positive), f"{view.positive_score:.3f}"],
        ["hardest of the pool m", *_shown(view.hardest), f"{max(one.score for one in view.pool):.3f}"],
        ["gap g = p - m", *_shown(view.gaps), f"{view.positive_score - max(one.score for one in view.pool):.3f}"],
        ["hardness ρ", *_shown(view.rho), ""],
    ]
    for k, negative in enumerate(view.negatives):
        behind = f" {k + 1}" if len(view.negatives) > 1 else ""
        if any(negative.strength):
            rows.append([f"strength λ{behind}", *_shown(negative.strength), ""])
            rows.append([f"negative{behind}, before", *_shown(negative.profile_before), f"{negative.score_before:.3f}"])
        rows.append([f"negative{behind}", *_shown(negative.profile), f"{negative.score:.3f}"])
    made = "; ".join(dict.fromkeys(_made(negative) for negative in view.negatives))
    return Table(
        f"layers-{number}",
        "",
        ["", *(f">{layer}" for layer in view.layers), ">final"],
        rows,
        f"The negative is {made}." + "".join(f" Note: {note}." for note in view.notes),
    )


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.2f} %"


def _signed(value: float | None) -> str:
    return NONE if value is None else f"{100 * value + 0.0:+.2f} %".replace("-0.00", "+0.00")


def _beside_dns(show: Callable[[Diagnostics], str]) -> Callable[[Diagnostics], str]:
    """Nothing where the pool is one item, so that there is nothing to choose."""
    return lambda one: show(one) if one.pools.size > 1 else NONE


ROWS: Sequence[tuple[str, str, Callable[[Diagnostics], str]]] = (
    ("pool N", "candidates drawn for each pair", lambda d: str(d.pools.size)),
    ("score y⁻", "mean score of the negatives", lambda d: f"{d.hardness.score.mean:.3f}"),
    ("margin y⁺ - y⁻", "mean over the negatives", lambda d: f"{d.hardness.margin.mean:.3f}"),
    ("above the positive", "share of negatives with y⁻ > y⁺", lambda d: _percent(d.hardness.above_positive)),
    (
        "push 1 - sigmoid(y⁺ - y⁻)",
        "mean size of the gradient by the negative's score; summed over several negatives",
        lambda d: f"{d.hardness.push.mean:.4f}",
    ),
    (
        "gradient of the user",
        "mean length of the gradient by the final user vector",
        lambda d: f"{d.hardness.user_gradient.mean:.4f}",
    ),
    ("BPR loss", "mean over the pairs", lambda d: f"{d.hardness.loss:.4f}"),
    (
        "pools with a gap < 0.10",
        "Fig. 1(a) of the paper: (y⁺ - the pool's highest score) / |y⁺|",
        lambda d: _percent(d.pools.near),
    ),
    ("pools with a gap > 0.20", "Fig. 1(a) of the paper", lambda d: _percent(d.pools.far)),
    ("score-similar pairs", "pairs of candidates of one pool with |Δs| < 0.01", lambda d: f"{d.pools.similar:,}"),
    ("… with |Δσ| > 0.20", "Fig. 1(b) of the paper", lambda d: _percent(d.pools.over_020)),
    ("… with |Δσ| > 0.50", "Fig. 1(b) of the paper", lambda d: _percent(d.pools.over_050)),
    (
        "chosen as DNS",
        "share of chosen items that DNS would choose from the same pool",
        _beside_dns(lambda d: _percent(d.selection.agreement)),
    ),
    (
        "discrepancy σ, to DNS",
        "Fig. 5(a) of the paper: relative change of the mean over the pairs",
        _beside_dns(lambda d: _signed(d.selection.sigma_change)),
    ),
    (
        "mean hardness μ, to DNS",
        "Fig. 5(a) of the paper: relative change of the mean over the pairs",
        _beside_dns(lambda d: _signed(d.selection.mu_change)),
    ),
    (
        "strength λ",
        "mean share of the positive in the negative",
        lambda d: f"{d.mixing.lam.mean:.3f}" if d.mixing.mixes else NONE,
    ),
    (
        "margin, easy pools",
        "Fig. 5(b) of the paper: the fifth of the pools with the largest gap, before → after mixing",
        lambda d: _moved(d.mixing.easy, d.mixing.mixes),
    ),
    (
        "margin, hard pools",
        "Fig. 5(b) of the paper: the fifth of the pools with the smallest gap, before → after mixing",
        lambda d: _moved(d.mixing.hard, d.mixing.mixes),
    ),
    (
        "false negatives",
        "share of chosen items that are held-out items of the user",
        lambda d: _percent(d.false_negatives.chosen),
    ),
    ("… of DNS's choices", "from the same pools", _beside_dns(lambda d: _percent(d.false_negatives.dns))),
    ("… of the pool", "share of candidates", lambda d: _percent(d.false_negatives.pool)),
    (
        "distinct items",
        "items chosen at least once, of all",
        lambda d: f"{d.variety.distinct:,} of {d.variety.items:,}",
    ),
    ("popularity", "mean training pairs of a chosen item", lambda d: f"{d.variety.popularity:.1f}"),
    ("… of the pool", "mean training pairs of a candidate", lambda d: f"{d.variety.pool_popularity:.1f}"),
    (
        "without training pairs",
        "share of chosen items that nothing was learnt about",
        lambda d: _percent(d.variety.cold),
    ),
    ("… of the pool", "share of candidates", lambda d: _percent(d.variety.pool_cold)),
)


def diagnostics_table(found: Mapping[str, Diagnostics]) -> Table:
    """One column a sampler, by its label."""
    pairs = " and ".join(sorted({f"{one.pairs:,}" for one in found.values()}))
    notes = [f"{label}: {note}." for label, one in found.items() for note in one.notes]
    return Table(
        "diagnostics",
        f"One epoch of {pairs} training pairs, nothing trained",
        ["", *(f">{label}" for label in found)],
        [[Cell(name, hint=what), *(show(one) for one in found.values())] for name, what, show in ROWS],
        " ".join(
            [
                "The same seed gives the same pools to samplers with pools of one size. False negatives are counted for "
                "looking only; nothing was chosen by them.",
                *notes,
            ]
        ),
    )


def strength_table(found: Mapping[str, Diagnostics]) -> Table | None:
    """Mean λ by layer and by the hardness of the pool, for samplers that mix the positive in."""
    mixing = {label: one for label, one in found.items() if one.mixing.mixes}
    if not mixing:
        return None
    layers = next(iter(mixing.values())).layers
    rows: list[Sequence[Cell | str]] = []
    for label, one in mixing.items():
        groups = [
            ("all", _mean(one.mixing.gap), one.mixing.strength),
            ("hardest fifth", one.mixing.hard.gap, one.mixing.hard.strength),
            ("easiest fifth", one.mixing.easy.gap, one.mixing.easy.strength),
        ]
        for place, (which, gap, strength) in enumerate(groups):
            rows.append([label if place == 0 else "", which, f"{gap:.3f}", *_shown(strength)])
    return Table(
        "strength",
        "Strength λ by layer and by the hardness of the pool",
        ["", "pools", ">mean gap", *(f">{layer}" for layer in layers)],
        rows,
        "The gap of a pool is the mean over the layers of p - m.",
    )


def cost_table(costs: Sequence[Cost]) -> Table:
    """Milliseconds an epoch, and how much more than the first."""
    return Table(
        "cost",
        "The sampler's share of an epoch",
        ["", ">match ms", ">choose ms", ">mix, loss ms", ">epoch ms", f">beyond {costs[0].name} ms", ">of its epoch"],
        [
            [
                one.name,
                *(f"{1000 * part:,.1f}" for part in (one.match, one.choose, one.mix, one.epoch)),
                f"{1000 * one.extra + 0.0:+,.1f}",
                _percent(one.extra_share),
            ]
            for one in costs
        ],
        f"{costs[0].device}, {costs[0].kernels} kernels, {costs[0].steps}. Parts are timed alone, an epoch as it runs.",
    )


def _moved(group: Group, mixes: bool) -> str:
    return f"{group.before:.3f} → {group.after:.3f}" if mixes else f"{group.before:.3f}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _marks(one: Candidate) -> str:
    marks = []
    if one.share > 0:
        marks.append("chosen" if one.share > 0.9995 else f"chosen {one.share:.0%}")
    if one.dns:
        marks.append("DNS")
    if one.held_out:
        marks.append(f"in {one.held_out}")
    return ", ".join(marks)


def _made(negative: Negative) -> str:
    """`0.23 of 318, Shawshank (1994), and 0.77 of …`: means over the layers."""
    parts = [(_mean(one.weights), _named(one.item, one.title), one.positive) for one in negative.ingredients]
    if len(parts) == 1:
        return parts[0][1]
    words = [f"{share:.2f} of {'the positive' if positive else name}" for share, name, positive in parts]
    return f"{', '.join(words[:-1])} and {words[-1]}" + (", on average over the layers" if len(words) > 1 else "")


def _named(item: object, title: str | None) -> str:
    return f"{item}, {title}" if title else str(item)


def _title(title: str | None) -> Cell | str:
    if not title or len(title) <= TITLE:
        return title or ""
    return Cell(title[: TITLE - 1].rstrip() + "…", hint=title)


def _shown(values: Sequence[float]) -> list[str]:
    return [f"{value:.3f}" for value in values]
