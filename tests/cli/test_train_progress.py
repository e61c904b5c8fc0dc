"""What the live view says is true: rate, best look, and when the run will end."""

from typing import Any

import pytest

from sahcns.cli.progress import TrainProgress, clock, train_progress
from sahcns.training import Protocol
from sahcns.training.train import EarlyStopping


def progress(recalls: dict[int, float], last: int, seconds: float = 0.5, **protocol: Any) -> TrainProgress:
    """After epoch `last`, each epoch having taken `seconds`, with these looks at validation."""
    chosen = Protocol(**protocol)
    made = TrainProgress(chosen, EarlyStopping(chosen.patience))
    for epoch in range(last + 1):
        entry: dict[str, Any] = {"epoch": epoch, "loss": 1 / (epoch + 1)}
        if epoch in recalls:
            entry["valid"] = {"recall@20": recalls[epoch]}
        made.update(entry, 100 + seconds * epoch)
    return made


def test_it_says_the_rate_the_best_look_and_the_end() -> None:
    first = progress({0: 0.1}, 0)
    assert first.rate is None
    assert first.lines()[::2] == ("loss 1.0000", "ends with epoch 50 unless recall@20 improves")
    later = progress({0: 0.1, 5: 0.1234, 10: 0.12, 15: 0.12}, 17, epochs=200)
    assert later.lines() == (
        "2 epochs/s · loss 0.0556",
        "best recall@20 12.34% at epoch 5 · 2 of 10 looks since",
        "ends with epoch 55 in 0:19 unless recall@20 improves",
    )
    assert progress({0: 0.1, 5: 0.1}, 5).end == 55  # an equal look is a new best, as in training
    assert progress({0: 0.1, 5: 0.2}, 5, epochs=30).lines()[-1] == "ends with epoch 29 in 0:12"


def test_the_end_it_announces_is_where_training_stops() -> None:
    """Looks get worse from epoch 4 on; every announcement after that names the epoch at which patience runs out."""
    protocol = Protocol(epochs=100, evaluate_every=2, patience=3)
    made, stopping = TrainProgress(protocol, EarlyStopping(3)), EarlyStopping(3)
    announced = []
    for epoch in range(100):
        entry: dict[str, Any] = {"epoch": epoch, "loss": 0.5}
        stop = False
        if epoch % 2 == 0:
            entry["valid"] = {"recall@20": 0.5 - abs(epoch - 4) / 100}
            stop = stopping.update(epoch, entry["valid"]["recall@20"], {})
        made.update(entry, float(epoch))
        announced.append(made.end)
        if stop:
            break
    assert announced[4:] == [10] * 7
    assert epoch == 10


def test_seconds_are_read_like_a_clock() -> None:
    shown = [clock(seconds) for seconds in (1, 59.6, 125, 3725, 360_000)]
    assert shown == ["0:01", "1:00", "2:05", "1:02:05", "100:00:00"]


def test_in_a_log_there_is_a_line_a_minute(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("sahcns.cli.progress.time.perf_counter", lambda: now)
    with train_progress(Protocol()) as on_epoch:
        assert on_epoch is not None
        for epoch in range(10):
            now += 25
            on_epoch({"epoch": epoch, "loss": 0.5, **({"valid": {"recall@20": 0.1234}} if epoch % 5 == 0 else {})})
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.partition(":")[0] for line in err.splitlines()] == ["epoch 2", "epoch 5", "epoch 8"]


def test_on_a_terminal_something_is_shown_before_the_first_epoch_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.console import Console

    shown = Console(stderr=True, force_terminal=True)
    monkeypatch.setattr("sahcns.cli.progress.err", lambda: shown)
    with train_progress(Protocol()) as on_epoch:
        assert "epoch 0 …" in capsys.readouterr().err
        assert on_epoch is not None
        on_epoch({"epoch": 0, "loss": 0.7, "valid": {"recall@20": 0.1}})
    assert "loss 0.7000" in capsys.readouterr().err
