"""`sahcns data prepare`, end to end with real files."""

import subprocess
import sys
from pathlib import Path

import pytest

from sahcns.cli.data.prepare import as_options
from sahcns.data import load_split, read_manifest
from tests.cli.conftest import Sahcns, refused

HEADER = "uid,sku,stars,at\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Ten users with ten items each, stars 1 to 5, one row a day from 2013-12-27 on."""
    rows = (f"u{k // 10},i{k % 10},{k % 5 + 1},{1_388_102_400 + 86_400 * k}\n" for k in range(100))
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "".join(rows))
    return path


COLUMNS = ("--user", "uid", "--item", "sku", "--rating", "stars", "--time", "at")


def test_the_embedded_set_with_its_own_recipe(sahcns: Sahcns, tmp_path: Path) -> None:
    done = sahcns("data", "prepare", "ml-latest-small", tmp_path / "films")
    assert done.code == 0
    assert done.err == ""
    rows = [line.split() for line in done.out.splitlines()]
    assert ["read", "all", "rows", "671", "9,066", "100,004"] in rows
    assert ["rating", "rating", "≥", "3", "671", "7,939", "82,170"] in rows
    assert "train 65,736 · valid 8,217 · test 8,217 · density 1.542%" in done.out
    split = load_split(tmp_path / "films")
    assert f"fingerprint {split.fingerprint}" in done.out
    assert split.titles is not None
    assert split.titles[split.item_ids.encode([1])[0]] == "Toy Story (1995)"


