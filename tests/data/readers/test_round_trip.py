"""Any table written as CSV comes back exactly, however awkward its ids."""

import csv
import io
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sahcns.data.readers import read
from sahcns.data.readers.id_column import NO_ID
from tests.data.readers.soundness import assert_sound, pairs, values

quickly = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LETTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from("\",;\t| \n\r:#'\\0é\u2028")
TEXT = st.text(LETTERS, min_size=1, max_size=6).filter(lambda text: text.strip() and text not in NO_ID)
NUMBER = st.integers(-(2**63), 2**63 - 1).map(str)
AWKWARD = st.sampled_from(
    ["007", "-0", "+1", "1.0", "1e5", "-5", "0", '"', '""', "a,b", "a\nb", "a\r\nb", "'", "a::b", "x y"]
)
IDS = st.lists(st.tuples(TEXT | AWKWARD, TEXT | AWKWARD | NUMBER), min_size=1, max_size=12)


def expected(rows: list[tuple[str, str]]) -> list[tuple[int | str, int | str]]:
    """Columns of plain whole numbers as numbers, others as they are."""
    sides: list[list[int | str]] = []
    for side in zip(*rows, strict=True):
        plain = all(
            text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text
            for text in side
        )
        sides.append([int(text) if plain else text for text in side])
    return list(zip(*sides, strict=True))


@given(
    rows=IDS,
    mark=st.sampled_from([",", ";", "\t", "|"]),
    quoted=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
)
@quickly
def test_written_by_python(tmp_path: Path, rows: list[tuple[str, str]], mark: str, quoted: bool, end: str) -> None:
    # Python before 3.13 leaves a carriage return unquoted, so the file is broken before anyone reads it.
    assume(quoted or not any("\r" in field for row in rows for field in row))
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, delimiter=mark, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL, lineterminator=end
    )
    writer.writerow(["user", "item", "rating"])
    writer.writerows([*row, k] for k, row in enumerate(rows))
    path = tmp_path / "file"
    path.write_bytes(text.getvalue().encode())
    made = read(path, format="csv", delimiter=mark, header=True)
    assert_sound(made)
    assert pairs(made) == expected(rows)
    assert values(made.ratings) == list(range(len(rows)))


@given(rows=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9)), min_size=1, max_size=20))
@quickly
def test_numbers_without_a_header(tmp_path: Path, rows: list[tuple[int, int]]) -> None:
    path = tmp_path / "file"
    path.write_text("".join(f"{user},{item}\n" for user, item in rows))
    made = read(path)
    assert_sound(made)
    assert pairs(made) == rows
