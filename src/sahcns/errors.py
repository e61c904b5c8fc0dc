"""Errors for the person at the terminal: what was wrong, where, and what to do.

The command line prints the message of any of these as one sentence, without a traceback, and leaves with code 2.
"""

import difflib
from collections.abc import Iterable


class SahcnsError(Exception):
    """Base of every error that a user's input, setting or machine can cause."""


class DataError(SahcnsError):
    """A file, row, column or id that cannot be used; the message names it and the remedy."""


class SettingError(SahcnsError, ValueError):
    """An argument outside what is allowed; the message names the argument, the value and the range."""


class TrainingError(SahcnsError):
    """Training cannot go on: a loss that is not a number, a sampler that broke its contract."""


class DeviceError(SahcnsError):
    """The GPU does not answer any more, and nothing in this process will make it: only a new process can go on."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'lightgcn'?` for a misspelt word, or the list of what there is."""
    names = sorted(known)
    close = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names)}"
