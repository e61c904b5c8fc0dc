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


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_import_sahcns_imports_nothing_heavy() -> None:
    done = python(
        "import sys, sahcns\n"
        "heavy = {'torch', 'polars', 'numpy', 'scipy', 'rich', 'typer', 'yaml', 'safetensors'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "print(sahcns.__version__)"
    )
    assert (done.stdout.strip(), done.stderr) == (sahcns.__version__, "")


def test_data_is_prepared_without_torch() -> None:
    done = python(
        "import sys\n"
        "from sahcns import Recipe, Split, load_split, prepare, prepare_named, save_split, SahcnsError\n"
        "assert 'polars' not in sys.modules\n"
        "from sahcns import read\n"
        "assert 'torch' not in sys.modules"
    )
    assert (done.returncode, done.stderr) == (0, "")


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
