"""`train --whole`: the model to put to use, trained on every pair."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sahcns.data import Split, save_split
from sahcns.model import Recommender
from tests.cli.conftest import Sahcns, refused
from tests.cli.short_runs import QUICK, record_of
from tests.model.films import films


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    return save_split(films(), tmp_path / "films")


def test_the_model_to_put_to_use_is_trained_on_everything(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    done = sahcns("train", prepared, *QUICK, "--whole", "--out", tmp_path / "live")
    split, record = films(), record_of(tmp_path / "live")
    pairs = sum(len(part) for part in split.parts().values())
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("2 epochs in ")
    assert f"over all {pairs} pairs; nothing was held out, so there is nothing to judge it by" in done.out
    assert [record["data"][part] for part in ("train", "valid", "test")] == [pairs, 0, 0]
    assert record["data"]["whole_of"] == split.fingerprint
    assert "folder" not in record["data"]
    assert (record["best_epoch"], record["stopped"], record["valid"], record["test"]) == (1, "epochs", {}, {})
    model = Recommender.load(tmp_path / "live")
    assert len(model.untrained(torch.arange(len(model.user_ids)))) == 0
    assert len(model.recommend(["p03"], 3)[0]) == 3
    assert "was trained on every pair, so nothing is left to judge it by" in refused(
        sahcns("evaluate", tmp_path / "live")
    )
    again = sahcns("train", prepared, *QUICK, "--whole", "--out", tmp_path / "again", "--json")
    assert again.json["data"]["train"] == pairs
    assert torch.equal(Recommender.load(tmp_path / "again").item_vectors, model.item_vectors)


def test_the_run_that_was_judged_says_how_and_how_long(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    judged, live = tmp_path / "judged", tmp_path / "live"
    assert sahcns("train", prepared, *QUICK, "--sampler", "dns", "--out", judged).code == 0
    best, most = 3, 1000  # as of a long run
    found = record_of(judged) | {"best_epoch": best}
    found["protocol"]["epochs"] = most
    (judged / "run.json").write_text(json.dumps(found))
    done = sahcns("train", prepared, "--config", judged, "--whole", "--out", live)
    assert done.code == 0
    told = f"{best + 1} epochs, after which {judged / 'run.json'} found validation best\n"
    assert done.err == told
    assert (record_of(live)["epochs_run"], record_of(live)["sampler"]["name"]) == (best + 1, "dns")
    newer = save_split(replace(films(), test=films().valid, valid=films().test), prepared)
    done = sahcns("train", newer, "--config", live, "--whole", "--out", live)  # and so again, with newer data
    assert (done.code, done.err, record_of(live)["epochs_run"]) == (0, "", best + 1)
    done = sahcns("train", newer, "--config", judged, "--whole", "--epochs", "2", "--out", live)
    assert (done.code, done.err, record_of(live)["epochs_run"]) == (0, "", 2)


def test_a_model_that_was_put_aside_by_a_killed_writer_is_trained_anew(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    """Killed between its two renames: the former model stands aside, and the weekly command goes on by its record."""
    live = tmp_path / "live"
    assert sahcns("train", prepared, *QUICK, "--whole", "--out", live).code == 0
    live.rename(tmp_path / ".live.old")
    done = sahcns("train", prepared, "--config", live, "--whole", "--out", live)
    assert (done.code, done.err) == (0, "")
    assert record_of(live)["epochs_run"] == 2
    assert not (tmp_path / ".live.old").exists()


def test_a_user_who_has_everything_is_remarked_on(sahcns: Sahcns, tmp_path: Path) -> None:
    """Judged, some of it is held out; trained whole, it is all of it."""
    own = [[0, item] for item in range(4)]
    folder = save_split(Split.from_pairs([*own[:2], [1, 0], [2, 3]], own[2:3], own[3:]), tmp_path / "shop")
    assert sahcns("train", folder, *QUICK, "--out", tmp_path / "run").err == ""
    for rest in ((), ("--json",)):
        done = sahcns("train", folder, *QUICK, "--whole", "--out", tmp_path / "live", *rest)
        assert done.code == 0
        assert done.err.startswith(
            "warning: 1 user has every one of the 4 items, so there is nothing to prefer theirs to"
        )
        assert "their 4 pairs are part of the graph" in done.err
        assert "over 2 of the 6 pairs; nothing was held out" in done.out or rest
    assert done.json["data"]["users_with_every_item"] == 1


def test_what_whole_does_not_go_with(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    line = ("train", prepared, "--whole", "--out", tmp_path / "live")
    assert refused(sahcns(*line)).startswith("--whole needs to know when to stop: give --epochs NUMBER, or the run")
    told = refused(sahcns(*line, "--epochs", "2", "--evaluate-every", "1"))
    assert told == "--whole holds nothing out, so --evaluate-every does not apply to it"
    assert not (tmp_path / "live").exists()
