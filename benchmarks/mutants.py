"""Change the code in one place at a time and see that a test fails: what no test notices is a hole in the tests.

    python benchmarks/mutants.py            # samplers, objectives, metrics and checkpoints, about half an hour
    python benchmarks/mutants.py dens.py    # files with this in their path

Of each function that tests run, comparisons, arithmetic, numbers, conditions, returns, dimensions, minima and maxima are
changed, and calls and assignments to attributes left out; `mutants.toml` says of those that survive why they may. A mutant
is a fork of one process that has imported everything, and runs the tests that come to its line, the quickest first. Texts
are not changed: no test retypes one.
"""

import argparse
import ast
import copy
import gc
import itertools
import json
import os
import signal
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings

HOME = Path(__file__).resolve().parent.parent
SOURCE = HOME / "src" / "sahcns"
TESTS = {  # of the files that are changed, those that are to notice
    "samplers/*.py": [
        "samplers/test_{}*.py",
        *(f"samplers/test_{one}.py" for one in ("battery", "reductions", "gradients")),
    ],
    "objectives/*.py": ["objectives/test_*.py", "training/test_pair_weights.py", "training/test_epochs.py"],
    "ranking/metrics.py": ["ranking/test_metrics.py", "ranking/test_evaluation.py"],
    "training/checkpoint.py": ["training/test_checkpoint.py"],
}
ENOUGH = 20.0  # seconds of tests for a mutant; one that takes three times as long hangs
SWAPS: list[tuple[type[ast.AST], type[ast.AST]]] = [
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr)),
]
OPERATORS: dict[type[ast.AST], Any] = dict([*SWAPS, *((b, a) for a, b in SWAPS)])
OPERATORS |= {ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult}
PAIRS = ["min max", "amin amax", "argmin argmax", "minimum maximum", "floor ceil", "any all", "sum mean", "exp log"]
NAMES = {one: other for pair in PAIRS for one, other in (pair.split(), pair.split()[::-1])}
Mutant = tuple[str, int, str, str, str, ast.Module]  # file, line, function, before, after, the changed file


def change(node: ast.AST) -> tuple[str, Any] | None:
    """What of a node is changed: a field, and its new value."""
    match node:
        case ast.Compare(ops=[first, *rest]):
            return "ops", [OPERATORS[type(first)](), *rest]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in OPERATORS:
            return "op", OPERATORS[type(op)]()
        case ast.UnaryOp(op=ast.USub() | ast.Invert()):
            return "op", ast.UAdd()
        case ast.keyword(arg="dim", value=value):
            return "value", ast.Constant(1 if ast.unparse(value) == "0" else 0)
        case ast.Constant(value=bool(value)):
            return "value", not value
        case ast.Constant(value=int(value) | float(value)):
            return "value", value + 1
        case ast.Name(id=name) if name in NAMES:
            return "id", NAMES[name]
        case ast.Attribute(attr=name) if name in NAMES:
            return "attr", NAMES[name]
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) if not isinstance(test, ast.Compare):
            return "test", ast.UnaryOp(ast.Not(), test)
        case ast.Return(value=ast.expr()) if ast.unparse(node) != "return None":
            return "value", ast.Constant(None)
        case ast.Expr(value=ast.Call()):
            return "value", ast.Constant(None)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return "targets", [ast.Name("_", ast.Store())]
    return None


