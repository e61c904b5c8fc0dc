"""Damage models, prepared sets, checkpoints, results and input files at random, and read them as a user would.

    python benchmarks/fuzz.py --count 10000 --seed 0 --keep /tmp/cases
    python benchmarks/fuzz.py --kinds model --only 123

Every outcome must be that of the sound folder or a `SahcnsError`. Half of the cases are *sealed*: their digests are made
right again, as somebody would who wants to do harm, and other numbers may come out. No other exception, no crash, nothing
that lasts longer than five seconds or takes 3 GB, no file written elsewhere, no foreign code run. Prints a line for each
kind and ends with 1 if any case failed; `--keep` has what was read in each of those.
"""

import argparse
import dataclasses
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fuzzed import KINDS, must_be_same
from mutations import mutate, seal

from sahcns.errors import SahcnsError

SECONDS, MEMORY = 5.0, 3 << 30


def told(value: Any, digest: Any = None) -> str:
    """One digest of an outcome: every number and text in it."""
    digest = digest or sha256()
    if isinstance(value, torch.Tensor | np.ndarray):
        array = np.asarray(value)
        digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    elif isinstance(value, list | tuple):
        for one in value:
            told(one, digest)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            told([str(key), value[key]], digest)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        told({one.name: getattr(value, one.name) for one in dataclasses.fields(value)}, digest)
    else:
        digest.update(f"{type(value).__name__} {value!r}|".encode("utf-8", "surrogatepass"))
    return str(digest.hexdigest())


def spy(home: Path, work: Path, seen: list[str]) -> None:
    """Note what is done that no reading of data should do."""
    harmful = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "pickle.find_class")
    changing = (
        "os.rename",
        "os.remove",
        "os.mkdir",
        "os.rmdir",
        "os.link",
        "os.symlink",
        "os.truncate",
        "shutil.rmtree",
    )

    def elsewhere(path: Any) -> bool:
        place = os.path.abspath(os.fsdecode(path))
        return place != os.devnull and not place.startswith(f"{work}/")

    def note(event: str, given: tuple[Any, ...]) -> None:
        if event in harmful:
            seen.append(event)
        elif event == "open" and isinstance(given[0], str | bytes):
            writes = given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            nameless = os.path.isdir(given[0])  # a file without a name, where a pipe is kept while it is read
            if writes and not nameless and elsewhere(given[0]):
                seen.append(f"writes {given[0]!r}")
        elif event in changing and not (isinstance(given[-1], int) and given[-1] >= 0):
            seen.extend(f"{event} {one!r}" for one in given if isinstance(one, str | bytes) and elsewhere(one))
        elif event == "exec" and str(getattr(given[0], "co_filename", "")).startswith(str(home)):
            seen.append(f"runs {given[0].co_filename}")

    sys.addaudithook(note)


def damage(kind: str, number: int, seed: int, home: Path, place: Path) -> tuple[Path, bool, str]:
    """A copy of one sample in `place`, damaged; whether it was sealed again, and what was done."""
    chance = random.Random(f"{seed} {kind} {number}")
    name, sealed = chance.choice(sorted(json.loads((home / kind / "told.json").read_text()))), chance.random() < 0.5
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(home / kind / name, place / name)
    done = mutate(chance, place / name, home / "outside", "run.json" if kind == "record" else "*")
    if sealed:
        seal(place / name)
    return place / name, sealed, done


def work_on(kind: str, numbers: range, seed: int, home: Path, say: Callable[..., None], loud: bool) -> None:
    """Read one damaged sample after the other, and say what came out of each."""
    work, seen = home / "work", list[str]()
    samples = json.loads((home / kind / "told.json").read_text())
    spy(home, work, seen)
    for number in numbers:
        folder, sealed, done = damage(kind, number, seed, home, work)
        say("begin", number, f"{folder.name}, {done}{', sealed' if sealed else ''}")
        seen.clear()
        began, why = time.monotonic(), ""
        try:
            verdict = "same" if told(KINDS[kind][1](folder, sealed)) == samples[folder.name] else "other"
            if verdict == "other" and must_be_same(kind, folder, sealed, done):
                verdict, why = "failed", "another outcome in silence"
        except SahcnsError as error:
            verdict, why = "refused", str(error)
            if "\n" in why:
                verdict, why = "failed", f"more than one line: {why!r}"
        except BaseException as error:  # a panic of polars is no Exception
            trace = [frame for frame in traceback.extract_tb(error.__traceback__) if "/sahcns/" in frame.filename]
            where = f"{trace[-1].filename.partition('/sahcns/')[2]}:{trace[-1].lineno}" if trace else "nowhere"
            verdict, why = "failed", f"{type(error).__name__} at {where}: {error!s:.100}"
            if loud:
                traceback.print_exc(file=sys.__stderr__)
        if seen:
            verdict, why = "failed", "; ".join(seen)
        say(verdict, time.monotonic() - began, why)


