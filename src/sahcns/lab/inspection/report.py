"""The report of an inspection: pairs in full, samplers side by side, what they cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sahcns.lab.inspection.cost import Cost
from sahcns.lab.inspection.diagnostics import Diagnostics
from sahcns.lab.inspection.figures import diagnostics_figures, profiles
from sahcns.lab.inspection.pair_view import PairView
from sahcns.lab.inspection.tables import cost_table, diagnostics_table, layer_table, pool_table, strength_table
from sahcns.lab.plain import Plain
from sahcns.lab.report.parts import Figure, Report, Section, Table
from sahcns.version import __version__


@dataclass(frozen=True)
class Inspection(Plain):
    """All that was seen of one model; `to_dict` is its JSON, from which the report can be made again."""

    model: dict[str, Any]  # backbone, sampler, seed, best_epoch, data, machine of the run
    seed: int
    pairs: tuple[PairView, ...] = ()
    diagnostics: dict[str, Diagnostics] = field(default_factory=dict)  # by label
    costs: tuple[Cost, ...] = ()

    def tables(self) -> list[Table]:
        """In the order in which the terminal shows them."""
        return [block for section in _sections(self) for block in section.blocks if isinstance(block, Table)]

    def figures(self) -> list[Figure]:
        return [block for section in _sections(self) for block in section.blocks if isinstance(block, Figure)]


def inspection_report(seen: Inspection, *, command: str = "") -> Report:
    """A page of everything that was seen."""
    model = seen.model
    backbone, sampler = model["backbone"]["name"], model["sampler"]["name"]
    return Report(
        f"Inside {', '.join(seen.diagnostics) or sampler}: a look at a {backbone} trained with {sampler}",
        _summary(seen),
        _sections(seen),
        [
            ("model", _said(model["backbone"])),
            ("trained with", f"{_said(model['sampler'])}, seed {model['seed']}, best epoch {model['best_epoch']}"),
            ("data", _said(model["data"], first="fingerprint")),
            ("samplers looked at", "; ".join(_said(one.sampler) for one in seen.diagnostics.values())),
            ("seed of the pools", str(seen.seed)),
            ("trained on", _said(model["machine"], first="device")),
            ("sahcns", __version__),
            *([("command", command)] if command else []),
        ],
    )


def _sections(seen: Inspection) -> list[Section]:
    made: list[Section] = []
    if seen.diagnostics:
        strength = strength_table(seen.diagnostics)
        tables = [diagnostics_table(seen.diagnostics), *([strength] if strength else [])]
        made.append(Section("Over an epoch", [*tables, *diagnostics_figures(seen.diagnostics)]))
    if seen.costs:
        made.append(Section("What it costs", [cost_table(seen.costs)]))
    shown = 0
    for number, ((user, item), views) in enumerate(groupby(seen.pairs, lambda one: (one.user, one.item)), 1):
        blocks: list[Table | Figure] = []
        title = ""
        for view in views:  # under each sampler
            shown += 1
            blocks += [pool_table(view, shown), layer_table(view, shown), profiles(view, shown)]
            title = f"Pair {number}: user {user}, {view.title or item}"
        made.append(Section(title, blocks))
    return made


def _summary(seen: Inspection) -> list[str]:
    """What the numbers say, in words, a sentence or two for each sampler."""
    said = []
    for label, one in seen.diagnostics.items():
        words = [f"{label}: negatives score {one.hardness.margin.mean:.2f} below the positive on average"]
        words.append(f"{100 * one.hardness.above_positive:.1f} % of them above it")
        if one.false_negatives.chosen is not None and one.false_negatives.pool is not None:
            words.append(
                f"{100 * one.false_negatives.chosen:.1f} % of the chosen are held-out items of the user "
                f"(of the pools {100 * one.false_negatives.pool:.1f} %)"
            )
        change = one.selection.sigma_change
        if one.selection.agreement < 1 and change is not None:
            words.append(
                f"{100 * one.selection.agreement:.0f} % of the choices are DNS's, the discrepancy differs by "
                f"{100 * change:+.1f} %"
            )
        if one.mixing.mixes:
            easy, hard = one.mixing.easy, one.mixing.hard
            words.append(
                f"mixing narrows the margin by {easy.reduction:.2f} in easy pools and by {hard.reduction:.2f} in hard ones"
            )
        said.append("; ".join(words) + ".")
    return said


def _said(values: Mapping[str, Any], first: str = "name") -> str:
    """`sahc, pool 10, alpha 0.3`."""
    rest = [f"{name} {value}" for name, value in values.items() if name not in (first, "folder")]
    return ", ".join([str(values.get(first, "")), *rest])
