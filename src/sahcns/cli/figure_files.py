"""Which files the figures of `report` and `inspect` become."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sahcns.lab.report.palette import Look
    from sahcns.lab.report.parts import Figure


def save_figures(figures: "Sequence[Figure]", folder: Path, looks: "Mapping[str, Look] | None" = None) -> list[Path]:
    """Each by its name, as SVG, PNG and PDF."""
    from sahcns.lab.report.chart import ENDINGS, save
    from sahcns.lab.report.parts import unique_names

    named = zip(unique_names(figure.name for figure in figures), figures, strict=True)
    return [save(figure, folder / f"{name}{ending}", looks=looks) for name, figure in named for ending in ENDINGS]
