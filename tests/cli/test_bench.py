"""`sahcns bench`: the breakdown is complete and adds up."""

from pathlib import Path

from sahcns.data import save_split
from tests.cli.conftest import Sahcns
from tests.model.films import films


def test_every_part_is_timed_and_the_epoch_is_made_of_steps(sahcns: Sahcns, tmp_path: Path) -> None:
    data = save_split(films(), tmp_path / "films")
    printed = sahcns("bench", data, "--epochs", "1", "--json").json
    assert [part["name"] for part in printed["parts"]][-2:] == ["step", "evaluate"]
    assert all(part["seconds"] > 0 for part in printed["parts"] if part["name"] != "backward")
    assert printed["copy_rate"] > 1e8
    assert printed["epoch_seconds"] > 0.5 * printed["steps"] * printed["step_seconds"]
    done = sahcns("bench", data, "--epochs", "1", "--sampler", "rns", "--set", "backbone.dim=8")
    assert "match" not in done.out
    assert "mix and loss" in done.out
