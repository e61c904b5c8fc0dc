"""Which files the figures of `report` and `inspect` become."""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sahcns.cli.console import tell, warn

if TYPE_CHECKING:
    from sahcns.lab.report.palette import Look
    from sahcns.lab.report.parts import Figure


def save_figures(
    figures: "Iterable[tuple[str, Figure]]", folder: Path, looks: "Mapping[str, Look] | None" = None
) -> list[Path]:
    """Each by its name, as SVG always and as PNG and PDF where matplotlib is installed; says what could not be done."""
    from sahcns.lab.report.drawing import LettersMissing, can_paint, save

    endings = [".svg", ".png", ".pdf"] if can_paint() else [".svg"]
    if len(endings) == 1:
        tell("no PNG and no PDF, because matplotlib is not installed; pip install 'sahcns[plot]'")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LettersMissing)
        written = [
            save(figure, folder / f"{name}{ending}", looks=looks) for name, figure in figures for ending in endings
        ]
    letters = dict.fromkeys(letter for one in said for letter in getattr(one.message, "letters", ""))
    if letters:
        warn(f"no font here has {' '.join(letters)}: boxes stand for them in PNG and PDF; the SVG has them as they are")
    return written