def forked(task: Callable[[Callable[..., None]], None]) -> tuple[int, int]:
    """A process for `task`, which says what it finds into a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        with open(os.devnull, "r+b") as nothing:
            os.dup2(nothing.fileno(), 0)

        def say(*what: Any) -> None:
            os.write(writing, (json.dumps(what) + "\n").encode())

        task(say)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def lines_of(pipe: int) -> Iterator[list[Any] | None]:
    """What comes out of a pipe, line by line; None where nothing does for too long."""
    rest = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], SECONDS)
        piece = os.read(pipe, 1 << 16) if ready else None
        if piece == b"":
            os.close(pipe)
            return
        *whole, rest = (rest + (piece or b"")).split(b"\n")
        yield from map(json.loads, whole) if piece else [None]


def make_samples(kind: str, home: Path) -> None:
    make, use = KINDS[kind]
    (home / kind).mkdir(parents=True)
    make(home / kind)
    outcomes: dict[str, str] = {}
    for folder in sorted(home.joinpath(kind).iterdir()):
        for _ in range(2):
            shutil.rmtree(home / "work", ignore_errors=True)
            shutil.copytree(folder, home / "work" / folder.name)
            outcome = told(use(home / "work" / folder.name, False))
            assert outcomes.setdefault(folder.name, outcome) == outcome, f"{folder} is never the same"
    (home / kind / "told.json").write_text(json.dumps(outcomes))


def fuzz(
    kind: str, numbers: range, seed: int, home: Path, loud: bool = False
) -> Iterator[tuple[int, str, str, float, str]]:
    """Number, what was done, verdict, seconds and reason of each case; a process that dies or hangs is replaced."""
    maker, pipe = forked(lambda _: make_samples(kind, home))
    os.close(pipe)
    if os.waitpid(maker, 0)[1]:
        raise SystemExit(f"{kind}: no sound samples")
    at, slow, what = numbers.start, -1, ""
    while at < numbers.stop:
        child, pipe = forked(lambda say: work_on(kind, range(at, numbers.stop), seed, home, say, loud))  # noqa: B023
        began: float | None = None
        for line in lines_of(pipe):
            if line is None:
                if began is None or time.monotonic() - began < SECONDS:
                    continue
                os.kill(child, signal.SIGKILL)
            elif line[0] == "begin":
                _, at, what = line
                began = time.monotonic()
            else:
                yield at, what, *line
                at, began = at + 1, None
        status = os.waitpid(child, 0)[1]
        if began is not None and (status != signal.SIGKILL or slow == at):  # a busy machine gets a second try
            yield (
                at,
                what,
                "failed",
                time.monotonic() - began,
                f"ended with {status} after {time.monotonic() - began:.1f} s",
            )
            at += 1
        elif at < numbers.stop and began is None:
            raise SystemExit(f"{kind} {at}: the case itself cannot be made")
        else:
            slow = at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=",".join(KINDS), help="of what is read, with commas between")
    parser.add_argument("--count", type=int, default=10_000, help="cases of all kinds together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="one case, with its traceback")
    parser.add_argument("--keep", type=Path, help="a folder for what failed")
    chosen = parser.parse_args()
    kinds, failed = chosen.kinds.split(","), 0
    each = range(chosen.count // len(kinds)) if chosen.only is None else range(chosen.only, chosen.only + 1)
    torch.set_num_threads(1)  # a process with more cannot be forked
    warnings.simplefilter("ignore")
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            home, counted, slowest, reasons = Path(folder).resolve(), Counter[str](), 0.0, dict[str, list[str]]()
            (home / "outside").write_text("not yours")
            for number, what, verdict, seconds, why in fuzz(kind, each, chosen.seed, home, chosen.only is not None):
                counted[verdict] += 1
                slowest = max(slowest, seconds)
                if chosen.only is not None:
                    print(f"{kind} {number}: {what}: {verdict} {why}")
                if verdict == "failed":
                    reasons.setdefault(why, []).append(f"{number} ({what:.80})")
                    if chosen.keep:
                        damage(kind, number, chosen.seed, home, chosen.keep / f"{kind}-{number}")
            failed += counted["failed"]
            numbers = ", ".join(f"{counted[one]} {one}" for one in ("same", "other", "refused", "failed"))
            print(f"{kind:11} {len(each):5} cases: {numbers}; slowest {slowest:.2f} s", flush=True)
            for why, cases in sorted(reasons.items(), key=lambda one: -len(one[1])):
                print(f"    {len(cases):4} {why:.200}\n         such as {'; '.join(cases[:3])}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
