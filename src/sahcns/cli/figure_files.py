"""Which files the figures of `report` and `inspect` become."""

from sahcns.cli.console import tell


def figure_endings() -> tuple[str, ...]:
    """SVG always, PNG and PDF where matplotlib is installed; says so where it is not."""
    from sahcns.reports.drawing import can_paint

    if can_paint():
        return ".svg", ".png", ".pdf"
    tell("no PNG and no PDF, because matplotlib is not installed; pip install 'sahcns[plot]'")
    return (".svg",)
