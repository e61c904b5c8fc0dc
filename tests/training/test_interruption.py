"""Ctrl-C once is survived, twice is obeyed."""

from types import SimpleNamespace

import pytest

from sahcns.training.train import retry_once_on_interrupt


@pytest.mark.parametrize("stops", [0, 1, 2])
def test_one_ctrl_c_begins_it_again_and_another_ends_it(stops: int) -> None:
    calls = 0

    def make() -> str:
        nonlocal calls
        calls += 1
        if calls <= stops:
            raise KeyboardInterrupt
        return "made"

    if stops == 2:
        with pytest.raises(KeyboardInterrupt):
            retry_once_on_interrupt(make)
    else:
        assert retry_once_on_interrupt(make) == "made"
    assert calls == min(stops + 1, 2)


def test_the_record_says_that_it_was_begun_again() -> None:
    """A grid that is interrupted while a run ends must end too."""
    signals = iter([KeyboardInterrupt])

    def make() -> str:
        for one in signals:
            raise one
        return "made"

    record = SimpleNamespace(stopped="patience")
    assert retry_once_on_interrupt(make, record) == "made"  # type: ignore[arg-type]
    assert record.stopped == "interrupted"
