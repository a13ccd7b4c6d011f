"""What `import barnabas` offers, and what it costs those who do not use it."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import barnabas
from barnabas.aio.waiting import Client as AioClient
from barnabas.sync.waiting import Client as SyncClient

FACES = ["Admin", "Consumer", "Producer"]


def test_every_public_name_is_there() -> None:
    for name in barnabas.__all__:
        assert getattr(barnabas, name) is not None
    assert dir(barnabas) == sorted(barnabas.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Prodcer'"):
        barnabas.Prodcer  # noqa: B018


def test_type_checkers_are_told_of_the_same_names_at_the_same_places() -> None:
    (checked, *_) = [
        node
        for node in ast.parse(Path(barnabas.__file__).read_text()).body
        if isinstance(node, ast.If)
    ]
    told = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = barnabas._HOMES | dict.fromkeys(barnabas._MODULES, "barnabas")
    assert told == homes
    assert {*told, "__version__"} == set(barnabas.__all__)


def test_importing_the_package_loads_nothing_of_it() -> None:
    program = "import barnabas, sys; print(*(n for n in sys.modules if n.startswith('barnabas.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", FACES)
def test_both_faces_have_the_same_methods_with_the_same_arguments(name: str) -> None:
    blocking, awaited = getattr(barnabas, name), getattr(barnabas.aio, name)
    assert issubclass(blocking, SyncClient)
    assert issubclass(awaited, AioClient)

    def public(kind: type) -> dict[str, list[str]]:
        return {
            method: list(inspect.signature(function).parameters)
            for method, function in inspect.getmembers(kind, inspect.isfunction)
            if not method.startswith("_") or method == "__init__"
        }

    assert public(blocking) == public(awaited)
    assert len(public(blocking)) > 3


@pytest.mark.parametrize("name", FACES)
def test_every_public_method_is_documented(name: str) -> None:
    kind = getattr(barnabas, name)
    for method, function in inspect.getmembers(kind, inspect.isfunction):
        if not method.startswith("_"):
            assert function.__doc__, method
            assert "await" not in function.__doc__, method
    assert "async" not in (kind.__doc__ or "async")
