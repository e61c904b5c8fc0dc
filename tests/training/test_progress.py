"""What is shown of training in progress is true: the best look, and the epoch at which the run will end."""

import itertools
import time
from typing import Any

import pytest

from sahcns.training import Protocol
from sahcns.training.progress import Bar, train_progress
from sahcns.training.stopping import EarlyStopping


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Everything that a bar is asked to show."""
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(Bar, "show", lambda self, *what: calls.append(what))
    return calls


def entry(epoch: int, recall: float | None = None) -> dict[str, Any]:
    return {"epoch": epoch, "loss": 0.5, **({} if recall is None else {"valid": {"recall@20": recall}})}


def test_the_end_it_announces_is_where_training_stops(shown: list[tuple[Any, ...]]) -> None:
    """Looks get worse from epoch 4 on; every announcement after that names the epoch at which patience runs out."""
    protocol = Protocol(epochs=100, evaluate_every=2, patience=3)
    stopping = EarlyStopping(3)
    with train_progress(protocol) as on_epoch:
        assert on_epoch is not None
        for epoch in range(100):
            recall = 0.5 - abs(epoch - 4) / 100 if epoch % 2 == 0 else None
            on_epoch(entry(epoch, recall))
            if recall is not None and stopping.update(epoch, recall, {}):
                break
    assert epoch == 10
    assert [what[:2] for what in shown] == [(at + 1, total) for at, total in enumerate([7, 7, 9, 9, *[11] * 7])]
    assert shown[-1][3].startswith("best recall@20 50.00% at epoch 4 · 3 of 3 looks since")


def test_without_a_look_it_has_all_its_epochs(shown: list[tuple[Any, ...]]) -> None:
    with train_progress(Protocol(epochs=30), looks=False) as on_epoch:
        assert on_epoch is not None
        on_epoch(entry(0))
    assert shown[0][:2] == (1, 30)


def test_a_run_that_is_trained_anew_has_as_many_epochs_as_were_best(shown: list[tuple[Any, ...]]) -> None:
    with train_progress(Protocol(epochs=30)) as on_epoch:
        assert on_epoch is not None
        on_epoch(entry(0, 0.5))
        on_epoch({**entry(0), "refit": 7})
    assert shown[1][:2] == (1, 7)
    assert shown[1][-1] == "ends with epoch 6"


def test_in_a_log_there_is_a_line_a_minute(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count(0, 25)
    monkeypatch.setattr(time, "perf_counter", lambda: next(now))
    with train_progress(Protocol()) as on_epoch:
        assert on_epoch is not None
        for epoch in range(10):
            on_epoch(entry(epoch, 0.1234 if epoch % 5 == 0 else None))
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.partition(" ·")[0] for line in err.splitlines()] == ["epoch 2", "epoch 5", "epoch 8"]


def test_on_a_terminal_something_is_shown_before_the_first_epoch_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    with train_progress(Protocol()) as on_epoch:
        assert "epoch 0 …" in capsys.readouterr().err
        assert on_epoch is not None
        on_epoch(entry(0, 0.1))
    assert "loss 0.5000" in capsys.readouterr().err