def test_your_own_file_with_every_filter(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    found = sahcns(
        *("data", "prepare", log, tmp_path / "out", *COLUMNS, "--json"),
        *("--min-rating", "2", "--years", "2014", "--duplicates", "last", "--core", "2"),
        *("--split", "time", "--ratios", "8:1:1"),
    ).json
    assert [(step["step"], step["rows"]) for step in found["steps"]] == [
        ("read", 100),
        ("rating", 80),
        ("window", 76),
        ("duplicates", 76),
        ("k-core", 76),
        ("split", 76),
    ]
    assert found["recipe"]["years"] == [2014, 2014]
    assert {name: part["interactions"] for name, part in found["statistics"]["parts"].items()} == {
        "train": 60,
        "valid": 8,
        "test": 8,
    }


def test_given_files_with_an_offset(sahcns: Sahcns, tmp_path: Path) -> None:
    train, valid, test = (tmp_path / f"{name}.txt" for name in ("train", "valid", "test"))
    train.write_text("0 3\n0 4\n1 3\n2 5\n")
    valid.write_text("1 4\n")
    test.write_text("2 3\n")
    done = sahcns(
        *("data", "prepare", train, tmp_path / "out", "--valid", valid, "--test", test),
        *("--format", "pairs", "--items-offset", "auto"),
    )
    assert done.code == 0, done.err
    split = load_split(tmp_path / "out")
    assert split.item_ids.decode(range(split.n_items)) == [0, 1, 2]
    assert [len(part) for part in split.parts().values()] == [4, 1, 1]


def test_lenient_tells_what_it_skipped(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    with log.open("a") as file:
        file.write("u1,i1\nu1,i2,five,1388102400\nu1,i3,six,1388102400\n")
    sentence = refused(sahcns("data", "prepare", log, tmp_path / "out", *COLUMNS))
    assert f"{log}, line 102: 2 fields" in sentence
    assert not (tmp_path / "out").exists()
    done = sahcns("data", "prepare", log, tmp_path / "out", *COLUMNS, "--lenient")
    assert done.code == 0
    assert "skipped 1 row: " in done.err
    assert f"first in line 102 of {log}" in done.err
    assert "skipped 2 rows: " in done.err
    assert "'five'" in done.err
    found = sahcns("data", "prepare", log, tmp_path / "out", *COLUMNS, "--lenient", "--json").json
    assert (found["source"]["rows_read"], found["source"]["rows_skipped"]) == (103, 3)


def test_other_counts_than_the_catalogue_are_a_warning(sahcns: Sahcns, cache: Path, tmp_path: Path) -> None:
    (cache / "gowalla").mkdir(parents=True)
    (cache / "gowalla" / "train.txt").write_text("0 1 2 3\n1 1 2\n2\n")
    (cache / "gowalla" / "test.txt").write_text("0 4\n1 3\n")
    done = sahcns("data", "prepare", "gowalla", tmp_path / "out")
    assert done.code == 0
    assert "warning: the counts are not those of the catalogue (interactions 7 instead of 1,027,370, " in done.err
    assert "warning: the valid part is empty" in done.err
    assert load_split(tmp_path / "out").n_items == 4


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["ml-latst-small", "OUT"], "'ml-latst-small'"),
        (["LOGS.csv", "OUT"], "did you mean log.csv?"),
        (["LOG", "OUT", "--user", "udi"], "'udi'"),
        (["LOG", "OUT", "--years", "14-18"], "--years '14-18'"),
        (["LOG", "OUT", "--years", "2018-2014"], "--years (2018, 2014)"),
        (["LOG", "OUT", "--ratios", "8:1"], "--ratios (8.0, 1.0)"),
        (["LOG", "OUT", "--ratios", "most"], "--ratios 'most'"),
        (["LOG", "OUT", "--split", "chance"], "--split 'chance'"),
        (["LOG", "OUT", "--core", "50"], "nothing is left"),
        (["LOG", "OUT", "--format", "cvs"], "did you mean 'csv'?"),
        (["LOG", "OUT", "--valid", "LOG"], "--valid goes with --test"),
        (["LOG", "OUT", "--test", "LOG", "--core", "2"], "--core does not apply"),
        (["LOG", "OUT", "--test", "LOG", "--holdout", "2"], "--holdout 2.0"),
        (["ml-latest-small", "OUT", "--user", "u"], "--user does not apply"),
        (["gowalla", "OUT", "--years", "2014"], "--years does not apply"),
        (["LOG", "OUT", "--engine", "duckbd"], "'duckdb'"),
        (["LOG", "OUT", "--memory", "1GB"], "--memory goes with --engine duckdb"),
        (["LOG", "OUT", "--engine", "duckdb", "--test", "LOG"], "--test"),
        (["LOG", "OUT", "--engine", "duckdb", "--memory", "much"], "--memory"),
        (["ml-latest-small", "OUT", "--engine", "duckdb"], "--engine does not apply"),
        (["LOG", "LOG"], "is a file"),
        (["LOG"], "sahcns data prepare LOG FOLDER"),
        ([], "SOURCE... OUT"),
    ],
)
def test_every_mistake_is_one_sentence_and_writes_nothing(
    sahcns: Sahcns, log: Path, tmp_path: Path, arguments: list[str], named: str
) -> None:
    places = {"LOG": log, "OUT": tmp_path / "out", "LOGS.csv": tmp_path / "logs.csv"}
    columns = COLUMNS if arguments[:1] == ["LOG"] and "--user" not in arguments else ()
    done = sahcns("data", "prepare", *(places.get(word, word) for word in arguments), *columns)
    assert named.replace("LOG", str(log)) in refused(done)
    assert not (tmp_path / "out").exists()


def test_preparing_needs_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom sahcns.cli import main\n"
        f"try:\n    main(['data', 'prepare', 'ml-latest-small', {str(tmp_path / 'out')!r}])\n"
        "except SystemExit as done:\n    assert done.code == 0\n"
        f"try:\n    main(['data', 'stats', {str(tmp_path / 'out')!r}])\n"
        "except SystemExit as done:\n    assert done.code == 0\n"
        "assert not {'torch', 'scipy', 'pandas', 'pyarrow', 'altair'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("sentence", "spoken"),
    [
        (
            "leave times out with time=0, or read with lenient to skip",
            "leave times out with --time 0, or add --lenient to skip",
        ),
        ("with item='a b', or pass header=False if", "with --item 'a b', or pass --no-header if"),
        ("for example user=1, item=2", "for example --user 1, --item 2"),
        ("with delimiter=, or give the format", "with --delimiter, or give the format"),
        ("name the right one with user=", "name the right one with --user"),
        ("line 3: rating 'time=0, user=1' is not a number", "line 3: rating 'time=0, user=1' is not a number"),
    ],
)
def test_remedies_are_options_here(sentence: str, spoken: str) -> None:
    assert as_options(sentence) == spoken


