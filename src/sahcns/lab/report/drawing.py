"""A figure as a file: SVG by our own hand, PNG and PDF from the same layout through matplotlib."""

import io
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sahcns.errors import SahcnsError, SettingError
from sahcns.files import write_whole
from sahcns.lab.report.layout import WIDE, lay_out
from sahcns.lab.report.palette import OPEN, Look
from sahcns.lab.report.parts import Figure
from sahcns.lab.report.scene import Dot, Group, Item, Label, Paint, Scene, Shape, colour_of
from sahcns.lab.report.svg import marker_paint, outline, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = (".svg", ".png", ".pdf")
INCH = 96.0  # pixels of a layout in an inch of paper, as in CSS
POINT = 72.0 / INCH
SHARP = 2.0  # pixels of a PNG for each of the layout
FONTS = ("Arial", "Liberation Sans", "Helvetica")
BROAD = "DejaVu Sans"  # which matplotlib brings: it has far more letters, and they are wider
SCRIPTS = (  # for what even that has not; those of Debian, Windows and macOS
    *("Noto Sans CJK JP", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "PingFang HK", "Arial Unicode MS"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans Hebrew", "Noto Emoji", "Segoe UI Symbol", "Segoe UI Emoji"),
)
ALIGNED = {"start": "left", "middle": "center", "end": "right"}


class LettersMissing(UserWarning):
    """Letters that no font here has: they are boxes in a PNG or PDF, and as they should be in the SVG."""

    def __init__(self, letters: str):
        super().__init__(f"no font here has {' '.join(letters)}: boxes stand for them; the SVG has them as they are")
        self.letters = letters


def save(
    figure: Figure, path: str | os.PathLike[str], *, width: float = WIDE, looks: Mapping[str, Look] | None = None
) -> Path:
    """Write the figure as SVG, PNG or PDF, by the ending of `path`; the three look alike."""
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in KINDS:
        raise SettingError(f"path={str(path)!r} must end in one of {', '.join(KINDS)}")
    if kind == ".svg":
        return write_whole(target, to_svg(figure, width, looks=looks), "figure")
    return write_whole(target, _printed(lay_out(figure, width, looks=looks), kind.removeprefix(".")), "figure")


def can_paint() -> bool:
    """Whether matplotlib is there, so that PNG and PDF can be written."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def _printed(scene: Scene, kind: str) -> bytes:
    if not can_paint():
        raise SahcnsError(
            f"a figure as {kind.upper()} needs matplotlib, which is not installed; "
            "pip install 'sahcns[plot]', or write .svg, which needs nothing"
        )
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    # Letters stay letters in a PDF, and a file made twice is the same file.
    with rc_context({"pdf.fonttype": 42, "font.family": "sans-serif"}):
        canvas = Canvas(figsize=(scene.width / INCH, scene.height / INCH), dpi=INCH * SHARP, facecolor="white")
        axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, scene.width), ylim=(scene.height, 0))
        axes.set_axis_off()
        families = _families()
        for group in scene.groups:
            for item in group.items:
                _paint(axes, item, group, families)
        out = io.BytesIO()
        metadata = {"CreationDate": None} if kind == "pdf" else {"Software": None}
        with warnings.catch_warnings(record=True) as said:
            canvas.savefig(out, format=kind, metadata=metadata)
    _warn_once(said)
    return out.getvalue()


def _warn_once(said: "list[warnings.WarningMessage]") -> None:
    """matplotlib has a warning for each letter and each time it is set: one for all of them is enough."""
    wording = re.compile(r"Glyph (\d+) .*missing from (current )?font")  # by name since 3.9
    found = [(one, wording.match(str(one.message))) for one in said]
    letters = dict.fromkeys(chr(int(letter[1])) for _, letter in found if letter)
    if letters:
        warnings.warn(LettersMissing("".join(letters)), stacklevel=4)
    for one, letter in found:
        if not letter:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _paint(axes: "Axes", item: Item, group: Group, families: list[str]) -> None:
    if isinstance(item, Label):
        axes.text(
            *item.at,
            item.text,
            family=families,
            fontsize=item.size * POINT * (0.9 if families[0] == BROAD else 1.0),
            color=colour_of(item.paint, group),
            weight="bold" if item.bold else "normal",
            ha=ALIGNED[item.anchor],
            va="baseline",
            rotation=-item.turned,
            rotation_mode="anchor",
            parse_math=False,
        )
    elif isinstance(item, Dot):
        fill, width = marker_paint(item)
        if item.marker == "circle":
            from matplotlib.patches import Circle

            axes.add_patch(Circle(item.at, item.radius, **_look(fill, item.paint, width, item.opacity, group)))
            return
        runs = outline(item.marker, item.at, item.radius)
        _path(axes, Shape(runs, item.paint, fill, width, (), item.opacity, item.marker not in OPEN), group)
    else:
        _path(axes, item, group)


def _path(axes: "Axes", shape: Shape, group: Group) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    corners, codes = [], []
    for run in shape.runs:
        points = [*run, run[0]] if shape.closed else list(run)
        corners += points
        codes += [Outline.MOVETO] + [Outline.LINETO] * (len(points) - 1)
        if shape.closed:
            codes[-1] = Outline.CLOSEPOLY
    if not corners:
        return
    look = _look(shape.fill, shape.stroke, shape.width, shape.opacity, group)
    if shape.dash:
        look["linestyle"] = (0, [part / shape.width for part in shape.dash])
    look["antialiased"] = shape.name != "strip"
    axes.add_patch(PathPatch(Outline(corners, codes), joinstyle="round", capstyle="butt", **look))


def _look(fill: Paint, stroke: Paint, width: float, opacity: float, group: Group) -> dict[str, object]:
    return {
        "facecolor": colour_of(fill, group),
        "edgecolor": colour_of(stroke, group),
        "linewidth": width * POINT if stroke != "none" else 0.0,
        "alpha": opacity,
    }


def _families() -> list[str]:
    """The first font that is there, and those that are asked for letters it has not: titles are in any script."""
    from matplotlib import font_manager

    there = {font.name for font in font_manager.fontManager.ttflist}
    return [*[name for name in FONTS if name in there][:1], BROAD, *(name for name in SCRIPTS if name in there)]