def places(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """The nodes within functions, in an order that a copy of the tree has too; errors and annotations are left out."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise) or name in ("annotation", "returns"):
                continue
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = function if function.endswith("()") else f"{function}.{child.name}".lstrip(".")
                inner += "()" if isinstance(child, ast.FunctionDef) and not inner.endswith("()") else ""
                for part in child.body:
                    yield from places(ast.Module([part], []), inner)
                continue
            if function.endswith("()"):
                yield child, function
            yield from places(child, function)


def mutants(path: Path) -> Iterator[Mutant]:
    """Every way to change the functions of a file."""
    tree, name = ast.parse(path.read_text("utf-8")), str(path.relative_to(SOURCE))
    for at, (node, function) in enumerate(places(tree)):
        if change(node):
            changed = copy.deepcopy(tree)
            place, _ = next(itertools.islice(places(changed), at, None))
            before = ast.unparse(place)
            setattr(place, *change(place))  # type: ignore[misc]
            after = ast.unparse(place)
            line = getattr(node, "lineno", None) or node.value.lineno  # type: ignore[attr-defined]  # a keyword has none
            yield name, line, function, before, after, ast.fix_missing_locations(changed)


def install(mutant: Mutant) -> None:
    """Give the functions that were imported the changed code; one within another is part of the outer one's."""
    name, outer = mutant[0], mutant[2].removesuffix("()")
    todo, found = [compile(mutant[5], str(SOURCE / name), "exec")], list[CodeType]()
    while todo:
        inner = [one for one in todo.pop().co_consts if isinstance(one, CodeType)]
        found += [one for one in inner if one.co_qualname == outer]
        todo += inner
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename == str(SOURCE / name):
            for code in found:
                if (one.__code__.co_qualname, one.__code__.co_firstlineno) == (code.co_qualname, code.co_firstlineno):
                    one.__code__ = code


class Plugin:
    """Runs mutants in the place of tests."""

    def __init__(self, todo: list[Mutant]) -> None:
        self.todo, self.survivors = todo, list[Mutant]()

    def pytest_sessionstart(self) -> None:
        unhurried: Any = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
        settings.register_profile("mutants", derandomize=True, phases=[Phase.explicit, Phase.generate], **unhurried)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        answer = forked(lambda: json.dumps(covered(session.items, {str(SOURCE / one[0]) for one in self.todo})), 3600)
        tests = sorted(zip(json.loads(answer or "[]"), session.items, strict=True), key=lambda one: one[0][0])
        for at, mutant in enumerate(self.todo):
            name, line, function, before, after, _ = mutant
            mine, takes = list[pytest.Item](), 0.0
            for (seconds, came), item in tests:
                if line in came.get(str(SOURCE / name), ()) and (takes := takes + seconds) < ENOUGH:
                    mine.append(item)
            survived = forked(lambda: str(not fails(mine, mutant)), 3 * ENOUGH) == "True"  # noqa: B023
            self.survivors += [mutant] * survived
            word = "SURVIVED" if survived else "noticed"
            print(
                f"{at + 1}/{len(self.todo)} {word} {name}:{line} {function} {before} → {after} ({len(mine)} tests)",
                flush=True,
            )
        return True


def covered(items: list[pytest.Item], files: set[str]) -> list[tuple[float, dict[str, list[int]]]]:
    """Of each test, how long it takes, and the lines of `files` that it comes to."""
    found = []
    for item, later in zip(items, [*items[1:], None], strict=True):
        lines, began = defaultdict[str, set[int]](set), time.monotonic()

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            if frame.f_code.co_filename not in files:
                return None
            lines[frame.f_code.co_filename].add(frame.f_lineno)  # noqa: B023
            return trace

        sys.settrace(trace)
        reports = runtestprotocol(item, log=False, nextitem=later)
        sys.settrace(None)
        if any(report.failed for report in reports):
            raise SystemExit(f"{item.nodeid} fails without any change")
        found.append((time.monotonic() - began, {name: sorted(one) for name, one in lines.items()}))
    return found


def fails(items: list[pytest.Item], mutant: Mutant) -> bool:
    """Whether one of the tests fails with the change."""
    install(mutant)
    return any(
        report.failed
        for item, later in zip(items, [*items[1:], None], strict=True)
        for report in runtestprotocol(item, log=False, nextitem=later)
    )


def forked(work: Callable[[], str], seconds: float) -> str | None:
    """What `work` gives in a process of its own; None where it dies or takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of work, however busy the machine
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            with open(writing, "w") as answer:
                answer.write(work())
            status = 0
        except BaseException as error:
            print(repr(error)[:300], file=sys.stderr)
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading) as answer:
        said = answer.read()
    return said if os.waitpid(child, 0)[1] == 0 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=[""], help="parts of their paths")
    chosen = parser.parse_args()
    reasons = tomllib.loads((HOME / "benchmarks" / "mutants.toml").read_text("utf-8"))
    explained = {f"{file} {one}" for files in reasons.values() for file, ones in files.items() for one in ones}
    unexplained = list[str]()
    for pattern, tests in TESTS.items():
        for path in sorted(SOURCE.glob(pattern)):
            todo = list(mutants(path)) if any(one in str(path) for one in chosen.files) else []
            if not todo:
                continue
            files = sorted({str(one) for test in tests for one in (HOME / "tests").glob(test.format(path.stem))})
            plugin = Plugin(todo)
            pytest.main([*files, "-qs", "-p", "no:cacheprovider", "-p", "no:schemathesis"], plugins=[plugin])
            found = [
                f"{name} {function} {before} → {after}" for name, _, function, before, after, _ in plugin.survivors
            ]
            unexplained += [one for one in found if one not in explained]
            print(f"{todo[0][0]}: {len(todo)} mutants, {len(found)} survive", flush=True)
    print("\n".join([*unexplained, f"{len(unexplained)} survive without an explanation"]))
    sys.exit(bool(unexplained))


if __name__ == "__main__":
    main()
