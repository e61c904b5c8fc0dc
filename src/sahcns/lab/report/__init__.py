"""Tables, figures and the page that shows them: plain data in, Markdown, LaTeX, CSV, SVG, PNG or HTML out."""

from sahcns.lab.report.parts import Figure, Table
from sahcns.lab.report.tables import to_markdown


def _svg(figure: Figure) -> str:
    from sahcns.lab.report.chart import to_svg  # needs altair, which not everybody has

    return to_svg(figure)


# What a notebook shows; set here, because parts.py is what the writers import.
Figure._repr_svg_ = _svg  # type: ignore[attr-defined]
Table._repr_markdown_ = to_markdown  # type: ignore[attr-defined]