def test_held_out_rows_of_which_nothing_can_be_learnt_are_remarked_on(sahcns: Sahcns, tmp_path: Path) -> None:
    source = tmp_path / "log.csv"
    late = [f"u{n % 7},{'new' if n >= 88 else f'i{n % 5}'}{n},{n}\n" for n in range(100)]
    source.write_text("user,item,time\n" + "".join(f"u{n % 7},i{n % 5},{n}\n" for n in range(35)) + "".join(late))
    line = ("data", "prepare", source, tmp_path / "out", "--split", "time")
    found = sahcns(*line, "--json")
    unseen = found.json["steps"][-1]["unseen_in_training"]
    rows = unseen["valid_rows"] + unseen["test_rows"]
    assert rows >= 12
    assert f"{rows} of the " in found.err
    assert "--unseen drop leaves them out" in found.err
    assert "held-out" not in sahcns(*line, "--unseen", "drop").err


@pytest.mark.parametrize(
    ("text", "options", "remarks"),
    [
        ("user,item\na,i1\nb,NaN\nc,i2\n", (), ["'NaN'"]),
        ("user,item\nu1,i\nu1 ,j\n", (), ["'u1 '", "'u1'"]),
        ("user,item\n007,a\n7,b\n", (), ["'007'", "'7'"]),
        ("user,item\nZoe\u0308,a\nZo\u00eb,b\n", (), ["Unicode"]),
        ("user,item\n1.23E+12,a\n2.23E+12,b\n", (), ["1.23E+12", "spreadsheet"]),
        ("user,item,date\na,x,2026-03-01\nb,y,2026-03-02T10:00:00Z\n", (), ["1 of the 2 times", "line 2", "line 3"]),
        ("user,item,rating\na,x,1\nb,y,5\n", (), ["--min-rating"]),
        ("user,item,rating\na,x,1\nb,y,5\n", ("--title", "TITLES"), ["no item has a title in"]),
        ("person1,thing1\nperson2,thing2\n", (), ["column 1", "--header"]),
        ("user,item,Product Name,shelf\na,x,Tea,1\n", (), ["Product Name, shelf", "--title 'Product Name'"]),
        ("user,item\na b,x 1\nc,y 2\n", (), []),
    ],
)
def test_what_looks_odd_is_remarked_on(
    sahcns: Sahcns, tmp_path: Path, text: str, options: tuple[str, ...], remarks: list[str]
) -> None:
    (tmp_path / "log.csv").write_text(text)
    (tmp_path / "TITLES").write_text("item,title\n1,Tea\n")
    line = (str(tmp_path / word) if word == "TITLES" else word for word in options)
    done = sahcns("data", "prepare", tmp_path / "log.csv", tmp_path / "out", "--ratios", "1:0:0", *line)
    assert done.code == 0
    said = done.err.replace("warning: the valid part is empty\n", "").replace("warning: the test part is empty\n", "")
    assert all(remark in said for remark in remarks)
    assert bool(said) == bool(remarks)


def test_rows_from_a_pipe(tmp_path: Path) -> None:
    rows = "user,item\n" + "".join(f"{k % 40},{k}\n" for k in range(800))
    line = [sys.executable, "-m", "sahcns", "data", "prepare", "/dev/stdin", str(tmp_path / "set")]
    subprocess.run(line, input=rows.encode(), capture_output=True, check=True)
    assert read_manifest(tmp_path / "set")["steps"][0]["rows"] == 800


def test_on_disk_it_is_the_same_set(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    line = ("data", "prepare", log.with_name("*.csv"), tmp_path / "out", *COLUMNS, "--split", "time", "--core", "2")
    found = sahcns(*line, "--json").json
    again = sahcns(*line, "--json", "--engine", "duckdb", "--memory", "200MB", "--scratch", tmp_path).json
    assert again == found
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["log.csv", "out"]
