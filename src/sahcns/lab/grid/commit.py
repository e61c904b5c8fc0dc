"""Which sources made a result: the git commit of this package, where it stands in a checkout."""

import os
import subprocess
from functools import cache
from pathlib import Path

VARIABLE = "SAHCNS_COMMIT"


def source_commit() -> str | None:
    """The commit of the sources, `+changes` behind it if they differ from it; None where nobody knows.

    The environment variable SAHCNS_COMMIT says it for a machine without git.
    """
    return os.environ.get(VARIABLE) or _from_git()


@cache  # of what this process runs, which is what stood there when it began
def _from_git() -> str | None:
    home = str(Path(__file__).parents[2])
    if _git(home, "ls-files", "--error-unmatch", "__init__.py") is None:  # a checkout of something else around us
        return None
    commit, changes = _git(home, "rev-parse", "HEAD"), _git(home, "status", "--porcelain", "--", ".")
    return None if commit is None else commit + ("+changes" if changes else "")


def _git(folder: str, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
