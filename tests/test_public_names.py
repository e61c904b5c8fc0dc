"""The public names: all there, all lazy, and the same for Python and for a type checker."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sahcns
from sahcns.settings import Configured


@pytest.mark.parametrize(
    ("code", "without"),
    [
        ("import sahcns", "torch polars numpy scipy rich typer yaml safetensors"),
        ("from sahcns import Recipe, load_split, prepare, prepare_named", "torch polars pandas pyarrow altair rich"),
        ("from sahcns import read", "torch"),
        ("import sahcns.data.catalogue, sahcns.cli.data.prepare", "torch polars pandas pyarrow zstandard"),
        (
            "from sahcns.data import *; statistics(load_split(save_split(Split.from_pairs([[0, 1]]), 'set')))",
            "torch polars pandas pyarrow altair rich",
        ),
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str, without: str, tmp_path: Path) -> None:
    code += f"; import sys; print(*sys.modules.keys() & {set(without.split())})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_every_name_is_there_once_and_leads_to_its_thing() -> None:
    assert len(set(sahcns.__all__)) == len(sahcns.__all__)
    for name in sahcns.__all__:
        found = getattr(sahcns, name)
        assert name == "__version__" or found.__name__ == name
        assert name in dir(sahcns)
    from sahcns.samplers.sahc import SAHC

    assert sahcns.SAHC is SAHC


def test_the_names_for_a_type_checker_are_the_names_for_python() -> None:
    tree = ast.parse(Path(sahcns.__file__).read_text("utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    for_types = [
        (str(node.module), alias.name)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    for_python = [(home, name) for home, names in sahcns._HOMES.items() for name in names]
    assert sorted(for_types) == sorted(for_python)
    # A type checker that saw the lazy lookup would take every misspelt name for right.
    assert not any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)


def test_what_is_not_there_is_an_attribute_error_and_modules_still_import() -> None:
    with pytest.raises(AttributeError, match="module 'sahcns' has no attribute 'fitt'"):
        getattr(sahcns, "fitt")
    assert not hasattr(sahcns, "torch")
    from sahcns import folders

    assert folders.__name__ == "sahcns.folders"


def test_every_name_and_every_argument_is_explained() -> None:
    for name in sahcns.__all__:
        public = getattr(sahcns, name)
        assert public.__doc__, name
        assert not public.__doc__.startswith(f"{name}("), f"{name} has only what dataclass makes up"
        if isinstance(public, type) and issubclass(public, Configured):
            assert all(entry["meaning"] for entry in public.settings()), name
    for function in (sahcns.fit, sahcns.read, sahcns.compare, sahcns.tune):
        for argument in inspect.signature(function).parameters:
            assert re.search(rf"\b{argument}\b", function.__doc__ or ""), (function.__name__, argument)
