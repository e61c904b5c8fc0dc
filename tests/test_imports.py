"""The import graph of the package, derived from its source: every edge points down, and there is no way round."""

import ast
from collections.abc import Iterator
from pathlib import Path

import sahcns

HOME = Path(sahcns.__file__).parent
ORDER = [  # lowest first; one line is one level
    ("errors", "version", "settings", "files", "plain", "described", "folders", "counter", "sources"),
    ("data",),
    ("rng", "aggregation"),
    ("graph",),
    ("backbones", "samplers", "objectives", "baselines"),
    ("kernels",),
    ("ranking",),
    ("training",),
    ("model",),
    ("importing",),
    ("lab",),
    ("serving",),
    ("cli",),
    ("__main__",),
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
KNOWN_UPWARD: set[tuple[str, str]] = set()  # (module, package it imports)
Edges = dict[str, set[str]]


def modules() -> dict[str, Path]:
    """Every module of the package by its name within it: `training.step`, `kernels`."""
    found = {}
    for path in sorted(HOME.rglob("*.py")):
        parts = path.relative_to(HOME).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.AST) -> Iterator[str]:
    """Full names of what is imported from `sahcns`, within functions too; not what only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sahcns":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "sahcns")
        yield from imports(node)


def edges() -> Edges:
    """Module → the modules that it imports."""
    known = modules()
    found: Edges = {}
    for name, path in known.items():
        found[name] = set()
        for target in imports(ast.parse(path.read_text("utf-8"))):
            parts = target.split(".")[1:]
            while parts and ".".join(parts) not in known:
                parts = parts[:-1]
            if parts and ".".join(parts) != name:
                found[name].add(".".join(parts))
    return found


def package(module: str) -> str:
    return module.partition(".")[0]


def upward(graph: Edges) -> set[tuple[str, str]]:
    """Edges to a higher level, or to another package of the same one."""
    return {
        (module, package(target))
        for module, targets in graph.items()
        for target in targets
        if module
        and package(module) != package(target)
        and (
            LEVEL[package(module)] < LEVEL[package(target)]
            or (LEVEL[package(module)] == LEVEL[package(target)] and package(module) in ORDER[4])
        )
    }


def reachable(graph: Edges, start: str) -> set[str]:
    """Modules that can be reached from one, by at least one import; a package's `__init__` only gathers names."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        fresh = {one for one in graph[module] if not module.startswith(f"{one}.")} - reached
        reached |= fresh
        waiting += fresh
    return reached


def cycles(graph: Edges) -> set[frozenset[str]]:
    """Groups of modules that each lead to each other."""
    ways = {module: reachable(graph, module) for module in graph}
    return {
        frozenset(other for other in ways[module] if module in ways[other])
        for module in graph
        if module in ways[module]
    }


def test_every_package_has_its_level() -> None:
    assert {package(module) for module in modules() if module} <= set(LEVEL)


def test_no_edge_points_up() -> None:
    assert upward(edges()) == KNOWN_UPWARD


def test_there_is_no_way_round() -> None:
    assert not cycles(edges())


def test_an_edge_that_points_up_would_be_found() -> None:
    graph: Edges = {"rng": {"kernels.gpu"}, "kernels.gpu": {"rng"}, "samplers.dns": {"backbones"}, "backbones": set()}
    assert upward(graph) == {("rng", "kernels"), ("samplers.dns", "backbones")}
    assert cycles(graph) == {frozenset({"rng", "kernels.gpu"})}
    lazy = "def f():\n    from sahcns.kernels import gpu\nif TYPE_CHECKING:\n    from sahcns.cli import x"
    assert list(imports(ast.parse(lazy))) == ["sahcns.kernels.gpu"]


def test_methods_do_not_know_kernels() -> None:
    for part in ("samplers", "backbones", "objectives"):
        for path in (HOME / part).rglob("*.py"):
            text = path.read_text("utf-8")
            assert "sahcns.kernels" not in text, path
            assert "verbs" not in text, path
