"""Figures as files: the same picture as SVG, PNG and PDF, written whole."""

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from sahcns.errors import SahcnsError, SettingError
from sahcns.lab.report.drawing import LettersMissing, can_paint, save
from sahcns.lab.report.layout import lay_out
from sahcns.lab.report.palette import LOOKS
from sahcns.lab.report.parts import Figure
from sahcns.lab.report.svg import to_svg
from tests.lab.report.sample import BARS, CLOCK, CLOUD, CURVES, FIGURES, HEAT


def pixels(path: Path) -> npt.NDArray[np.uint8]:
    from matplotlib.image import imread

    shown: npt.NDArray[np.uint8] = (imread(path)[..., :3] * 255).round().astype(np.uint8)
    return shown


def has_colour(image: npt.NDArray[np.uint8], colour: str, near: int = 3) -> int:
    """How many pixels have about this colour."""
    wanted = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)])
    return int((np.abs(image.astype(int) - wanted).max(axis=-1) <= near).sum())


def test_svg_is_our_own(tmp_path: Path) -> None:
    path = save(CLOCK, tmp_path / "new" / "clock.svg")
    assert path.read_text("utf-8") == to_svg(CLOCK)
    assert [file.name for file in path.parent.iterdir()] == ["clock.svg"]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_figure_becomes_a_png(figure: Figure, tmp_path: Path) -> None:
    image = pixels(save(figure, tmp_path / f"{figure.name}.png"))
    scene = lay_out(figure)
    assert image.shape[1] == pytest.approx(2 * scene.width, abs=1)
    assert image.shape[0] == pytest.approx(2 * scene.height, abs=1)
    assert has_colour(image, "#ffffff") > image.shape[0] * image.shape[1] * 0.3
    assert has_colour(image, "#1c2027", 60) > 100  # the title


def test_a_png_has_the_colours_in_the_places_of_the_svg(tmp_path: Path) -> None:
    image = pixels(save(BARS, tmp_path / "bars.png"))
    for name in ("dns", "mixgcf", "sahc"):
        assert has_colour(image, LOOKS[name].hue.light) > 5000
    spots = [series.split()[0].split(",") for series in lay_out(BARS).data["at"].split("|")]
    for name, (x, y) in zip(("dns", "mixgcf", "sahc"), spots, strict=True):
        below_the_whisker = image[int(2 * float(y)) + 80, int(2 * float(x)) - 20]
        assert has_colour(below_the_whisker[None, None], LOOKS[name].hue.light) == 1
    ramp = pixels(save(HEAT, tmp_path / "heat.png"))
    assert has_colour(ramp, "#0d4a8f") > 1000


def test_a_file_made_twice_is_the_same_file(tmp_path: Path) -> None:
    for ending in ("png", "pdf"):
        one, other = (save(CURVES, tmp_path / f"{n}.{ending}").read_bytes() for n in (1, 2))
        assert one == other
    assert one.startswith(b"%PDF")


def test_dollar_signs_are_letters(tmp_path: Path) -> None:
    """matplotlib would read formulas between them."""
    from dataclasses import replace

    save(replace(CLOUD, title="5 $ and 6 $_{", x_label="$\\alpha"), tmp_path / "cloud.png")


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"must end in one of \.svg, \.png, \.pdf"):
        save(CLOCK, tmp_path / "clock.gif")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_png_is_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_paint()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not can_paint()
    with pytest.raises(
        SahcnsError, match=r"PNG needs matplotlib, which is not installed; pip install 'sahcns\[plot\]'"
    ):
        save(CLOCK, tmp_path / "clock.png")
    assert not list(tmp_path.iterdir())
    assert save(CLOCK, tmp_path / "clock.svg").exists()


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_letters_that_no_font_has_are_told_in_one_sentence(kind: str, tmp_path: Path) -> None:
    """U+16A0 and what follows are runes, of which DejaVu Sans has none; matplotlib warns of each, each time."""
    series = [replace(one, name=f"{one.name} \u16a0\u16a1\u16a0") for one in CLOCK.series]
    with pytest.warns(LettersMissing) as said:
        save(replace(CLOCK, series=series), tmp_path / f"clock.{kind}")
    assert [str(one.message) for one in said] == [
        "no font here has \u16a0 \u16a1: boxes stand for them; the SVG has them as they are"
    ]


@pytest.mark.parametrize("where", ["current font.", "font(s) DejaVu Sans, Noto Sans."])
def test_missing_letters_are_known_by_what_any_matplotlib_says(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def savefig(canvas: object, *_: object, **__: object) -> None:
        warnings.warn(f"Glyph 5792 (\\N{{RUNIC LETTER FEHU FEOH FE F}}) missing from {where}", stacklevel=1)

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", savefig)
    with pytest.warns(LettersMissing) as said:
        save(CLOCK, tmp_path / "clock.png")
    assert len(said) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_letters_that_the_first_font_has_not_come_from_the_next(kind: str, tmp_path: Path) -> None:
    save(replace(CLOCK, title="Films ☕ Ελλάδα Кино"), tmp_path / f"clock.{kind}")
