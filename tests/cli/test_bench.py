"""`sahcns bench`: the breakdown is complete and adds up."""

from tests.cli.conftest import Sahcns


def test_every_part_is_timed_and_the_epoch_is_made_of_steps(sahcns: Sahcns) -> None:
    found = sahcns("bench", "ml-latest-small", "--epochs", "1", "--json").json
    names = [part["name"] for part in found["parts"]]
    assert names == ["draw", "propagate", "match", "choose", "mix and loss", "backward", "step", "evaluate"]
    assert all(part["bytes"] > 0 for part in found["parts"])
    assert all(part["seconds"] > 0 for part in found["parts"] if part["name"] != "backward")
    assert found["copy_rate"] > 1e8
    assert found["epoch_seconds"] > 0.5 * found["steps"] * found["step_seconds"]


def test_what_a_sampler_does_not_ask_for_is_no_part(sahcns: Sahcns) -> None:
    found = sahcns("bench", "ml-latest-small", "--epochs", "1", "--sampler", "rns", "--json").json
    assert [part["name"] for part in found["parts"]] == [
        "draw", "propagate", "choose", "mix and loss", "backward", "step", "evaluate",
    ]  # fmt: skip
