"""`sahcns data prepare`, end to end with real files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sahcns.cli.data.prepare import as_options
from sahcns.data import load_split, read_manifest
from sahcns.data.readers import FORMATS
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


def test_json_is_the_manifest(sahcns: Sahcns, tmp_path: Path) -> None:
    found = sahcns("data", "prepare", "ml-latest-small", tmp_path / "films", "--json").json
    assert found["folder"] == str(tmp_path / "films")
    assert found["fingerprint"] == load_split(tmp_path / "films").fingerprint
    assert found["catalogue"]["name"] == "ml-latest-small"
    assert found["catalogue"]["differs_from_catalogue"] == []
    assert found["recipe"]["min_rating"] == 3
    written = json.loads((tmp_path / "films" / "manifest.json").read_text())
    assert written["catalogue"] == found["catalogue"]


def test_a_named_recipe_can_be_changed(sahcns: Sahcns, tmp_path: Path) -> None:
    found = sahcns(
        *("data", "prepare", "ml-latest-small", tmp_path / "dense", "--json"),
        *("--min-rating", "4", "--core", "10", "--split", "time", "--ratios", "6:2:2"),
    ).json
    assert (found["statistics"]["users"], found["statistics"]["items"]) == (606, 1239)
    assert found["statistics"]["interactions"] == 38_495
    assert found["statistics"]["parts"]["test"]["interactions"] == 7_699
    assert "differs_from_catalogue" not in found["catalogue"]


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


def test_the_seed_decides_a_random_split(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    def fingerprint(seed: str) -> str:
        done = sahcns("data", "prepare", log, tmp_path / "out", *COLUMNS, "--seed", seed, "--json")
        return str(done.json["fingerprint"])

    assert fingerprint("1") == fingerprint("1") != fingerprint("2")


def test_several_files_are_read_as_one(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    lines = log.read_text().splitlines(keepends=True)
    (tmp_path / "a.csv").write_text("".join(lines[:51]))
    (tmp_path / "b.csv").write_text(HEADER + "".join(lines[51:]))
    parts = sahcns("data", "prepare", tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "ab", *COLUMNS, "--json")
    whole = sahcns("data", "prepare", log, tmp_path / "whole", *COLUMNS, "--json")
    assert parts.json["fingerprint"] == whole.json["fingerprint"]


def test_a_tab_on_the_command_line(sahcns: Sahcns, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("".join(f"u {k}\ti {k}\n" for k in range(20)))
    done = sahcns(
        "data", "prepare", tmp_path / "log.txt", tmp_path / "out", "--delimiter", "\\t", "--no-header", "--json"
    )
    assert done.json["statistics"]["users"] == 20
    assert load_split(tmp_path / "out").user_ids[0] == "u 0"


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


def test_without_a_validation_file_some_training_rows_become_one(sahcns: Sahcns, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("".join(f"{user} " + " ".join(map(str, range(10))) + "\n" for user in range(5)))
    (tmp_path / "test.txt").write_text("0 10\n1 10\n")
    common = ("data", "prepare", tmp_path / "train.txt", tmp_path / "out", "--test", tmp_path / "test.txt", "--json")
    assert "never in training" in refused(sahcns(*common))
    found = sahcns(*common, "--unseen", "keep", "--holdout", "0.2").json
    assert {name: part["interactions"] for name, part in found["statistics"]["parts"].items()} == {
        "train": 40,
        "valid": 10,
        "test": 2,
    }


def test_a_pair_in_two_files(sahcns: Sahcns, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0 1\n0 2\n1 1\n1 2\n")
    (tmp_path / "test.txt").write_text("0 1\n1 2\n")
    common = ("data", "prepare", tmp_path / "train.txt", tmp_path / "out", "--test", tmp_path / "test.txt")
    assert "choose --overlap 'drop'" in refused(sahcns(*common, "--format", "pairs"))


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


def test_rows_of_a_table_are_no_lines(sahcns: Sahcns, tmp_path: Path) -> None:
    import polars as pl

    table = tmp_path / "log.parquet"
    pl.DataFrame({"user": [1, None, 2], "item": [1, 2, 3]}).write_parquet(table)
    sentence = refused(sahcns("data", "prepare", table, tmp_path / "out"))
    assert sentence == f"{table}, row 2: the user id is empty; correct it, or add --lenient to skip such rows"
    done = sahcns("data", "prepare", table, tmp_path / "out", "--lenient")
    assert f"skipped 1 row: empty user id (first in row 2 of {table}: '')" in done.err


def test_columns_of_another_language_are_asked_for_at_once(sahcns: Sahcns, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("Kunde;Artikel;Menge\nann;tea;1\nbob;rye;2\n")
    sentence = refused(sahcns("data", "prepare", log, tmp_path / "out"))
    assert "no user and no item column" in sentence
    assert "name the right ones with --user and --item, or pass --no-header" in sentence
    columns = ("--user", "Kunde", "--item", "Artikel")
    sentence = refused(sahcns("data", "prepare", log, tmp_path / "out", *columns, "--min-rating", "1"))
    assert sentence.endswith("name its rating column with --rating")


def test_other_counts_than_the_catalogue_are_a_warning(sahcns: Sahcns, cache: Path, tmp_path: Path) -> None:
    (cache / "gowalla").mkdir(parents=True)
    (cache / "gowalla" / "train.txt").write_text("0 1 2 3\n1 1 2\n2\n")
    (cache / "gowalla" / "test.txt").write_text("0 4\n1 3\n")
    done = sahcns("data", "prepare", "gowalla", tmp_path / "out")
    assert done.code == 0
    assert "warning: the counts are not those of the catalogue (interactions 7 instead of 1,027,370, " in done.err
    assert "warning: the valid part is empty" in done.err
    assert load_split(tmp_path / "out").n_items == 4


def test_a_set_kept_elsewhere(sahcns: Sahcns, tmp_path: Path) -> None:
    sahcns("data", "get", "ml-latest-small", "--to", tmp_path / "sets")
    found = sahcns("data", "prepare", "ml-latest-small", tmp_path / "out", "--data", tmp_path / "sets", "--json").json
    assert found["source"]["files"][0]["path"] == str(tmp_path / "sets" / "ml-latest-small" / "ratings.csv.gz")


def test_a_set_that_is_not_here_and_cannot_be_had(sahcns: Sahcns, cache: Path, tmp_path: Path) -> None:
    sentence = refused(sahcns("data", "prepare", "ml-100k", tmp_path / "out"))
    assert f"put it at {cache / 'ml-100k' / 'ml-100k.zip'}" in sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ml-latst-small", "OUT"], "'ml-latst-small' is neither a file nor a set of the catalogue; did you mean"),
        (["LOGS.csv", "OUT"], "does not exist; did you mean log.csv?"),
        (["LOG", "OUT", "--user", "udi"], "has no column 'udi'"),
        (["LOG", "OUT", "--years", "14-18"], "--years '14-18' must be a year or two with a hyphen between"),
        (["LOG", "OUT", "--years", "2018-2014"], "--years (2018, 2014) must be two calendar years"),
        (["LOG", "OUT", "--ratios", "8:1"], "--ratios (8.0, 1.0) must be three numbers"),
        (["LOG", "OUT", "--ratios", "most"], "--ratios 'most' must be three numbers with colons between"),
        (["LOG", "OUT", "--split", "chance"], "--split 'chance' must be one of"),
        (["LOG", "OUT", "--duplicates", "all"], "--duplicates 'all' must be one of"),
        (["LOG", "OUT", "--core", "-1"], "--core -1 must be a whole number"),
        (["LOG", "OUT", "--core", "ten"], "invalid value for '--core'"),
        (["LOG", "OUT", "--core", "50"], "nothing is left"),
        (["LOG", "OUT", "--format", "cvs"], "format is 'cvs'; did you mean 'csv'?"),
        (["LOG", "OUT", "--valid", "LOG"], "--valid goes with --test"),
        (["LOG", "OUT", "--holdout", "0.1"], "--holdout goes with --test"),
        (["LOG", "OUT", "--test", "LOG", "--core", "2"], "so --core does not apply to them"),
        (["LOG", "OUT", "--test", "LOG", "--holdout", "2"], "--holdout 2.0 must be between 0 and 1"),
        (["ml-latest-small", "OUT", "--user", "u"], "ml-latest-small is read as the catalogue says, so --user"),
        (["ml-latest-small", "OUT", "--min-rating", "9"], "so lower min_rating"),
        (["gowalla", "OUT", "--years", "2014"], "gowalla comes split, so --years does not apply to it"),
        (["LOG", "LOG"], "is a file, not a folder"),
        (["LOG"], "what is prepared and where to are two: sahcns data prepare LOG FOLDER"),
        ([], "missing argument 'SOURCE... OUT'"),
        (["LOG", "OUT", "--min-ratng", "3"], "did you mean '--min-rating'?"),
    ],
)
def test_every_mistake_is_one_sentence_and_writes_nothing(
    sahcns: Sahcns, log: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    named = {"LOG": log, "OUT": tmp_path / "out", "LOGS.csv": tmp_path / "logs.csv"}
    columns = COLUMNS if arguments[:1] == ["LOG"] and "--user" not in arguments else ()
    done = sahcns("data", "prepare", *(named.get(word, word) for word in arguments), *columns)
    assert sentence.replace("LOG", str(log)) in refused(done)
    assert not (tmp_path / "out").exists()


def test_the_help_names_every_format(sahcns: Sahcns) -> None:
    shown = sahcns("data", "prepare", "--help").out
    assert all(name in shown for name in FORMATS)


def test_preparing_needs_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom sahcns.cli import main\n"
        f"try:\n    main(['data', 'prepare', 'ml-latest-small', {str(tmp_path / 'out')!r}])\n"
        "except SystemExit as done:\n    assert done.code == 0\n"
        f"try:\n    main(['data', 'stats', {str(tmp_path / 'out')!r}])\n"
        "except SystemExit as done:\n    assert done.code == 0\n"
        "assert not {'torch', 'scipy', 'pandas', 'pyarrow', 'matplotlib'} & set(sys.modules)\n"
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


def test_what_the_error_says_to_type_is_what_helps(sahcns: Sahcns, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("customer,product name\n" + "".join(f"u{n % 7},i{n % 5}\n" for n in range(35)))
    sentence = refused(sahcns("data", "prepare", tmp_path / "log.csv", tmp_path / "out"))
    assert "name the right one with --item 'product name', or pass --no-header" in sentence
    assert sahcns("data", "prepare", tmp_path / "log.csv", tmp_path / "out", "--item", "product name").code == 0


def test_dates_with_and_without_a_zone_are_warned_of(sahcns: Sahcns, tmp_path: Path) -> None:
    source = tmp_path / "log.csv"
    rows = [f"{n % 7},{n % 5},2026-03-{n % 30 + 1:02} 10:00:00{'+02:00' * (n % 10 == 3)}" for n in range(35)]
    source.write_text("\n".join(["user,item,date", *rows, ""]))
    done = sahcns("data", "prepare", source, tmp_path / "out")
    assert done.code == 0
    assert done.err.splitlines() == [
        f"warning: 31 of the 35 times say no time zone (first in line 2 of {source}: '2026-03-01 10:00:00') and were taken "
        f"as UTC, while the others say theirs (first in line 5 of {source}: '2026-03-04 10:00:00+02:00'); if the "
        "former are of another zone, write it behind them"
    ]
    source.write_text("\n".join(["user,item,date", *(row[:-6] if "+" in row else row for row in rows), ""]))
    assert "zone" not in sahcns("data", "prepare", source, tmp_path / "out").err


@pytest.mark.parametrize(
    ("odd", "warnings", "plain"),
    [
        pytest.param(
            [f"u{n % 7},{'NaN' if n % 5 == 3 else f'i{n % 5}'}" for n in range(35)],
            ["item id 'NaN' stands in 7 rows, first in line 5 of LOG, and was taken for an id like any other"],
            [f"u{n % 7},{'none of it' if n % 5 == 3 else f'i{n % 5}'}" for n in range(35)],
            id="a word for nothing among texts",
        ),
        pytest.param(
            [f"u{n % 7}{' ' * (n == 9)},i{n % 5}{' ' * (n in (3, 4))}" for n in range(35)],
            [
                "user id 'u2 ' stands beside 'u2'; they count as two",
                "item id 'i3 ' stands beside 'i3', one of 2 such ids; they count as two",
            ],
            [f"u {n % 7},i{n % 5} z" for n in range(35)],
            id="a blank around an id",
        ),
        pytest.param(
            [f"{n % 7:0{1 + n % 2}},{n % 5 + 10}{'.0' * (n % 10 in (3, 4))}" for n in range(140)],
            [
                "user id '00' stands beside '0', one of 7 such ids; they count as two",
                "item id '13.0' stands beside '13', one of 2 such ids; they count as two",
            ],
            [f"{n % 7:03},{n % 5}.50" for n in range(35)],
            id="one number written in two ways",
        ),
        pytest.param(
            [("Zoe\u0308" if n == 7 else f"Zo\u00eb{n % 7 or ''}") + f",i{n % 5}" for n in range(70)],
            ["user id 'Zoe\u0308' stands beside 'Zo\u00eb', the same in another Unicode form; they count as two"],
            [f"Zoe\u0308{n % 7},caf\u00e9 {n % 5}" for n in range(35)],
            id="one name in two Unicode forms",
        ),
    ],
)
def test_odd_ids_are_warned_of_and_plain_ones_are_not(
    sahcns: Sahcns, tmp_path: Path, odd: list[str], warnings: list[str], plain: list[str]
) -> None:
    source = tmp_path / "log.csv"
    source.write_text("\n".join(["user,item", *odd, ""]))
    done = sahcns("data", "prepare", source, tmp_path / "out")
    assert done.code == 0
    assert done.err == "".join(f"warning: {one}\n" for one in warnings).replace("LOG", str(source))
    source.write_text("\n".join(["user,item", *plain, ""]))
    assert sahcns("data", "prepare", source, tmp_path / "plain").err == ""


def test_titles_of_other_ids_are_warned_of(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    (tmp_path / "titles.csv").write_text("item,title\n1,Tea\n2,Rye\n")
    line = ("data", "prepare", log, tmp_path / "out", *COLUMNS, "--min-rating", "1", "--title", tmp_path / "titles.csv")
    assert sahcns(*line).err == f"warning: no item has a title in {tmp_path / 'titles.csv'}; are the ids the same?\n"
    (tmp_path / "titles.csv").write_text("item,title\ni1,Tea\n")
    assert sahcns(*line).err == ""


def test_ratings_that_nobody_looked_at_are_remarked_on(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    done = sahcns("data", "prepare", log, tmp_path / "out", *COLUMNS)
    assert "ratings were off, 1 to 5 alike: every row counts as a like; --min-rating NUMBER" in done.err
    assert sahcns("data", "prepare", log, tmp_path / "liked", *COLUMNS, "--min-rating", "3").err == ""


def test_a_file_read_without_a_header_is_said_so(sahcns: Sahcns, tmp_path: Path) -> None:
    source = tmp_path / "unnamed.csv"
    source.write_text("".join(f"person{n % 7},thing{n % 5}\n" for n in range(35)))
    done = sahcns("data", "prepare", source, tmp_path / "out")
    assert "was read as rows only (user = column 1, item = column 2)" in done.err
    assert "--header" in done.err


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_that_are_not_used_are_named(sahcns: Sahcns, tmp_path: Path, ending: str) -> None:
    import polars as pl

    rows = [("tea", f"u{n % 7}", -1, f"i{n % 5}") for n in range(35)]
    frame = pl.DataFrame(rows, schema=["name", "customer", "quantity", "sku"], orient="row")
    source = tmp_path / f"log.{ending}"
    if ending == "csv":
        frame.write_csv(source)
    elif ending == "jsonl":
        frame.write_ndjson(source)
    else:
        frame.write_parquet(source)
    line = ("data", "prepare", source, "--title", "name")
    told = f"{source} was read with user = customer, item = sku; not used: quantity\n"
    assert sahcns(*line, tmp_path / "out").err == told
    assert sahcns(*line, tmp_path / "all", "--rating", "quantity", "--min-rating", "-1").err == ""


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


def test_a_column_that_looks_like_titles_is_pointed_at(sahcns: Sahcns, tmp_path: Path) -> None:
    source = tmp_path / "shop.csv"
    source.write_text("user,item,Product Name\n" + "".join(f"u{k},i{k % 3},Tea {k % 3}\n" for k in range(30)))
    line = ("data", "prepare", str(source), str(tmp_path / "out"))
    assert "not used: Product Name; --title 'Product Name' shows items by their titles\n" in sahcns(*line).err
    assert "--title" not in sahcns(*line, "--title", "Product Name").err


def test_numbers_that_a_spreadsheet_has_rounded_are_warned_of(sahcns: Sahcns, tmp_path: Path) -> None:
    source = tmp_path / "shop.csv"
    source.write_text("user,item\n" + "".join(f"{k % 5}.23E+12,E+{k % 7}\n" for k in range(35)))
    found = sahcns("data", "prepare", source, tmp_path / "out").err
    assert "warning: user id '0.23E+12', one of 5 such ids, looks like a long number that a spreadsheet has" in found
    assert "item id" not in found


def test_rows_from_a_pipe(tmp_path: Path) -> None:
    rows = "user,item\n" + "".join(f"{k % 40},{k}\n" for k in range(800))
    line = [sys.executable, "-m", "sahcns", "data", "prepare", "/dev/stdin", str(tmp_path / "set")]
    subprocess.run(line, input=rows.encode(), capture_output=True, check=True)
    assert read_manifest(tmp_path / "set")["steps"][0]["rows"] == 800
