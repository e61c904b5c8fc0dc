import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from sahcns.data import Split, plot_degrees
from sahcns.data.degree_plot import at_least
from sahcns.errors import DataError, SahcnsError, SettingError


def small() -> Split:
    return Split.from_pairs([[user, item] for user in range(20) for item in range(1 + user // 2)])


def test_a_png_of_the_right_size_is_drawn(tmp_path: Path) -> None:
    data = plot_degrees(small(), tmp_path / "deep" / "degrees.png", title="small").read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) == (1536, 672)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["degrees.png"]


def test_an_svg_says_what_it_shows(tmp_path: Path) -> None:
    text = plot_degrees(small(), tmp_path / "degrees.svg", title="small").read_text("utf-8")
    for words in (
        "small",
        "20 users, median 6",
        "10 items, median 11",
        "at least that many",
        "interactions of one user",
    ):
        assert f"<!-- {words} -->" in text


def test_at_least_counts_the_tail() -> None:
    values, tail = at_least(np.array([3, 1, 1, 7]))
    assert (values.tolist(), tail.tolist()) == ([1, 3, 7], [4, 2, 1])


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"must end in one of \.png, \.svg, \.pdf"):
        plot_degrees(small(), tmp_path / "degrees.doc")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot write the plot .*degrees\.png"):
        plot_degrees(small(), tmp_path / "file" / "degrees.png")


def test_without_matplotlib_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SahcnsError, match=r"pip install 'sahcns\[plot\]'"):
        plot_degrees(small(), tmp_path / "degrees.png")
