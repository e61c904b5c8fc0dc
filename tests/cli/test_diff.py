"""`sahcns diff`: what differs, what came out, and whether both may share a table."""

import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Sahcns
from tests.lab.grid.test_result import result


def saved(folder: Path, **rest: object) -> Path:
    path = result(**rest).save(folder).path  # type: ignore[arg-type]
    assert path is not None
    return path


def test_differences_then_metrics(sahcns: Sahcns, tmp_path: Path) -> None:
    first = saved(tmp_path / "a")
    second = saved(tmp_path / "b", seed=2, sampler={"name": "dns"}, commit="0123456789" * 4 + "+changes")
    done = sahcns("diff", first, second)
    assert (done.code, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["sampler", "name", "sahc", "dns"] in lines
    assert ["alpha", "0.3", "-"] in lines
    assert ["run", "seed", "1", "2"] in lines
    assert ["sources", "commit", "-", "012345678901…"] in lines
    assert ["test", "best", "recall@20", "40.00", "40.00", "+0.00"] in lines
    assert done.out.splitlines()[-1] == "data, mask, monitor and kernels agree: the two may stand in one table"


def test_what_may_not_share_a_table_is_said(sahcns: Sahcns, tmp_path: Path) -> None:
    first, second = saved(tmp_path / "a"), saved(tmp_path / "b", protocol={"batch": 64, "mask": "train+valid"})
    done = sahcns("diff", first, second)
    assert done.out.splitlines()[-1] == "not for one table: mask: train and train+valid"
    same = sahcns("diff", first, first)
    assert same.out.startswith("nothing that was put in differs\n")


def test_json(sahcns: Sahcns, tmp_path: Path) -> None:
    first, second = saved(tmp_path / "a"), saved(tmp_path / "b", test={"best": {"recall@20": 0.5}})
    told = sahcns("diff", first, second, "--json").json
    assert told["differences"] == []
    assert told["apart"] == []
    recall = told["metrics"][0]
    assert (recall["part"], recall["reading"], recall["name"]) == ("test", "best", "recall@20")
    assert (recall["first"], recall["second"], round(recall["difference"], 9)) == (0.4, 0.5, 0.1)


def test_two_results_are_held_against_each_other_without_torch(tmp_path: Path) -> None:
    path = saved(tmp_path)
    code = (
        "import sys\nfrom sahcns.cli import main\n"
        f"try:\n    main(['diff', {str(path)!r}, {str(path)!r}])\nexcept SystemExit as done:\n    assert done.code == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
